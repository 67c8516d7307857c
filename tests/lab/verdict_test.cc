// The verdict: each rule by a session made for it, and its error rates by simulated sessions with fixed seeds.
#include "lab/verdict.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "noise.h"

namespace tally::lab {
namespace {

const double kClock[] = {3000, 3000, 3000};

std::vector<double> around(double center, int n, double wobble = 0.004) {
  std::vector<double> r;
  for (int i = 0; i < n; ++i) r.push_back(center * std::exp(wobble * std::sin(i * 2.3)));
  return r;
}

Verdict judge_with(const std::vector<double>& ratios, const std::vector<double>& null) {
  return judge({.ratios = ratios, .null_ratios = null, .clock_mhz = kClock});
}

TEST(Verdict, a_clear_gain_names_everything) {
  Verdict v = judge_with(around(1.10, 12), around(1, 12));
  EXPECT_EQ(v.kind, VerdictKind::Faster) << v.words;
  EXPECT_EQ(v.wins, 12);
  EXPECT_NEAR(v.sign_p, 2.0 / 4096, 1e-9);
  for (const char* part : {"B is faster", "n 12", "null run", "spread", "less time"})
    EXPECT_NE(v.words.find(part), std::string::npos) << part;
  EXPECT_EQ(judge_with(around(1 / 1.10, 12), around(1, 12)).kind, VerdictKind::Slower);
}

TEST(Verdict, no_larger_than_the_null_run_is_no_difference) {
  Verdict v = judge_with(around(1.015, 12), around(1.014, 12));
  EXPECT_EQ(v.kind, VerdictKind::NoDifference) << v.words;
  EXPECT_NE(v.words.find("identical runs"), std::string::npos) << v.words;
  EXPECT_EQ(judge_with(around(1.0, 12), around(1, 12)).kind, VerdictKind::NoDifference);
}

TEST(Verdict, too_noisy_says_how_many_rounds) {
  Verdict v = judge_with(around(1.03, 8, 0.09), around(1, 8, 0.09));
  EXPECT_EQ(v.kind, VerdictKind::TooNoisy) << v.words;
  EXPECT_GT(v.rounds_needed, 8);
  EXPECT_NE(v.words.find("rounds would settle it"), std::string::npos);
}

TEST(Verdict, preconditions) {
  std::vector<double> good = around(1.10, 12), null = around(1, 12), spread = good;
  spread[3] = 1.6;  // a harness that allocates in one round
  Verdict v = judge_with(spread, null);
  EXPECT_EQ(v.kind, VerdictKind::NotValid);
  EXPECT_NE(v.words.find("contaminated"), std::string::npos) << v.words;
  EXPECT_EQ(judge_with(around(1.1, 5), null).kind, VerdictKind::NotValid);
  Verdict weights = judge({.ratios = good, .null_ratios = null, .weights_a = "aa", .weights_b = "bb"});
  EXPECT_EQ(weights.kind, VerdictKind::NotValid);
  EXPECT_NE(weights.words.find("different weights"), std::string::npos);
  const double moved[] = {3000, 2800, 2600};
  EXPECT_EQ(judge({.ratios = good, .null_ratios = null, .clock_mhz = moved}).kind, VerdictKind::NotValid);
  const double little[] = {3000, 2990, 2980};
  EXPECT_EQ(judge({.ratios = good, .null_ratios = null, .clock_mhz = little}).kind, VerdictKind::Faster);
  std::vector<double> warming = good;
  for (int i = 0; i < 4; ++i) warming[static_cast<size_t>(i)] *= 1.08;
  EXPECT_NE(judge_with(warming, null).words.find("not steady"), std::string::npos);
}

TEST(Verdict, best_of_many_widens_the_interval) {
  std::vector<double> r = around(1.03, 10, 0.02), null = around(1, 10);
  Verdict one = judge({.ratios = r, .null_ratios = null, .clock_mhz = kClock});
  Verdict many = judge({.ratios = r, .null_ratios = null, .clock_mhz = kClock, .best_of = 13});
  EXPECT_LT(many.effect.interval.low, one.effect.interval.low);
}

TEST(Verdict, refuses_what_is_no_ratio) {
  const double bad[] = {1.0, 0.0, 1.0};
  EXPECT_THROW(judge({.ratios = bad}), Error);
  EXPECT_THROW(judge({.ratios = {}}), Error);
}

TEST(Verdict, null_runs_pass_by_equivalence) {
  EXPECT_TRUE(equivalent(around(1, 20)).equivalent);
  EXPECT_FALSE(equivalent(around(1, 6, 0.05)).equivalent);  // no difference seen, but none excluded either
  EXPECT_FALSE(equivalent(around(1.03, 20)).equivalent);
}

// 8 kinds of noise × 2 lengths × 25 sessions of identical variants: at most 5 % may claim a difference. The seeds are
// fixed; tests/lab/calibrate_verdicts.cc runs the large version.
TEST(Verdict, identical_variants_rarely_differ) {
  int claims = 0, n = 0;
  for (const test::Noise& noise : test::kNoises)
    for (int rounds : {6, 16}) {
      test::Tally t = test::run_sessions(noise, rounds, 0, 25, 7);
      claims += t.claims;
      n += t.n;
    }
  EXPECT_LE(claims, n / 20) << claims << " of " << n;
}

TEST(Verdict, real_differences_are_found) {
  EXPECT_GE(test::run_sessions(test::kNoises[1], 12, 0.05, 40, 11).right, 38);   // 1 % noise, 5 % effect
  EXPECT_GE(test::run_sessions(test::kNoises[1], 12, -0.05, 40, 12).right, 38);  // and a loss
  EXPECT_GE(test::run_sessions(test::kNoises[4], 12, 0.05, 40, 13).right, 36);   // while warming up by 10 %
}

}  // namespace
}  // namespace tally::lab
