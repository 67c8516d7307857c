#include "lab/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "lab/stats_distributions.h"

namespace tally::lab::stats {

namespace {

std::vector<double> sorted(std::span<const double> x) {
  if (x.empty()) fail(ErrorCode::BadInput, "no samples: at least one is needed");
  for (size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i])) fail(ErrorCode::BadInput, "sample {} is {}: samples must be finite", i, x[i]);
  std::vector<double> s(x.begin(), x.end());
  std::sort(s.begin(), s.end());
  return s;
}

double at_quantile(const std::vector<double>& s, double q) {
  double h = q * static_cast<double>(s.size() - 1);
  size_t i = static_cast<size_t>(h);
  if (i + 1 >= s.size()) return s.back();
  return s[i] + (h - static_cast<double>(i)) * (s[i + 1] - s[i]);
}

}  // namespace

double mean(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

Summary summarize(std::span<const double> x) {
  std::vector<double> s = sorted(x);
  Summary r{.n = static_cast<int>(s.size()), .min = s.front(), .median = at_quantile(s, 0.5), .max = s.back()};
  r.mean = mean(s);
  double squares = 0;
  for (double v : s) squares += (v - r.mean) * (v - r.mean);
  r.sd = r.n > 1 ? std::sqrt(squares / (r.n - 1)) : 0;
  r.cv = r.mean != 0 ? r.sd / std::fabs(r.mean) : 0;
  return r;
}

double quantile(std::span<const double> x, double q) {
  if (!(q >= 0 && q <= 1)) fail(ErrorCode::BadInput, "quantile {}: must lie in 0…1", q);
  return at_quantile(sorted(x), q);
}

double geometric_mean(std::span<const double> x) {
  sorted(x);  // refuses none and the infinite
  double sum = 0;
  for (double v : x) {
    if (!(v > 0)) fail(ErrorCode::BadInput, "geometric mean: found {}; all values must be > 0", v);
    sum += std::log(v);
  }
  return std::exp(sum / static_cast<double>(x.size()));
}

std::vector<Outlier> tukey(std::span<const double> x) {
  std::vector<double> s = sorted(x);
  double q1 = at_quantile(s, 0.25), q3 = at_quantile(s, 0.75), iqr = q3 - q1;
  std::vector<Outlier> classes;
  for (double v : x) {
    double beyond = std::max(q1 - v, v - q3);
    classes.push_back(beyond > 3 * iqr ? Outlier::Severe : beyond > 1.5 * iqr ? Outlier::Mild : Outlier::None);
  }
  return classes;
}

std::vector<double> modified_z(std::span<const double> x) {
  double median = at_quantile(sorted(x), 0.5);
  std::vector<double> deviations;
  for (double v : x) deviations.push_back(std::fabs(v - median));
  double mad = at_quantile(sorted(deviations), 0.5);
  std::vector<double> z;
  for (double v : x) z.push_back(mad > 0 ? 0.6745 * (v - median) / mad : 0);
  return z;
}

std::string outlier_words(std::span<const double> x) {
  if (x.empty()) return "";
  std::vector<Outlier> classes = tukey(x);
  auto mild = std::count(classes.begin(), classes.end(), Outlier::Mild);
  auto severe = std::count(classes.begin(), classes.end(), Outlier::Severe);
  if (mild + severe == 0) return "";
  return fmt::format("{} mild and {} severe outliers (Tukey) of {} samples, kept", mild, severe, x.size());
}

Line least_squares(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size())
    fail(ErrorCode::BadInput, "least squares: {} values of x and {} of y; both must have the same number", x.size(),
         y.size());
  if (x.size() < 2) fail(ErrorCode::BadInput, "least squares: {} points; at least 2 are needed", x.size());
  sorted(x), sorted(y);  // refuse the infinite
  double mx = mean(x), my = mean(y), sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sxx += (x[i] - mx) * (x[i] - mx);
    sxy += (x[i] - mx) * (y[i] - my);
  }
  if (!(sxx > 0)) fail(ErrorCode::BadInput, "least squares: all {} values of x are {}; two must differ", x.size(), mx);
  Line line{.slope = sxy / sxx, .n = static_cast<int>(x.size())};
  line.intercept = my - line.slope * mx;
  double squares = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double r = y[i] - line.at(x[i]);
    line.residuals.push_back(r);
    line.max_abs_residual = std::max(line.max_abs_residual, std::fabs(r));
    squares += r * r;
  }
  if (line.n > 2) {
    line.slope_se = std::sqrt(squares / (line.n - 2) / sxx);
    double t = line.slope_se > 0   ? line.slope / line.slope_se
               : line.slope == 0.0 ? 0
                                   : std::numeric_limits<double>::infinity();
    line.slope_p = t_two_sided(t, line.n - 2);
  }
  return line;
}

Line trend(std::span<const double> y) {
  std::vector<double> x(y.size());
  std::iota(x.begin(), x.end(), 0.0);
  return least_squares(x, y);
}

Welch welch(double mean1, double sd1, int n1, double mean2, double sd2, int n2) {
  if (!(std::isfinite(mean1) && std::isfinite(mean2) && sd1 >= 0 && sd2 >= 0 && n1 >= 1 && n2 >= 1))
    fail(ErrorCode::BadInput, "Welch's test: {} ± {} (n {}) and {} ± {} (n {}); means finite, sd ≥ 0, n ≥ 1 expected",
         mean1, sd1, n1, mean2, sd2, n2);
  if (n1 < 2 && n2 < 2)
    fail(ErrorCode::BadInput, "Welch's test: n = {} and {}; one side needs n ≥ 2, or the noise is not known", n1, n2);
  double v1 = n1 > 1 ? sd1 * sd1 / n1 : 0, v2 = n2 > 1 ? sd2 * sd2 / n2 : 0, v = v1 + v2;
  Welch w{.difference = mean1 - mean2};
  w.dof = v > 0 ? v * v / ((n1 > 1 ? v1 * v1 / (n1 - 1) : 0) + (n2 > 1 ? v2 * v2 / (n2 - 1) : 0)) : n1 + n2 - 2;
  if (v > 0) {
    w.t = w.difference / std::sqrt(v);
    w.p = t_two_sided(w.t, w.dof);
  } else if (w.difference != 0) {
    w.t = std::copysign(std::numeric_limits<double>::infinity(), w.difference);
    w.p = 0;
  }
  double half = v > 0 ? t_quantile(0.975, w.dof) * std::sqrt(v) : 0;
  w.low = w.difference - half;
  w.high = w.difference + half;
  return w;
}

Steady steady(std::span<const double> x, double tolerance) {
  Steady r;
  if (x.size() < 6) {
    r.words = fmt::format("steadiness not known: {} samples, 6 are needed", x.size());
    return r;
  }
  size_t third = x.size() / 3;
  Summary all = summarize(x), first = summarize(x.first(third)), last = summarize(x.last(third));
  Welch w = welch(last.mean, last.sd, last.n, first.mean, first.sd, first.n);
  r.known = true;
  r.change = all.mean != 0 ? w.difference / std::fabs(all.mean) : 0;
  r.p = w.p;
  r.steady = !(std::fabs(r.change) > tolerance && r.p < 0.01);
  r.words = r.steady ? fmt::format("steady over {} samples (last third {:+.1f} % against the first)", x.size(),
                                   100 * r.change)
                     : fmt::format("not steady: the last third of {} samples is {:+.1f} % against the first (p {:.2g})",
                                   x.size(), 100 * r.change, r.p);
  return r;
}

}  // namespace tally::lab::stats
