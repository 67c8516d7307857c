// Samples: means, spreads, outliers, steadiness. Nothing here drops a sample; what stands out is named.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tally::lab::stats {

struct Summary {
  int n = 0;
  double mean = 0, sd = 0, cv = 0;  // sd with n − 1 (0 for n = 1); cv = sd / |mean|, 0 when the mean is 0
  double min = 0, median = 0, max = 0;
};

// Error when empty or when a sample is not finite.
Summary summarize(std::span<const double> x);
double mean(std::span<const double> x);  // of at least one sample, unchecked

// Quantile q in [0, 1] with linear interpolation between order statistics (type 7 of Hyndman and Fan).
double quantile(std::span<const double> x, double q);
// Error unless all are > 0.
double geometric_mean(std::span<const double> x);

enum class Outlier { None, Mild, Severe };  // Tukey: beyond 1.5 and beyond 3 interquartile ranges
std::vector<Outlier> tukey(std::span<const double> x);
// 0.6745 (x − median) / median absolute deviation (Iglewicz and Hoaglin); above 3.5 in size stands out. Zeros when the
// deviation is 0.
std::vector<double> modified_z(std::span<const double> x);
// "2 mild, 1 severe of 20 samples, kept"; empty when there are none.
std::string outlier_words(std::span<const double> x);

// A straight line y = intercept + slope·x by least squares. Error when fewer than 2 points, or all x equal.
struct Line {
  double slope = 0, intercept = 0, max_abs_residual = 0;
  double slope_se = 0, slope_p = 1;  // standard error, and two-sided p of slope = 0; 0 and 1 with only 2 points
  int n = 0;
  std::vector<double> residuals;  // [n] measured − line
  double at(double x) const { return intercept + slope * x; }
};
Line least_squares(std::span<const double> x, std::span<const double> y);
// The line of y against 0, 1, 2 …: whether rounds drift.
Line trend(std::span<const double> y);

struct Welch {
  double difference = 0, t = 0, dof = 0, p = 1;  // difference = mean 1 − mean 2; p two-sided
  double low = 0, high = 0;                      // 95 % interval of the difference
};
// From means, standard deviations and counts (B. L. Welch, 1947). An sd of 0 with n = 1 means "not known": its share of
// the variance is left out. Error when neither side has n ≥ 2. Both sds 0: t is ±infinity (or 0) and p 0 (or 1).
Welch welch(double mean1, double sd1, int n1, double mean2, double sd2, int n2);

// First third of the rounds against the last third. Not steady: the means differ by more than `tolerance` of the
// overall mean, and not by chance (Welch, p < 0.01; with fewer than 6 samples nothing can be said: steady = false,
// known = false).
struct Steady {
  bool known = false, steady = false;
  double change = 0, p = 1;  // (last − first) / mean of all
  std::string words;         // "steady over 20 rounds", "not steady: the last third is 8.1 % above the first (p 0.001)"
};
Steady steady(std::span<const double> x, double tolerance = 0.02);

}  // namespace tally::lab::stats
