// Drafting must not change a single token, greedy or sampled; saved states continue exactly.
#include "runtime/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "runtime/models.h"
#include "support.h"

namespace tally {
namespace {

using runtime::Engine;
using runtime::GenerateSettings;
using runtime::GenerateStats;
using runtime::Sequence;

std::vector<int32_t> generated(Engine& e, std::span<const int32_t> prompt, const GenerateSettings& settings,
                               GenerateStats* stats = nullptr) {
  Sequence s = e.open();
  std::vector<int32_t> out;
  runtime::generate(
      e, s, prompt, settings, [&](int32_t id) { return out.push_back(id), true; }, stats);
  e.close(s);
  return out;
}

TEST(Drafting, GreedyTextIsTheSame) {
  test::Opened plain(test::bundled(), {.context_length = 1024});
  GenerateSettings settings;
  settings.n_predict = 150;
  settings.ignore_stop_ids = true;
  for (int n_draft : {1, 3, 7}) {
    test::Opened drafting(test::bundled(), {.context_length = 1024, .n_draft = n_draft});
    int drafted = 0, accepted = 0;
    for (int i = 0; i < 4; ++i) {
      std::vector<int32_t> prompt = test::random_tokens(3 + 20 * i, plain.engine->vocab_size(), 100 + i);
      GenerateStats stats;
      EXPECT_EQ(generated(*drafting.engine, prompt, settings, &stats), generated(*plain.engine, prompt, settings))
          << n_draft << " drafts, prompt " << i;
      drafted += stats.n_drafted, accepted += stats.n_accepted;
    }
    std::printf("%d drafts a step: %d of %d accepted\n", n_draft, accepted, drafted);
    EXPECT_GT(accepted, drafted / 5);
  }
}

// The same (seed, position) draws the same number whether or not tokens were drafted, so sampled text is equal token
// for token, for every seed: stronger than equal in distribution.
TEST(Drafting, SampledTextIsTheSame) {
  test::Opened plain(test::bundled()), drafting(test::bundled(), {.n_draft = 3});
  GenerateSettings settings;
  settings.n_predict = 24;
  settings.ignore_stop_ids = true;
  settings.sampling.temperature = 1.f;
  settings.sampling.repeat_penalty = 1.1f;
  std::vector<int32_t> prompt = test::random_tokens(5, plain.engine->vocab_size(), 7);
  std::vector<std::vector<int32_t>> seen;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    settings.sampling.seed = seed;
    std::vector<int32_t> want = generated(*plain.engine, prompt, settings);
    ASSERT_EQ(generated(*drafting.engine, prompt, settings), want) << "seed " << seed;
    seen.push_back(want);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_GT(std::unique(seen.begin(), seen.end()) - seen.begin(), 30) << "seeds must matter";
}

// After k tokens only ids that leave k % 7 by 7 may come, or from the 20th on the end.
class EveryStepOneResidue : public runtime::TokenConstraint {
 public:
  EveryStepOneResidue(int n_ids, int32_t end) : row_((n_ids + 63) / 64), n_ids_(n_ids), end_(end) {}
  std::span<const uint64_t> allowed() override {
    std::fill(row_.begin(), row_.end(), 0);
    for (int id = 0; id < n_ids_; ++id)
      if (id % 7 == n_ % 7 ? id != end_ : id == end_ && n_ >= 20) row_[id / 64] |= uint64_t(1) << (id % 64);
    return row_;
  }
  void accept(int32_t token) override {
    EXPECT_TRUE(allowed()[token / 64] >> (token % 64) & 1);
    ++n_;
  }
  void rollback(int n) override {
    EXPECT_LE(n, n_);
    n_ -= n, n_rolled_back += n;
  }
  int n_rolled_back = 0;

