#include "lab/stats_distributions.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tally::lab::stats {

namespace {

// The continued fraction of I_x(a, b) by Lentz's method; converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int m = 1; m <= 10000; ++m) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (double term : {even, odd}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      value *= d * c;
    }
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return value;
}

// The point where the rising function f reaches p, by bisection between two ends that enclose it.
template <typename F>
double invert(F f, double p, double lo, double hi) {
  for (int i = 0; i < 200 && hi - lo > 1e-14 * std::max(1.0, std::fabs(lo)); ++i) {
    double mid = (lo + hi) / 2;
    (f(mid) < p ? lo : hi) = mid;
  }
  return (lo + hi) / 2;
}

void need_probability(double p) {
  if (!(p > 0 && p < 1)) fail(ErrorCode::BadInput, "probability {}: must lie strictly between 0 and 1", p);
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (!(a > 0 && b > 0)) fail(ErrorCode::BadInput, "incomplete beta function: a = {}, b = {}; both must be > 0", a, b);
  if (!(x >= 0 && x <= 1)) fail(ErrorCode::BadInput, "incomplete beta function: x = {}; must lie in 0…1", x);
  if (x == 0 || x == 1) return x;
  double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double t_two_sided(double t, double dof) {
  if (!(dof > 0)) fail(ErrorCode::BadInput, "Student's t: {} degrees of freedom; must be > 0", dof);
  if (std::isinf(t)) return 0;
  return incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
}

double t_cdf(double t, double dof) {
  double tail = t_two_sided(t, dof) / 2;
  return t < 0 ? tail : 1 - tail;
}

double t_quantile(double p, double dof) {
  need_probability(p);
  if (p == 0.5) return 0;
  double tail = std::min(p, 1 - p), hi = 2;  // the tail keeps its digits where 1 − tail would lose them
  while (t_two_sided(hi, dof) / 2 > tail && hi < 1e12) hi *= 2;
  double t = invert([&](double x) { return -t_two_sided(x, dof) / 2; }, -tail, 0, hi);
  return p < 0.5 ? -t : t;
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double normal_quantile(double p) {
  need_probability(p);
  return invert(normal_cdf, p, -40, 40);
}

double expected_maximum(int k) {
  if (k < 1 || k > 1'000'000) fail(ErrorCode::BadInput, "best of {}: the number of tries must lie in 1…1000000", k);
  if (k == 1) return 0;
  // ∫ x · k φ(x) Φ(x)^(k−1) dx by Simpson's rule; the ends hold less than 1e-16 of it.
  constexpr int kSteps = 4000;
  constexpr double kFrom = -9, kTo = 12;
  double h = (kTo - kFrom) / kSteps, sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    double x = kFrom + i * h;
    double f = x * k * std::exp(-x * x / 2) / std::sqrt(2 * M_PI) * std::pow(normal_cdf(x), k - 1);
    sum += f * (i == 0 || i == kSteps ? 1 : i % 2 ? 4 : 2);
  }
  return sum * h / 3;
}

double sign_test(int wins, int n) {
  if (n < 0 || n > 1'000'000 || wins < 0 || wins > n)
    fail(ErrorCode::BadInput, "sign test: {} wins of {}; wins must lie in 0…n, and n in 0…1000000", wins, n);
  if (n == 0) return 1;
  int extreme = std::min(wins, n - wins);
  double tail = 0;
  for (int i = 0; i <= extreme; ++i)
    tail += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) - n * std::log(2.0));
  return std::min(1.0, 2 * tail);
}

}  // namespace tally::lab::stats
