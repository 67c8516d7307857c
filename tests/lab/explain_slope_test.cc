// One run taken apart: everything closes; counts of dispatches are exact.
#include <gtest/gtest.h>

#include <set>

#include "lab/engine_blocks.h"
#include "lab/engine_runs.h"

namespace tally::lab {
namespace {

TEST(Alternate, EveryRoundHasEveryVariantAndTheOrderTurns) {
  std::vector<int> order;
  test::LabRun run = test::run_lab([&](Output& out) {
    std::vector<std::vector<double>> ms = alternate(
        {"a", "b", "c"}, 6,
        [&](int v) {
          order.push_back(v);
          return double(v + 1);
        },
        "t", out);
    ASSERT_EQ(ms.size(), 3u);
    for (int v = 0; v < 3; ++v) EXPECT_EQ(ms[v], std::vector<double>(6, v + 1));
  });
  ASSERT_EQ(order.size(), 3u + 18u) << "one warm-up of each, then six rounds";
  std::map<int, std::set<int>> positions;
  for (int round = 0; round < 6; ++round) {
    std::set<int> seen;
    for (int at = 0; at < 3; ++at) {
      seen.insert(order[3 + round * 3 + at]);
      positions[order[3 + round * 3 + at]].insert(at);
    }
    EXPECT_EQ(seen.size(), 3u);
  }
  for (const auto& [v, at] : positions) EXPECT_EQ(at.size(), 3u) << "variant " << v << " has stood in every place";
  EXPECT_EQ(run.samples.size(), 18u);
  EXPECT_EQ(run.samples[0]["variant"], "a");
}

TEST(Probe, NoisyOrDriftingSamplesAreNotUsable) {
  Probe probe(test::tiny_args(), 64);
  EXPECT_EQ(probe.not_usable({10, 10.1, 10, 9.9, 10, 10.1, 10, 9.9, 10}), "");
  EXPECT_NE(probe.not_usable({10, 14, 10, 14, 10, 14, 10, 14, 10}), "");
  std::vector<double> drift;
  for (int i = 0; i < 30; ++i) drift.push_back(100 + 0.5 * i);
  EXPECT_NE(probe.not_usable(drift), "");
}

TEST(Explain, SegmentsAndTheRestAreTheWall) {
  Probe probe(test::tiny_args(), 64);
  probe.max_spread = 1e6;
  test::LabRun run = test::run_lab([&](Output& out) {
    run_explain(probe, {.n_prompt = 12, .n_gen = 3, .depth = 5, .rounds = 3, .target_decode = 1e12}, out);
  });
  ASSERT_EQ(run.blocks.size(), 2u);
  for (const auto& [name, block] : run.blocks) {
    ASSERT_TRUE(block["valid"].get<bool>()) << block["reason"];
    const Json& v = block["values"];
    double sum = v["unattributed_ms"].get<double>(), dispatches = 0, shares = v["unattributed_share"].get<double>();
    for (const Json& s : v["segments"]) {
      sum += s["ms"].get<double>();
      dispatches += s["dispatches"].get<double>();
      shares += s["share"].get<double>();
      EXPECT_GT(s["bytes"].get<double>(), 0) << s["name"];
      EXPECT_GE(s["ceiling_free"].get<double>(), s["ceiling_at_roofline"].get<double>()) << s["name"];
    }
    EXPECT_NEAR(sum, v["profiled_ms"].get<double>(), 1e-9 * sum) << name;
    EXPECT_NEAR(shares, 1, 1e-9);
    EXPECT_NEAR(dispatches, v["dispatches"].get<double>(), 1e-6 * dispatches) << name;
    EXPECT_GE(v["unattributed_ms"].get<double>(), 0) << "dispatches lie within the wall time";
    EXPECT_GT(v["ceiling_all_known_free"].get<double>(), 1);
  }
  EXPECT_EQ(run.blocks["explain.decode"]["values"]["reachable"], false) << "no kernel gives 1e12 tokens/s";
  EXPECT_EQ(run.samples.size(), 2u * 2u * 3u);
}

TEST(Slope, CountsAreExact) {
  Probe probe(test::tiny_args(8), 64);
  const uint64_t one = probe.count_dispatches({.n_prompt = 8});
  EXPECT_EQ(probe.count_dispatches({.n_prompt = 9}), 2 * one) << "a second chunk";
  EXPECT_EQ(probe.count_dispatches({.n_gen = 5, .depth = 3}), 5 * probe.count_dispatches({.n_gen = 1}));

  test::LabRun run = test::run_lab([&](Output& out) {
    run_slope(probe, {.lengths = {8, 16, 24, 32}, .n_prompt = 0, .n_gen = 0}, out);
  });
  const Json& loop = run.blocks["slope"]["values"];
  EXPECT_EQ(loop["verdict"], "host_loop");
  EXPECT_NEAR(loop["slope"].get<double>(), double(one) / 8, 1e-9);
  EXPECT_NEAR(loop["intercept"].get<double>(), 0, 1e-6);
  EXPECT_NEAR(loop["max_residual"].get<double>(), 0, 1e-6);

  run = test::run_lab([&](Output& out) { run_slope(probe, {.lengths = {4, 6, 8}, .n_prompt = 0, .n_gen = 0}, out); });
  EXPECT_EQ(run.blocks["slope"]["values"]["verdict"], "inside_the_kernel");
  EXPECT_EQ(run.blocks["slope"]["values"]["slope"], 0.0);

  run = test::run_lab([&](Output& out) {  // a chunk boundary: not a line, and said
    run_slope(probe, {.lengths = {4, 8, 9, 20}, .n_prompt = 0, .n_gen = 0}, out);
  });
  EXPECT_EQ(run.blocks["slope"]["values"]["other_dependence"], true);

  run = test::run_lab([&](Output& out) { run_slope(probe, {.lengths = {4, 8, 8}, .n_prompt = 0, .n_gen = 0}, out); });
  test::expect_reason_in_place_of_numbers(run.blocks["slope"]);
}

TEST(Slope, InertDispatchesAreCounted) {
  Probe probe(test::tiny_args(), 64);
  probe.max_spread = 1e6;
  test::LabRun run = test::run_lab([&](Output& out) {
    run_slope(probe, {.lengths = {4, 6, 8}, .inert = {1, 4}, .n_prompt = 0, .n_gen = 2, .rounds = 3}, out);
  });
  EXPECT_EQ(run.samples.size(), 9u);
  const Json& block = run.blocks["dispatch_cost.decode"];
  if (!block["valid"].get<bool>()) return test::expect_reason_in_place_of_numbers(block);
  const Json& v = block["values"];
  const double d0 = v["dispatches"].get<double>();
  EXPECT_EQ(v["points"][1]["extra"].get<double>(), d0);
  EXPECT_EQ(v["points"][2]["extra"].get<double>(), 4 * d0);
  EXPECT_GT(v["lower_us"].get<double>(), 0);
  EXPECT_NEAR(v["explained_ms"].get<double>(), d0 * v["lower_us"].get<double>() * 1e-3, 1e-9);
  EXPECT_TRUE(probe.engine().options().instruments.none()) << "the engine is left as it was";
}

}  // namespace
}  // namespace tally::lab
