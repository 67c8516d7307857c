// The verdict of an alternated comparison (M11): round ratios in, a sentence out. Pure: nothing is measured here.
//
// A round measures both variants once, order alternated (ABBA). Its ratio is time of A over time of B, so a ratio
// above 1 says that B is faster; for rates take rate of B over rate of A. A null run is the same command with A in both
// places. A difference is claimed only when all of these hold:
//   (a) the interval of the geometric mean of the ratios excludes 1;
//   (b) the effect is larger than the null run's interval reaches;
//   (c) same weights and same fingerprint, the clock moved less than the gain, max r / min r ≤ 1.25, steady.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/stats.h"
#include "lab/stats_bootstrap.h"

namespace tally::lab {

enum class VerdictKind {
  Faster,        // B is faster than A
  Slower,        // B is slower than A
  NoDifference,  // within the equivalence bound, or no larger than the null run shows
  TooNoisy,      // more rounds could settle it; `rounds_needed` says how many
  NotValid       // a precondition does not hold; `reasons` says which
};
const char* name_of(VerdictKind kind);  // "faster", "slower", "no_difference", "too_noisy", "not_valid"

struct VerdictInput {
  std::span<const double> ratios;       // [rounds] time A / time B
  std::span<const double> null_ratios;  // [rounds] time A / time A
  // What must be the same on both sides; empty means not known, which is said and counts as the same.
  std::string weights_a, weights_b, fingerprint_a, fingerprint_b;
  // Clock at start, middle and end, MHz, of the whole session; empty when it cannot be read (said in the notes).
  std::span<const double> clock_mhz;
  double equivalence = 0.02;  // differences below this do not matter: [1/(1+e), 1+e] counts as equal
  double max_spread = 1.25;   // of max r / min r
  int min_rounds = 6;         // fewer give no verdict: an exact sign test of 5 cannot reach 0.05
  int best_of = 1;            // B is the best of so many variants tried: the level is corrected (Bonferroni)
};

struct Verdict {
  VerdictKind kind = VerdictKind::NotValid;
  int n = 0, wins = 0, losses = 0;  // wins: rounds in which B was faster; ties in neither
  double sign_p = 1;                // exact, two-sided, ties left out
  stats::RatioInterval effect;      // 95 % (or the level corrected for best_of)
  std::optional<stats::RatioInterval> null;
  double spread = 1;                 // max r / min r
  double clock_change = 0;           // (max − min) / mean of the clocks
  stats::Line drift;                 // of the ratios against the round
  stats::Steady steady;              // of the ratios
  int rounds_needed = 0;             // TooNoisy: about so many rounds would settle it (0: cannot be said)
  std::string outliers;              // Tukey's classes of the ratios, empty when there are none
  std::vector<std::string> reasons;  // of NotValid
  std::vector<std::string> notes;
  std::string words;  // one sentence with effect, interval, n, null interval, spread
};

// Error for fewer than 2 ratios, or ratios that are not finite and > 0.
Verdict judge(const VerdictInput& in);

// Rounds until an interval of ln-ratios with standard deviation `sd_log` is narrower than |effect_log| (or, when that
// is smaller than the equivalence bound, than the bound): the smallest n with t(0.975, n−1)·sd/√n below it, with
// `null_sd_log` for the null run likewise. Capped at 100,000.
int rounds_to_settle(double effect_log, double sd_log, double null_sd_log, double equivalence);

// Equivalence bound for a null run (two one-sided tests at 5 %: the 90 % interval lies within [1/(1+e), 1+e]): an A/A
// run passes by being shown equal, not by failing to differ.
struct Equivalence {
  bool equivalent = false;
  stats::RatioInterval interval;  // 90 %
  double smallest_bound = 0;      // the smallest e for which the run would pass
  std::string words;
};
Equivalence equivalent(std::span<const double> null_ratios, double bound = 0.02);

}  // namespace tally::lab
