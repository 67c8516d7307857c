// What ab, fit, bisect, sustain and board say of targets whose speed is known.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/rng.h"
#include "lab/ab.h"
#include "lab/bench.h"
#include "lab/bisect.h"
#include "lab/board.h"
#include "lab/fit.h"
#include "lab/fit_change.h"
#include "lab/sustain.h"
#include "scripted_target.h"
#include "support.h"

namespace tally::lab {
namespace {

using test::ScriptedTarget;

// Multiplicative noise of about one percent, seeded.
struct Noise {
  uint64_t seed, n = 0;
  double operator()(double sd = 0.01) {
    double z = 0;
    for (int i = 0; i < 12; ++i) z += random_unit(seed, n++);
    return std::exp(sd * (z - 6));
  }
};

Json run(const std::string& command, const std::function<void(Output&)>& f, std::vector<Json>* samples = nullptr) {
  test::TemporaryFolder folder;
  std::string file = folder.file("out.jsonl");
  {
    struct Quiet {  // the tables for people
      Quiet() { testing::internal::CaptureStdout(); }
      ~Quiet() { testing::internal::GetCapturedStdout(); }
    } quiet;
    Output output(command, file, Json::object());
    f(output);
    output.finish();
  }
  std::ifstream in(file);
  Json results = Json::array();
  for (std::string line; std::getline(in, line);) {
    Json j = Json::parse(line);
    if (j["kind"] == "result") results.push_back(j);
    if (j["kind"] == "sample" && samples) samples->push_back(j);
  }
  return results;
}

Json find(const Json& results, const std::string& name) {
  for (const Json& r : results)
    if (r["name"] == name) return r;
  return nullptr;
}

Verdict compare(double ratio, uint64_t seed) {
  Noise noise{seed};
  auto speed = [&](double factor) { return [&noise, factor](const TestShape&) { return 10 * factor * noise(); }; };
  ScriptedTarget a("a", speed(1)), b("b", speed(ratio)), again("a", speed(1));
  AbArgs args;
  args.shapes.prompts = {64}, args.shapes.gens = {0}, args.rounds = 20, args.inner = 1;
  args.a = "a", args.b = "b";
  Verdict v;
  Json results = run("ab", [&](Output& o) { v = run_ab(args, a, b, again, o).at(0); });
  Json ab = find(results, "ab");
  EXPECT_EQ(ab["values"]["verdict"], name_of(v.kind));
  EXPECT_EQ(ab["values"]["ratios"].size(), 20u);
  EXPECT_EQ(ab["values"]["null_ratio_ci"].size(), 2u);
  return v;
}

// The clock of the test machine may move: that alone may refuse the verdict, never turn it.
TEST(Ab, a_slower_variant_is_slower_and_a_faster_one_faster) {
  Verdict slow = compare(1.15, 1), fast = compare(1 / 1.15, 2);
  EXPECT_TRUE(slow.kind == VerdictKind::Slower || slow.kind == VerdictKind::NotValid) << slow.words;
  EXPECT_TRUE(fast.kind == VerdictKind::Faster || fast.kind == VerdictKind::NotValid) << fast.words;
  EXPECT_NEAR(slow.effect.geometric_mean, 1 / 1.15, 0.02);
  EXPECT_NEAR(fast.effect.geometric_mean, 1.15, 0.02);
}

TEST(Ab, equal_variants_are_not_told_apart) {
  for (uint64_t seed = 10; seed < 20; ++seed) {
    Verdict v = compare(1, seed);
    EXPECT_TRUE(v.kind != VerdictKind::Faster && v.kind != VerdictKind::Slower) << v.words;
  }
}

TEST(Fit, finds_the_two_costs_and_says_where_the_line_ends) {
  auto ms = [](const TestShape& t) { return t.n_prompt < 100 ? 20.0 : 50 + 0.5 * t.n_prompt; };
  ScriptedTarget target("new", ms);
  FitArgs args;
  args.rounds = 2, args.inner = 1, args.lengths = {128, 256, 512}, args.held_out = {64, 384};
  Json results = run("fit", [&](Output& o) { run_fit(args, target, nullptr, o); });
  Json fit = find(results, "fit");
  EXPECT_TRUE(fit["valid"]);
  EXPECT_NEAR(fit["values"]["line"]["fixed_ms"], 50, 1e-9);
  EXPECT_NEAR(fit["values"]["line"]["per_token_ms"], 0.5, 1e-12);
  EXPECT_EQ(fit["values"]["line"]["from_n"], 128);
  EXPECT_EQ(fit["values"]["held_out"]["holds"], false);
  EXPECT_EQ(fit["values"]["held_out"]["valid_from"], 128);
}

TEST(Fit, two_curves_tell_a_cost_per_token_from_a_fixed_one) {
  auto line = [](double f, double c) { return [f, c](const TestShape& t) { return f + c * t.n_prompt; }; };
  ScriptedTarget old("old", line(100, 0.5)), per_token("new", line(100, 0.8)), fixed("new", line(250, 0.5));
  FitArgs args;
  args.rounds = 2, args.inner = 1, args.lengths = {128, 512, 1024};
  Json a = run("fit", [&](Output& o) { run_fit(args, per_token, &old, o); });
  EXPECT_EQ(find(a, "slowdown")["values"]["shape"], "per_token");
  Json b = run("fit", [&](Output& o) { run_fit(args, fixed, &old, o); });
  EXPECT_EQ(find(b, "slowdown")["values"]["shape"], "fixed");
  EXPECT_TRUE(find(b, "crossing")["values"]["n"].is_null());
}

TEST(Fit, times_that_do_not_rise_are_not_valid) {
  ScriptedTarget target("flat", [](const TestShape&) { return 10.0; });
  FitArgs args;
  args.rounds = 2, args.inner = 1;
  Json fit = find(run("fit", [&](Output& o) { run_fit(args, target, nullptr, o); }), "fit");
  EXPECT_EQ(fit["valid"], false);
  EXPECT_FALSE(fit["reason"].get<std::string>().empty());
  args.lengths = {100, 150};
  Output output("fit", std::nullopt, Json::object());
  EXPECT_THROW(run_fit(args, target, nullptr, output), Error);
}

// Noise of two percent and an intercept near nothing, as small models have: which cost a planted slowdown is in.
TEST(Fit, a_planted_change_is_named_through_noise) {
  const std::vector<double> n{64, 128, 256, 512};
  int right = 0, tried = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed)
    for (auto [fixed, per_token, name] :
         {std::tuple(0.0, 0.0, "none"), {20.0, 0.0, "fixed"}, {0.0, 0.05, "per_token"}, {20.0, 0.1, "both"}}) {
      Noise noise{seed};
      std::vector<std::vector<double>> old_ms(4), new_ms(4);
      for (int r = 0; r < 8; ++r) {
        double mood = noise(0.1);
        for (int i = 0; i < 4; ++i) {
          old_ms[i].push_back((1 + 0.4 * n[i]) * mood * noise(0.02));
          new_ms[i].push_back((1 + fixed + (0.4 + per_token) * n[i]) * mood * noise(0.02));
        }
      }
      right += cost_change(n, old_ms, new_ms).named == name;
      ++tried;
    }
  EXPECT_GE(right, tried - 2) << right << " of " << tried;
  EXPECT_THROW(cost_change(n, {{1, 1, 1}}, {{1, 1, 1}}), Error);
}

TEST(Fit, held_out_lengths) {
  EXPECT_EQ(default_held_out({128, 256, 512, 1024}), (std::vector<int>{64, 768}));
  EXPECT_EQ(default_held_out({8, 16}), (std::vector<int>{12}));
}

// Rates of versions with a common drift that is far larger than the step.
std::vector<std::vector<double>> drifting(const std::vector<double>& speed, int rounds, uint64_t seed) {
  Noise noise{seed};
  std::vector<std::vector<double>> rates(speed.size());
  for (int r = 0; r < rounds; ++r) {
    double mood = noise(0.15);
    for (size_t v = 0; v < speed.size(); ++v) rates[v].push_back(speed[v] * mood * noise(0.005));
  }
  return rates;
}

TEST(Bisect, names_the_planted_step_through_the_machines_drift) {
  std::vector<std::string> names{"1", "2", "3", "4", "5"};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    BisectPhase p = bisect_phase("prefill", names, drifting({100, 100, 94, 94, 94}, 10, seed), true);
    EXPECT_EQ(p.named, std::vector<int>{1}) << seed;
  }
}

