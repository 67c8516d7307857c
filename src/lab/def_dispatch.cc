#include "lab/def_dispatch.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "lab/def_amdahl.h"

namespace tally::lab::def {

DispatchSlope dispatch_slope(std::span<const double> tokens, std::span<const double> dispatches, int layers) {
  std::set<double> lengths(tokens.begin(), tokens.end());
  if (lengths.size() < 3)
    fail(ErrorCode::BadInput, "dispatch slope: {} different lengths; three are needed, as two points fit any line",
         lengths.size());
  for (double d : dispatches)
    if (!(d >= 0)) fail(ErrorCode::BadInput, "dispatch slope: a count of {}; counts are ≥ 0", d);
  DispatchSlope s{.line = stats::least_squares(tokens, dispatches)};
  s.per_token = s.line.slope;
  if (layers > 0) s.per_layer_token = s.per_token / layers;
  size_t longest = static_cast<size_t>(std::max_element(tokens.begin(), tokens.end()) - tokens.begin());
  double d = dispatches[longest];
  s.share_at_longest = d > 0 ? s.per_token * tokens[longest] / d : 0;
  s.other_dependence = s.line.max_abs_residual > 1e-6 * std::max(1.0, d);
  s.verdict = s.share_at_longest < 0.05 ? SlopeVerdict::InsideTheKernel : SlopeVerdict::HostLoop;
  s.words = s.verdict == SlopeVerdict::InsideTheKernel
                ? fmt::format("inside the kernel: {:.4g} dispatches per token are {:.1f} % of {:.0f} at {:.0f} tokens",
                              s.per_token, 100 * s.share_at_longest, d, tokens[longest])
                : fmt::format(
                      "host loop over tokens: {:.6g} dispatches per token{} and {:.6g} fixed; {:.1f} % of {:.0f} "
                      "at {:.0f} tokens",
                      s.per_token, layers > 0 ? fmt::format(" ({:.2f} per layer)", s.per_layer_token) : "",
                      s.line.intercept, 100 * s.share_at_longest, d, tokens[longest]);
  if (s.other_dependence)
    s.words += fmt::format("; residuals up to {:.1f}: counts are exact, so they depend on something else too (chunks?)",
                           s.line.max_abs_residual);
  return s;
}

double unit_cost_us(double ms, double dispatches) {
  if (!(dispatches > 0)) fail(ErrorCode::BadInput, "cost of a dispatch: {} dispatches; must be > 0", dispatches);
  if (!(ms >= 0)) fail(ErrorCode::BadInput, "cost of a dispatch: {} ms; must be ≥ 0", ms);
  return 1000 * ms / dispatches;
}

double injection_us(std::span<const double> extra_dispatches, std::span<const double> ms) {
  return 1000 * stats::least_squares(extra_dispatches, ms).slope;
}

DispatchCost dispatch_cost(double dispatches, double unattributed_ms, double profiled_ms, double lower_us) {
  if (!(profiled_ms > 0 && unattributed_ms >= 0 && unattributed_ms <= profiled_ms))
    fail(ErrorCode::BadInput, "dispatch cost: unattributed {} of {} ms; 0 ≤ unattributed ≤ total expected",
         unattributed_ms, profiled_ms);
  if (!(lower_us >= 0)) fail(ErrorCode::BadInput, "dispatch cost: {} µs from injection; must be ≥ 0", lower_us);
  DispatchCost c{.lower_us = lower_us, .upper_us = unit_cost_us(unattributed_ms, dispatches)};
  c.explained_ms = dispatches * lower_us / 1000;
  c.remainder_ms = unattributed_ms - c.explained_ms;
  c.explained_share = c.explained_ms / profiled_ms;
  auto ceiling = [&](double us) {
    double p = dispatches * us / 1000 / profiled_ms;
    return p < 1 ? 1 / (1 - p) : kInfinite;
  };
  c.ceiling_lower = ceiling(c.lower_us);
  c.ceiling_upper = ceiling(c.upper_us);
  c.consistent = c.lower_us <= c.upper_us * (1 + 1e-9);
  c.words = fmt::format(
      "one dispatch costs {:.3g} to {:.3g} µs; the {:.0f} dispatches explain {:.1f} ms ({:.1f} %), "
      "{:.1f} ms stay unexplained; without them at most {:.3f} times faster ({:.2f} at the upper value)",
      c.lower_us, c.upper_us, dispatches, c.explained_ms, 100 * c.explained_share, c.remainder_ms, c.ceiling_lower,
      c.ceiling_upper);
  if (!c.consistent)
    c.words += "; the injected value exceeds the upper one: part of a dispatch's cost lies inside the timed segments";
  return c;
}

}  // namespace tally::lab::def
