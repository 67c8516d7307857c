#include "lab/stats_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "lab/stats.h"
#include "lab/stats_distributions.h"

namespace tally::lab::stats {

namespace {

std::vector<double> logs_of(std::span<const double> ratios) {
  if (ratios.size() < 2 || ratios.size() > 100'000)
    fail(ErrorCode::BadInput, "interval of {} round ratios: 2…100000 rounds are needed", ratios.size());
  std::vector<double> logs;
  for (double r : ratios) {
    if (!(r > 0 && std::isfinite(r))) fail(ErrorCode::BadInput, "round ratio {}: must be finite and > 0", r);
    logs.push_back(std::log(r));
  }
  return logs;
}

// Acceleration from the jackknife: skewness of the leave-one-out means, which for a mean is that of the values.
double acceleration(const std::vector<double>& x, double mean) {
  double cubes = 0, squares = 0;
  for (double v : x) {
    double d = v - mean;
    cubes += d * d * d;
    squares += d * d;
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

std::vector<double> resampled_means(const std::vector<double>& x, uint64_t seed, int resamples) {
  std::vector<double> means(static_cast<size_t>(resamples));
  uint64_t n = x.size(), state = mix64(seed);
  for (double& m : means) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      // One step of splitmix64; the top 32 bits times n picks without bias that matters (n ≤ 1e5).
      state += 0x9E3779B97F4A7C15ull;
      sum += x[((mix64(state) >> 32) * n) >> 32];
    }
    m = sum / static_cast<double>(n);
  }
  std::sort(means.begin(), means.end());
  return means;
}

double pick(const std::vector<double>& s, double q) {
  double h = std::clamp(q, 0.0, 1.0) * static_cast<double>(s.size() - 1);
  auto i = static_cast<size_t>(h);
  if (i + 1 >= s.size()) return s.back();
  return s[i] + (h - static_cast<double>(i)) * (s[i + 1] - s[i]);
}

}  // namespace

RatioInterval bootstrap_ratio(std::span<const double> ratios, double level, uint64_t seed, int resamples) {
  if (!(level > 0 && level < 1)) fail(ErrorCode::BadInput, "confidence level {}: must lie between 0 and 1", level);
  if (resamples < 100 || resamples > 1'000'000)
    fail(ErrorCode::BadInput, "{} resamples: 100…1000000 are possible", resamples);
  std::vector<double> logs = logs_of(ratios);
  double mean = stats::mean(logs);
  RatioInterval r{.geometric_mean = std::exp(mean), .resamples = resamples, .n = static_cast<int>(logs.size())};
  auto [lo, hi] = std::minmax_element(logs.begin(), logs.end());
  if (*lo == *hi) {  // no noise at all: the interval is the value
    r.kind = BootstrapKind::Percentile;
    r.interval = {r.geometric_mean, r.geometric_mean};
    return r;
  }
  if (r.n < kFewest) {
    r.kind = BootstrapKind::Student;
    double squares = 0;
    for (double x : logs) squares += (x - mean) * (x - mean);
    double half = t_quantile(0.5 + level / 2, r.n - 1) * std::sqrt(squares / (r.n - 1) / r.n);
    r.interval = {std::exp(mean - half), std::exp(mean + half)};
    return r;
  }
  std::vector<double> means = resampled_means(logs, seed, resamples);
  double n = r.n;
  double z = std::sqrt(n / (n - 1)) * t_quantile(0.5 + level / 2, n - 1);
  double below = static_cast<double>(std::lower_bound(means.begin(), means.end(), mean) - means.begin()) / resamples;
  double q_low = normal_cdf(-z), q_high = normal_cdf(z);
  double a = acceleration(logs, mean);
  if (below > 0 && below < 1) {
    double z0 = normal_quantile(below);
    auto corrected = [&](double zq) { return normal_cdf(z0 + (z0 + zq) / (1 - a * (z0 + zq))); };
    if (1 - a * (z0 + z) > 0.1 && 1 - a * (z0 - z) > 0.1) {
      q_low = corrected(-z);
      q_high = corrected(z);
    } else {
      r.kind = BootstrapKind::Percentile;
    }
  } else {
    r.kind = BootstrapKind::Percentile;
  }
  r.interval = {std::exp(pick(means, q_low)), std::exp(pick(means, q_high))};
  return r;
}

}  // namespace tally::lab::stats
