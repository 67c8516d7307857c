// Widths of a forward, and acceptance: counts and refusals.
#include "lab/speculate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lab/engine_runs.h"

namespace tally::lab {
namespace {

// An engine whose forward over w positions takes `fixed` + w ms.
class Known : public Target {
 public:
  explicit Known(double fixed) : fixed_(fixed) { label_ = "known"; }
  std::string weights_sha256() override { return ""; }
  Json provenance() override { return {}; }
  std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) override {
    std::vector<std::vector<Measurement>> out;
    for (const TestShape& t : tests) out.emplace_back(reps, Measurement{.ms = fixed_ + t.n_prompt, .tokens = 1.0});
    return out;
  }

 private:
  double fixed_;
};

const Json& width_of(const Json& block, int positions) {
  for (const Json& w : block["values"]["widths"])
    if (w["positions"] == positions) return w;
  throw std::runtime_error("no such width");
}

TEST(Speculate, OfAnotherEngine) {
  Known shares(9), nothing_shared(0);
  test::LabRun run = test::run_lab([&](Output& out) {
    run_speculate_target(shares, "llama-bench:x", {.widths = {2, 4, 8}, .rounds = 3}, out);
  });
  const Json& block = run.blocks["speculate.width"];
  ASSERT_TRUE(block["valid"].get<bool>());
  EXPECT_NEAR(width_of(block, 4)["ratio"].get<double>(), 13.0 / 10, 1e-12);
  EXPECT_NEAR(width_of(block, 4)["best"].get<double>(), 4 * 10.0 / 13, 1e-9);
  EXPECT_EQ(block["values"]["can_pay"], true);
  EXPECT_EQ(run.samples.size(), 12u);

  run = test::run_lab([&](Output& out) {
    run_speculate_target(nothing_shared, "json:x", {.widths = {2, 4}, .rounds = 3}, out);
  });
  EXPECT_EQ(run.blocks["speculate.width"]["values"]["can_pay"], false);
  EXPECT_EQ(width_of(run.blocks["speculate.width"], 2)["never_pays"], true);

  for (const char* spec : {"http://localhost:1", "https://x", "cmd:sleep {n}"}) {
    run = test::run_lab([&](Output& out) { run_speculate_target(shares, spec, {.rounds = 2}, out); });
    test::expect_reason_in_place_of_numbers(run.blocks["speculate.width"]);
  }
  test::run_lab([&](Output& out) {
    EXPECT_THROW(run_speculate_target(shares, "json:x", {.widths = {1}}, out), Error) << "one width tells nothing";
  });
}

TEST(Speculate, OurOwnEngine) {
  test::LabRun run = test::run_lab([&](Output& out) {
    run_speculate(test::tiny_args(),
                  {.widths = {1, 3}, .drafts = {2}, .depth = 4, .n_gen = 12, .rounds = 2, .max_spread = 1e6}, out);
  });
  ASSERT_TRUE(run.blocks["speculate.width"]["valid"].get<bool>());
  const Json& block = run.blocks["speculate.acceptance"];
  ASSERT_TRUE(block["valid"].get<bool>()) << block["reason"];
  ASSERT_EQ(block["values"]["cases"].size(), 2u);
  for (const Json& c : block["values"]["cases"]) {
    double e = c["tokens_per_round"].get<double>();
    EXPECT_EQ(c["drafts"], 2);
    EXPECT_NEAR(e, 1 + c["accepted"].get<double>() / c["rounds"].get<double>(), 1e-12);
    EXPECT_NEAR(c["rounds"].get<double>() + c["accepted"].get<double>(), 11, 1e-12)
        << "the first of 12 tokens comes from the prompt, each round gives one and what was accepted";
    EXPECT_LE(e, 3);
    EXPECT_NEAR(c["speed_up_foreseen"].get<double>(), e / c["cost"].get<double>(), 1e-12);
  }
  EXPECT_EQ(block["values"]["cases"][0]["text_kind"], "prose");
}

TEST(Speculate, AModelWithoutADraftBlockSaysSo) {
  app::EngineArgs args = test::tiny_args();
  args.model = std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny/gemma3.gguf";
  test::LabRun run = test::run_lab([&](Output& out) {
    run_speculate(args, {.widths = {1, 2}, .depth = 4, .n_gen = 4, .rounds = 2, .max_spread = 1e6}, out);
  });
  test::expect_reason_in_place_of_numbers(run.blocks["speculate.acceptance"]);
  EXPECT_TRUE(run.blocks["speculate.width"]["valid"].get<bool>());
}

}  // namespace
}  // namespace tally::lab
