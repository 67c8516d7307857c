// The reference backend against exact logits: it must reach them to the rounding of the stored float32 numbers.
#include "backend/reference/reference_backend.h"
#include "golden_model.h"

namespace tally::test {
namespace {

// The stored logits are float32 of magnitude up to 16 (half a unit in the last place: 5e-7), and what the Program keeps
// in float32 (scales, rope parameters) moves them by a few more units.
constexpr double kBound = 4e-6;

class ReferenceGolden : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::optional<std::filesystem::path> folder = golden_folder(GetParam());
    if (!folder) GTEST_SKIP() << kNoSharedData;
    model_ = std::make_unique<GoldenModel>(load_golden(GetParam(), *folder));
    backend_ = reference::make_reference_backend({});
  }
  Runner trunk(bool hidden_rows = false) {
    return Runner(*backend_, model_->file, models::build_program(models::source_of(model_->file), {hidden_rows}), 200);
  }
  void expect_close(const GoldenSequence& s, const Runner& runner, const char* how) {
    double d = max_difference(s, model_->logits, runner.logits, model_->n_vocab);
    EXPECT_LE(d, kBound) << how << ", " << s.tokens.size() << " tokens";
    worst_ = std::max(worst_, d);
  }

  std::unique_ptr<GoldenModel> model_;
  std::unique_ptr<backend::Backend> backend_;
  double worst_ = 0;
};

TEST_P(ReferenceGolden, Logits) {
  Runner runner = trunk();
  ASSERT_FALSE(model_->sequences.empty());
  for (const GoldenSequence& s : model_->sequences) {
    runner.restart();
    runner.feed(s.tokens);
    expect_close(s, runner, "in one piece");
  }
  RecordProperty("max_abs_difference", std::to_string(worst_));
  std::printf("%s: largest difference %.2g\n", model_->name.c_str(), worst_);
}

TEST_P(ReferenceGolden, ChunksAndSingleTokens) {
  Runner runner = trunk();
  const GoldenSequence& s = model_->sequence(64);
  for (size_t chunk : {1, 7}) {
    runner.restart();
    runner.feed_in_chunks(s.tokens, chunk);
    expect_close(s, runner, chunk == 1 ? "token by token" : "in chunks of 7");
  }
}

TEST_P(ReferenceGolden, Greedy) {
  Runner runner = trunk();
  ASSERT_FALSE(model_->json["greedy"].empty());
  for (const auto& greedy : model_->json["greedy"]) {
    runner.restart();
    runner.feed(model_->sequence(greedy["prompt_length"]).tokens);
    std::vector<int> found;
    while (found.size() < greedy["tokens"].size()) {
      found.push_back(runner.greedy());
      runner.feed(std::vector<int32_t>{found.back()});
    }
    EXPECT_EQ(found, greedy["tokens"].get<std::vector<int>>());
  }
}

TEST_P(ReferenceGolden, MtpRowsAndDrafts) {
  std::optional<ops::Program> program = models::build_mtp_program(models::source_of(model_->file));
  ASSERT_EQ(program.has_value(), model_->json.contains("mtp"));
  if (!program) return;
  Runner runner = trunk(true), mtp(*backend_, model_->file, *program, 200);
  double worst = 0;
  for (const GoldenSequence& s : model_->sequences) {
    runner.restart(), mtp.restart();
    runner.feed(s.tokens);
    expect_close(s, runner, "trunk with hidden rows");
    mtp.feed(s.tokens, shifted_hidden(runner.hidden, program->hidden_size).data());
    double d = max_difference(s, model_->mtp_logits, mtp.logits, model_->n_vocab);
    EXPECT_LE(d, kBound) << s.tokens.size() << " tokens";
    worst = std::max(worst, d);
  }
  std::printf("%s: largest difference of MTP rows %.2g\n", model_->name.c_str(), worst);
  for (const auto& chain : model_->json["mtp"]["draft_chain"]) {
    const GoldenSequence& s = model_->sequence(chain["prompt_length"]);
    runner.restart(), mtp.restart();
    runner.feed(s.tokens);
    mtp.feed(s.tokens, shifted_hidden(runner.hidden, program->hidden_size).data());
    EXPECT_EQ(runner.greedy(), chain["sampled_token"].get<int>());
    int token = runner.greedy();
    std::vector<float> hidden(runner.last_hidden(), runner.last_hidden() + program->hidden_size);
    std::vector<int> drafts;
    for (size_t i = 0; i < chain["draft_tokens"].size(); ++i) {
      mtp.feed(std::vector<int32_t>{token}, hidden.data());
      hidden.assign(mtp.last_hidden(), mtp.last_hidden() + program->hidden_size);
      drafts.push_back(token = mtp.greedy());
    }
    EXPECT_EQ(drafts, chain["draft_tokens"].get<std::vector<int>>());
  }
}

// The slot state whose name ends in `suffix` of a layer.
ops::StateRef find_state(const ops::Program& program, int layer, const std::string& suffix) {
  for (size_t i = 0; i < program.states.size(); ++i)
    if (program.states[i].layer == layer && program.states[i].name.ends_with(suffix)) return {int(i)};
  return {};
}

TEST_P(ReferenceGolden, RecurrentStates) {
  if (!model_->json.contains("state")) return;
  const auto& state = model_->json["state"];
  Runner runner = trunk();
  int layer = state["layer"];
  ops::StateRef recurrent = find_state(runner.program(), layer, ".recurrent");
  ops::StateRef conv = find_state(runner.program(), layer, ".conv");
  ASSERT_TRUE(conv);
  double worst = 0;
  auto compare = [&](double found, double golden) { worst = std::max(worst, std::abs(found - golden)); };
  ASSERT_FALSE(state["entries"].empty());
  for (const auto& entry : state["entries"]) {
    runner.restart();
    runner.feed(model_->sequence(entry["after_tokens"]).tokens);
    if (entry.contains("S_shape")) {
      ASSERT_TRUE(recurrent);
      std::vector<int> shape = entry["S_shape"];
      std::vector<float> found = runner.state().slot_values(recurrent, 0);
      ASSERT_EQ(int(found.size()), shape[0] * shape[1] * shape[2]);
      const float* golden = model_->state.data() + entry["S_offset"].get<int64_t>();
      for (int j = 0; j < shape[0]; ++j)
        for (int a = 0; a < shape[1]; ++a)
          for (int b = 0; b < shape[2]; ++b)
            compare(found[(j * shape[2] + b) * shape[1] + a], golden[(j * shape[1] + a) * shape[2] + b]);
    }
    std::vector<float> found = runner.state().slot_values(conv, 0);
    std::vector<int> shape = entry["conv_shape"];
    ASSERT_EQ(int(found.size()), shape[0] * shape[1]);
    for (size_t i = 0; i < found.size(); ++i) compare(found[i], model_->state[entry["conv_offset"].get<int64_t>() + i]);
  }
  EXPECT_LE(worst, kBound);
  std::printf("%s: largest difference of states %.2g\n", model_->name.c_str(), worst);
}

INSTANTIATE_TEST_SUITE_P(Tiny, ReferenceGolden, ::testing::ValuesIn(golden_names()), golden_test_name);

}  // namespace
}  // namespace tally::test
