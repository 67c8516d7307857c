// Seeded bootstrap of the geometric mean of ratios: the interval that every paired comparison prints.
#pragma once

#include <cstdint>
#include <span>

namespace tally::lab::stats {

struct Interval {
  double low = 0, high = 0;
  bool excludes(double x) const { return x < low || x > high; }
  bool within(double lo, double hi) const { return low >= lo && high <= hi; }
};

enum class BootstrapKind { Bca, Percentile, Student };  // which of them could be given

struct RatioInterval {
  double geometric_mean = 1;
  Interval interval;
  BootstrapKind kind = BootstrapKind::Bca;
  int resamples = 0, n = 0;
};

inline constexpr int kResamples = 10000;
inline constexpr int kFewest = 6;
inline constexpr uint64_t kSeed = 0x7461'6c6c'79ull;

// Interval of confidence `level` of exp(mean(ln r)), r_i > 0, bias-corrected and accelerated (Efron 1987), percentile
// where BCa is not defined (all resamples on one side). Its levels are widened for small n by Student's t and n/(n−1)
// (the expanded interval of Hesterberg, "What Teachers Should Know about the Bootstrap", 2014), as plain bootstrap
// intervals of ten rounds hold the truth in about 90 % of cases only. Below kFewest rounds no resampled mean lies
// outside what was seen, so Student's interval of the logarithms is given instead. Same input and seed: same interval.
// Error for fewer than 2 ratios, more than 100,000, or a ratio that is not finite and > 0.
RatioInterval bootstrap_ratio(std::span<const double> ratios, double level = 0.95, uint64_t seed = kSeed,
                              int resamples = kResamples);

}  // namespace tally::lab::stats
