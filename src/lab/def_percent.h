// M24, one wording for percent; M22, composing ratios.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tally::lab::def {

// A ratio new/old of rates, and its two percentages, always printed together.
struct Percent {
  double ratio = 1;
  double faster = 0;     // ratio − 1
  double less_time = 0;  // 1 − 1/ratio: also the gain as a share of the final rate
  std::string words;     // "+47.9 % faster, 32.4 % less time" or "10.5 % slower, 11.7 % more time"
};
// Error unless the ratio is finite and > 0.
Percent percent(double ratio);
// From two rates; both > 0.
Percent percent_of_rates(double before, double after);

// All values of which `claimed` (0.48 for "48 %") can be said of this ratio of rates, by name: "faster",
// "less_time" ("share of the final rate"), and seen from the other side. Complains (flag 20) unless exactly the first
// is meant: `words` says which of them fits, or that none does. tolerance: absolute, how the claim was rounded.
struct ClaimedPercent {
  std::vector<std::string> readings;
  std::string words;
};
ClaimedPercent claimed_percent(double before, double after, double claimed, double tolerance);
// The same for "x times", "undercounts by y": 0.60 reads as factor 1/(1−y) = 2.5 or 1+y = 1.6.
struct Undercount {
  double factor_of_true = 1, factor_of_counted = 1;  // 1/(1−y), 1+y
};
Undercount undercount(double y);  // Error unless 0 ≤ y < 1

// Gains along a chain: each has its baseline and its result as times. They multiply only where the baseline of the next
// is the result of the previous (within `tolerance`, relative).
struct Step {
  double before = 0, after = 0;
};
struct Chain {
  bool composes = false;
  double product = 1;  // of before/after
  double whole = 1;    // first before / last after
  int broken_at = -1;  // first step whose baseline is not the previous result
  std::string words;
};
Chain chain(std::span<const Step> steps, double tolerance = 0.01);

// Share of the whole that a local gain s must have had for the chain to gain g: (1 − 1/g) / (1 − 1/s).
// Error unless g > 0 and s > 0, s ≠ 1.
double implied_share(double chain_gain, double local_gain);

// The gain in the chain against the ceiling that the recorded share allows (M1 with s → ∞).
struct StaleShare {
  double implied = 0;   // share implied by the gain
  double ceiling = 1;   // 1 / (1 − recorded), the most that the recorded share allows
  double expected = 1;  // M1 with the local gain
  bool stale = false;   // the gain exceeds the ceiling
  std::string words;
};
StaleShare stale_share(double chain_gain, double local_gain, double recorded_share);

}  // namespace tally::lab::def
