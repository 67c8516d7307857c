#include "lab/fit_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "lab/stats.h"
#include "lab/stats_distributions.h"

namespace tally::lab {

namespace {

struct Costs {
  double fixed = 0, per_token = 0;
};

// Weighted least squares of y = fixed + per_token·x.
Costs weighted_line(std::span<const double> x, const std::vector<double>& y, const std::vector<double>& weight) {
  double sw = 0, sx = 0, sy = 0;
  for (size_t i = 0; i < x.size(); ++i) sw += weight[i], sx += weight[i] * x[i], sy += weight[i] * y[i];
  double mx = sx / sw, my = sy / sw, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sxx += weight[i] * (x[i] - mx) * (x[i] - mx);
    sxy += weight[i] * (x[i] - mx) * (y[i] - my);
  }
  double slope = sxy / sxx;
  return {my - slope * mx, slope};
}

stats::Interval interval(const std::vector<double>& x, double level) {
  stats::Summary s = stats::summarize(x);
  double half = stats::t_quantile(1 - (1 - level) / 2, s.n - 1) * s.sd / std::sqrt(double(s.n));
  return {s.mean - half, s.mean + half};
}

void check(std::span<const double> n, const std::vector<std::vector<double>>& old_ms,
           const std::vector<std::vector<double>>& new_ms) {
  size_t rounds = old_ms.empty() ? 0 : old_ms[0].size();
  if (n.size() < 2 || old_ms.size() != n.size() || new_ms.size() != n.size() || rounds < 3)
    fail(ErrorCode::BadInput, "what changed needs two lengths and three rounds or more; found {} and {}", n.size(),
         rounds);
  if (*std::max_element(n.begin(), n.end()) <= *std::min_element(n.begin(), n.end()))
    fail(ErrorCode::BadInput, "what changed needs different lengths; all are {}", n[0]);
  for (const auto* curve : {&old_ms, &new_ms})
    for (const auto& times : *curve) {
      if (times.size() != rounds) fail(ErrorCode::BadInput, "a length has {} rounds, another {}", times.size(), rounds);
      for (double t : times)
        if (!(t > 0) || !std::isfinite(t)) fail(ErrorCode::BadInput, "a time is {} ms", t);
    }
}

}  // namespace

CostChange cost_change(std::span<const double> n, const std::vector<std::vector<double>>& old_ms,
                       const std::vector<std::vector<double>>& new_ms) {
  check(n, old_ms, new_ms);
  std::vector<double> level(n.size()), weight(n.size()), fixed, per_token;
  for (size_t i = 0; i < n.size(); ++i) {
    level[i] = stats::summarize(old_ms[i]).median;
    weight[i] = 1 / (level[i] * level[i]);
  }
  for (size_t r = 0; r < old_ms[0].size(); ++r) {
    std::vector<double> difference(n.size());
    for (size_t i = 0; i < n.size(); ++i) difference[i] = new_ms[i][r] - old_ms[i][r];
    Costs c = weighted_line(n, difference, weight);
    fixed.push_back(c.fixed), per_token.push_back(c.per_token);
  }
  CostChange out;
  out.fixed_ms = stats::summarize(fixed).mean, out.per_token_ms = stats::summarize(per_token).mean;
  out.fixed_ci = interval(fixed, 0.99), out.per_token_ci = interval(per_token, 0.99);
  size_t shortest = size_t(std::min_element(n.begin(), n.end()) - n.begin());
  size_t longest = size_t(std::max_element(n.begin(), n.end()) - n.begin());
  out.fixed_share = out.fixed_ms / level[shortest],
  out.per_token_share = out.per_token_ms * n[longest] / level[longest];
  out.fixed_changed = out.fixed_ci.excludes(0) && std::abs(out.fixed_share) > 0.02;
  out.per_token_changed = out.per_token_ci.excludes(0) && std::abs(out.per_token_share) > 0.02;
  out.named = out.fixed_changed       ? (out.per_token_changed ? "both" : "fixed")
              : out.per_token_changed ? "per_token"
                                      : "none";
  out.words = fmt::format("{} changed: fixed cost {:+.3f} ms [{:.3f}, {:.3f}], per token {:+.5f} ms [{:.5f}, {:.5f}]",
                          out.named == "both"        ? "both costs"
                          : out.named == "fixed"     ? "the fixed cost"
                          : out.named == "per_token" ? "the cost per token"
                                                     : "neither cost",
                          out.fixed_ms, out.fixed_ci.low, out.fixed_ci.high, out.per_token_ms, out.per_token_ci.low,
                          out.per_token_ci.high);
  return out;
}

}  // namespace tally::lab
