// M1 segment ceiling, M2 all-known-free ceiling, M3 unattributed time. Shares lie in 0…1, times are in ms, rates in
// tokens per second.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>

namespace tally::lab::def {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

// M1 (Amdahl 1967): the whole's speed-up 1 / (1 − p + p/s) when the share p becomes s times faster; s may be infinite.
// Infinite when p = 1 and s is. Error when p is outside 0…1 or s ≤ 0.
double amdahl(double p, double s);

// Sum of shares. Error when one is outside 0…1, or the sum exceeds 1 by more than rounding (1e-6).
double known_share(std::span<const double> shares);

// M2: what remains when every known segment costs nothing, against a target.
struct KnownFree {
  double share = 0, ceiling = 1;   // Σp, 1 / (1 − Σp)
  double rate = 0, best_rate = 0;  // r, r·ceiling
  double target = 0, missing = 0;  // g, g / best_rate: above 1 when unreachable
  bool reachable = false;
  std::string words;  // "unreachable by kernels: …", "reachable: …"
};
// Error when rate or target are not > 0.
KnownFree known_free(std::span<const double> shares, double rate, double target);

// M3: time that no segment claims. wall: a run without the profiler, when there was one.
inline constexpr double kOverheadLimit = 1.05;
struct Unattributed {
  double profiled = 0, known = 0, ms = 0, share = 0;  // P, Σt, U = P − Σt, U/P
  std::optional<double> wall, overhead;               // W, P/W
  bool double_counted = false;                        // Σt > P: segments overlap, or the times are of another run
  bool shares_warned = false;                         // P/W > 1.05: the shares are of a slowed-down run
  std::string words, warning;                         // warning is empty when there is none
};
// Error when a time is negative or not finite, or P (or W) is not > 0.
Unattributed unattributed(double profiled_ms, std::span<const double> segments_ms, std::optional<double> wall_ms);

}  // namespace tally::lab::def
