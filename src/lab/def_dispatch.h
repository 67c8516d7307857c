// M4 dispatch slope, M5 cost of one dispatch as a bracket.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "lab/stats.h"

namespace tally::lab::def {

// M4: dispatches D against prompt length N.
enum class SlopeVerdict { InsideTheKernel, HostLoop };
struct DispatchSlope {
  stats::Line line;               // dispatches against tokens
  double per_token = 0;           // slope
  double per_layer_token = 0;     // slope / layers, 0 when layers is not given
  double share_at_longest = 0;    // slope·N / D at the longest N
  bool other_dependence = false;  // a residual above 0: counts are exact, so something else (chunking) counts too
  SlopeVerdict verdict = SlopeVerdict::HostLoop;
  std::string words;
};
// tokens[j], dispatches[j]. layers 0: not given. Error for fewer than three different lengths, or counts below 0.
DispatchSlope dispatch_slope(std::span<const double> tokens, std::span<const double> dispatches, int layers);

// M5 upper value, in µs: unattributed time (ms) over dispatches.
double unit_cost_us(double ms, double dispatches);
// M5 lower value, in µs per dispatch: T(x) = T0 + x·u by least squares over runs with x extra inert dispatches (ms).
// Error for fewer than two different x.
double injection_us(std::span<const double> extra_dispatches, std::span<const double> ms);

struct DispatchCost {
  double lower_us = 0, upper_us = 0;            // u2, u1
  double explained_ms = 0, remainder_ms = 0;    // D·u2, U − D·u2
  double explained_share = 0;                   // D·u2 / P
  double ceiling_lower = 1, ceiling_upper = 1;  // 1 / (1 − D·u/P); infinite when D·u reaches P
  bool consistent = true;                       // u2 ≤ u1
  std::string words;
};
// D dispatches, unattributed U and profiled total P in ms, u2 in µs. Error unless D > 0, P > 0, 0 ≤ U ≤ P, u2 ≥ 0.
DispatchCost dispatch_cost(double dispatches, double unattributed_ms, double profiled_ms, double lower_us);

}  // namespace tally::lab::def
