// Ablation, batching, limits and the latency table: what they count, compare and refuse. Nothing here looks at times.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "lab/engine_blocks.h"
#include "lab/engine_runs.h"
#include "lab/latency.h"
#include "lab/limits.h"

namespace tally::lab {
namespace {

TEST(Ablate, EveryComponentOfTheModelIsTriedAndTheEngineIsLeftAsItWas) {
  Probe probe(test::tiny_args(), 64);
  probe.max_spread = 1e6;
  test::LabRun run =
      test::run_lab([&](Output& out) { run_ablate(probe, {.n_prompt = 8, .n_gen = 2, .rounds = 2}, out); });
  ASSERT_EQ(run.blocks.size(), 2u);
  std::set<std::string> variants;
  for (const Json& s : run.samples) variants.insert(s["variant"].get<std::string>());
  EXPECT_EQ(variants, (std::set<std::string>{"whole", "without experts", "without attention", "without delta",
                                             "without qkv", "without output projection", "without head"}));
  for (const auto& [name, block] : run.blocks) {
    if (!block["valid"].get<bool>()) {
      test::expect_reason_in_place_of_numbers(block);
      continue;
    }
    double shares = 0;
    bool live = false;
    for (const Json& p : block["values"]["parts"]) {
      shares += p["expected_share"].get<double>();
      live |= p["live"].get<bool>();
    }
    EXPECT_LE(shares, 1 + 1e-9) << "components do not overlap";
    EXPECT_TRUE(live) << "no numbers without a control that moved the clock";
  }
  EXPECT_TRUE(probe.engine().options().instruments.none());
}

TEST(Ablate, UnknownComponentsAreRefused) {
  Probe probe(test::tiny_args(), 64);
  test::run_lab([&](Output& out) {
    EXPECT_THROW(run_ablate(probe, {.components = {"router"}, .n_prompt = 0, .n_gen = 2, .rounds = 2}, out), Error);
    EXPECT_THROW(run_ablate(probe, {.components = {"x"}, .n_prompt = 0, .n_gen = 2, .rounds = 2}, out), Error);
  });
}

TEST(Batch, SequencesTogetherChooseWhatTheyChooseAlone) {
  Probe probe(test::tiny_args(), 64, 4);
  probe.max_spread = 1e6;
  test::LabRun run = test::run_lab([&](Output& out) {
    run_batch(probe, {.batches = {4, 2}, .n_prompt = 5, .n_gen = 4, .rounds = 2}, out);
  });
  const Json& block = run.blocks["batch"];
  ASSERT_TRUE(block["valid"].get<bool>()) << block["reason"];
  std::vector<int> sizes;
  double before = 0;
  for (const Json& b : block["values"]["batches"]) {
    sizes.push_back(b["sequences"].get<int>());
    EXPECT_EQ(b["first_different_token"], -1);
    EXPECT_GT(b["gain_before"].get<double>(), before) << "larger batches share more bytes";
    EXPECT_LE(b["gain_before"].get<double>(), sizes.back());
    EXPECT_NEAR(b["gain_after"].get<double>(), b["bytes_factor"].get<double>() * b["utilisation_factor"].get<double>(),
                1e-9);
    EXPECT_NEAR(b["gain_after"].get<double>(), b["gain"].get<double>(), 1e-6 * b["gain"].get<double>())
        << "after the measurement both factors together are the gain";
    before = b["gain_before"].get<double>();
  }
  EXPECT_EQ(sizes, (std::vector<int>{1, 2, 4}));
  test::run_lab([&](Output& out) { EXPECT_THROW(run_batch(probe, {.batches = {1}}, out), Error); });
}

TEST(Limits, GiveEveryFigure) {
  test::LabRun run =
      test::run_lab([&](Output& out) { run_limits({.n_threads = 1, .largest_set = 32 << 10, .store = false}, out); });
  ASSERT_EQ(run.blocks.size(), 3u);
  for (const auto& [name, block] : run.blocks) {
    ASSERT_FALSE(block["values"]["points"].empty()) << name;
    for (const Json& p : block["values"]["points"])
      for (const auto& [key, value] : p.items()) {
        if (value.is_number()) {
          EXPECT_GT(value.get<double>(), 0) << name << " " << key;
        }
      }
  }
  DispatchCosts c = measure_dispatch(2);
  EXPECT_GT(c.dispatch_ns, 0);
  EXPECT_GT(c.barrier_ns, 0);
  EXPECT_GT(c.team_run_ns, 0);
}

TEST(Table, HasEveryRowAndItsSavings) {
  test::LabRun run = test::run_lab([&](Output& out) {
    run_table(test::tiny_args(), {.rounds = 2, .n_prompt = 4, .n_gen = 2, .chase_bytes = 4096}, out);
  });
  std::set<std::string> names;
  for (const Json& c : run.blocks["table"]["values"]["costs"]) names.insert(c["name"].get<std::string>());
  EXPECT_EQ(names,
            (std::set<std::string>{"loop iteration", "lock and unlock", "memory read", "process start", "prompt token",
                                   "decoded token", "tokenizer, 1 kB", "warm round trip", "cold load, first token"}));
  const Json& ratios = run.blocks["table"]["values"]["ratios"];
  for (size_t i = 0; i < ratios["names"].size(); ++i) EXPECT_NEAR(ratios["rows"][i][i].get<double>(), 1, 1e-12);
  for (const Json& s : run.blocks["table.savings"]["values"]["savings"])
    EXPECT_EQ(s["less"].get<bool>(), s["calls"].get<double>() < 1);
}

TEST(Table, AModelWithoutATokenizerSaysSo) {
  std::vector<uint8_t> bytes = test::read_file(std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny/llama.gguf");
  const std::string key = "tokenizer.ggml.model";
  auto at = std::search(bytes.begin(), bytes.end(), key.begin(), key.end());
  ASSERT_NE(at, bytes.end());
  *at = 'X';
  const test::TemporaryFolder folder;
  app::EngineArgs args = test::tiny_args();
  args.model = folder.file("nameless.gguf");
  std::ofstream(args.model, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  test::LabRun run = test::run_lab(
      [&](Output& out) { run_table(args, {.rounds = 2, .n_prompt = 4, .n_gen = 2, .chase_bytes = 4096}, out); });
  bool said = false;
  for (const Json& c : run.blocks["table"]["values"]["costs"])
    if (c["ns"].is_null()) said |= !c["reason"].get<std::string>().empty();
  EXPECT_TRUE(said);
  test::expect_reason_in_place_of_numbers(run.blocks["table.savings"]);
}

}  // namespace
}  // namespace tally::lab