 private:
  std::vector<uint64_t> row_;
  int n_ids_, n_ = 0;
  int32_t end_;
};

TEST(Drafting, ConstrainedTextIsTheSame) {
  test::Opened plain(test::bundled()), drafting(test::bundled(), {.n_draft = 3});
  const int n_ids = plain.engine->vocab_size();
  std::vector<int32_t> prompt = test::random_tokens(5, n_ids, 7);
  for (float temperature : {0.f, 1.f}) {
    GenerateSettings settings;
    settings.n_predict = 60;
    settings.stop_ids = {3};
    settings.sampling.temperature = temperature;
    EveryStepOneResidue a(n_ids, 3), b(n_ids, 3);
    settings.constraint = &a;
    const auto want = generated(*plain.engine, prompt, settings);
    settings.constraint = &b;
    EXPECT_EQ(generated(*drafting.engine, prompt, settings), want);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(want[i] % 7 == int(i % 7) || (want[i] == 3 && i >= 20));
    EXPECT_EQ(a.n_rolled_back, 0);
    EXPECT_GT(b.n_rolled_back, 0);
  }
}

TEST(Drafting, NeedsTheBlock) {
  EXPECT_THROW(test::Opened(std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny/llama.gguf", {.n_draft = 2}), Error);
}

TEST(Generate, EndsWhereItShould) {
  test::Opened m(test::bundled(), {.context_length = 64});
  GenerateSettings settings;
  settings.n_predict = 1000;
  settings.ignore_stop_ids = true;
  std::vector<int32_t> prompt = test::random_tokens(10, m.engine->vocab_size(), 8);
  EXPECT_EQ(generated(*m.engine, prompt, settings).size(), 54u) << "a full context ends a generation";
  settings.n_predict = 5;
  EXPECT_EQ(generated(*m.engine, prompt, settings).size(), 5u);
  std::vector<int32_t> all = generated(*m.engine, prompt, settings);
  settings.ignore_stop_ids = false;
  settings.stop_ids = {all[2]};
  size_t first = std::find(all.begin(), all.end(), all[2]) - all.begin();
  EXPECT_EQ(generated(*m.engine, prompt, settings).size(), first + 1) << "the stop token is the last";
  EXPECT_THROW(generated(*m.engine, {}, settings), Error);
}

// Continues `tokens` more tokens greedily.
std::vector<int32_t> go_on(Engine& e, Sequence& s, int n) {
  GenerateSettings settings;
  settings.n_predict = n;
  settings.ignore_stop_ids = true;
  const int32_t first = 42;
  std::vector<int32_t> out;
  runtime::generate(
      e, s, {&first, 1}, settings, [&](int32_t id) { return out.push_back(id), true; }, nullptr);
  return out;
}

class Snapshots : public testing::TestWithParam<int> {};

TEST_P(Snapshots, ContinueExactly) {
  test::Opened m(test::bundled(), {.n_sequences = 2, .n_draft = GetParam()});
  Engine& e = *m.engine;
  Sequence s = e.open();
  std::vector<int32_t> prompt = test::random_tokens(100, e.vocab_size(), 9);
  e.consume(s, prompt, {}, nullptr);
  test::TemporaryFolder folder;
  e.save_file(s, folder.file("state"));
  std::vector<int32_t> want = go_on(e, s, 40);
  Sequence again = e.restore_file(folder.file("state"));
  EXPECT_EQ(again.tokens, prompt);
  EXPECT_EQ(go_on(e, again, 40), want);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutDrafts, Snapshots, testing::Values(0, 3));

std::string message_of(Engine& e, const std::vector<uint8_t>& bytes) {
  try {
    Sequence s = e.restore(bytes);
    e.close(s);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Snapshots, DamagedAndForeignOnesAreRefused) {
  test::Opened m(test::bundled()), other(std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny/llama.gguf"),
      exact(test::bundled(), {.exact = true});
  Engine& e = *m.engine;
  Sequence s = e.open();
  e.consume(s, test::random_tokens(70, e.vocab_size(), 10), {}, nullptr);
  const std::vector<uint8_t> good = e.save(s);
  e.close(s);
  EXPECT_EQ(message_of(e, good), "accepted");
  EXPECT_NE(message_of(*other.engine, good).find("another model"), std::string::npos);
  EXPECT_NE(message_of(*exact.engine, good).find("other settings"), std::string::npos);
  std::vector<uint8_t> cut(good.begin(), good.end() - 1);
  EXPECT_NE(message_of(e, cut).find("cut short"), std::string::npos);
  for (size_t at : {sizeof(uint64_t) * 10, good.size() / 2, good.size() - 1}) {
    std::vector<uint8_t> flipped = good;
    flipped[at] ^= 1;
    EXPECT_NE(message_of(e, flipped), "accepted") << "byte " << at;
  }
  EXPECT_NE(message_of(e, {1, 2, 3}).find("cut short"), std::string::npos);
  std::vector<uint8_t> huge = good;
  huge[24] = 0xff, huge[30] = 0xff;  // token count
  EXPECT_NE(message_of(e, huge), "accepted");
}

}  // namespace
}  // namespace tally