TEST(Bisect, equal_versions_have_no_step) {
  std::vector<std::string> names{"1", "2", "3", "4", "5", "6", "7"};
  int named = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    named += !bisect_phase("decode", names, drifting(std::vector<double>(7, 50.0), 8, seed), true).named.empty();
  EXPECT_EQ(named, 0);
}

TEST(Bisect, alone_the_drift_hides_it_and_that_is_said) {
  BisectPhase p = bisect_phase("prefill", {"1", "2"}, drifting({100, 94}, 8, 3), false);
  EXPECT_TRUE(p.paired.empty());
  EXPECT_FALSE(p.steps.steps[0].paired);
}

TEST(Bisect, search_ends_at_the_largest_step) {
  for (int planted : {1, 4, 6}) {
    std::vector<std::unique_ptr<Target>> targets;
    for (int i = 0; i < 7; ++i)
      targets.push_back(
          std::make_unique<ScriptedTarget>("v", [=](const TestShape&) { return i >= planted ? 13.0 : 10.0; }));
    BisectArgs args;
    args.search = true, args.rounds = 2, args.inner = 1;
    Json s = find(run("bisect", [&](Output& o) { run_bisect(args, targets, o); }), "search");
    EXPECT_EQ(s["values"]["from"], std::to_string(planted) + ": v");
    EXPECT_EQ(s["values"]["to"], std::to_string(planted + 1) + ": v");
  }
}

TEST(Sustain, a_clock_that_falls_explains_a_rate_that_falls) {
  SustainRun run;
  run.cold_clock_mhz = 3000;
  for (int i = 0; i < 30; ++i) {
    double clock = i < 10 ? 3000 - 60 * i : 2400;
    run.points.push_back({.s = i + 1.0, .rate = clock / 30, .clock_mhz = clock});
  }
  Block b = sustain_block("x", run, "no counters");
  EXPECT_EQ(b.not_valid, "");
  EXPECT_NEAR(b.values["ratio"], 0.8, 1e-9);
  EXPECT_NEAR(b.values["predicted"], 80, 1e-9);
  EXPECT_TRUE(b.values["thermal"]);
  EXPECT_TRUE(b.values["j_per_token"].is_null());
  for (auto& p : run.points) p.clock_mhz = 3000;
  EXPECT_FALSE(sustain_block("x", run, "").values["thermal"]);
  run.points.resize(5);
  EXPECT_NE(sustain_block("x", run, "").not_valid, "");
}

TEST(Board, latest_entries_ranked_with_ties_staleness_and_bounds) {
  auto entry = [](const std::string& engine, const std::string& date, std::vector<double> samples, bool bound = false) {
    return BoardEntry{.engine = engine,
                      .target = engine,
                      .test = "pp512",
                      .weights_sha256 = std::string(64, 'a'),
                      .machine = "m",
                      .date = date,
                      .samples = std::move(samples),
                      .lower_bound = bound};
  };
  std::time_t now = 1'796'000'000;  // 2026-11-30
  std::vector<BoardEntry> entries{entry("slow", "2026-11-29T00:00:00Z", {50, 51, 50}),
                                  entry("fast", "2026-11-29T00:00:00Z", {10, 10, 10}),
                                  entry("fast", "2026-11-30T00:00:00Z", {100, 101, 99}),
                                  entry("same", "2026-11-30T00:00:00Z", {101, 98, 102}, true),
                                  entry("old", "2026-10-01T00:00:00Z", {500, 501, 502})};
  std::vector<Block> blocks = board_blocks(entries, now);
  ASSERT_EQ(blocks.size(), 1u);
  const Json& rows = blocks[0].values["entries"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["engine"], "same");
  EXPECT_EQ(rows[0]["rank"], rows[1]["rank"]);
  EXPECT_TRUE(rows[0]["tie"]);
  EXPECT_EQ(rows[2]["engine"], "slow");
  EXPECT_EQ(rows[2]["rank"], 3);
  EXPECT_EQ(rows[3]["engine"], "old");
  EXPECT_TRUE(rows[3]["stale"]);
  EXPECT_TRUE(rows[3]["rank"].is_null());
  EXPECT_EQ(blocks[0].table.rows[0][1], "= 1");
  EXPECT_EQ(blocks[0].table.rows[0][2].rfind("≥ ", 0), 0u);
}

TEST(Board, the_file_is_read_back_and_damage_is_named) {
  test::TemporaryFolder folder;
  std::string file = folder.file("board.jsonl");
  EXPECT_TRUE(read_board(file).empty());
  BoardEntry e{.engine = "e",
               .target = "t",
               .test = "tg8",
               .weights_sha256 = "",
               .machine = "m",
               .date = "2026-11-30T00:00:00Z",
               .samples = {1.5, 2.5},
               .lower_bound = true,
               .provenance = {{"kind", "x"}}};
  append_board(file, {e, e});
  auto back = read_board(file);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(json_of(back[0]), json_of(e));
  for (const char* bad : {"x", "1", "{}", R"({"engine": 1})"}) {
    std::ofstream(folder.file("bad.jsonl")) << json_of(e).dump() << "\n" << bad << "\n";
    try {
      read_board(folder.file("bad.jsonl"));
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(age_days("yesterday", 0), Error);
  EXPECT_THROW(append_board(folder.file("no/folder"), {e}), Error);
}

}  // namespace
}  // namespace tally::lab
