// Distributions against printed tables, samples by hand-worked examples.
#include "lab/stats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "lab/stats_bootstrap.h"
#include "lab/stats_distributions.h"

namespace tally::lab::stats {
namespace {

TEST(Distributions, incomplete_beta_by_closed_forms) {
  EXPECT_NEAR(incomplete_beta(2, 3, 0.4), 0.5248, 1e-12);  // 6x² − 8x³ + 3x⁴
  EXPECT_NEAR(incomplete_beta(1, 1, 0.3), 0.3, 1e-14);
  EXPECT_NEAR(incomplete_beta(0.5, 0.5, 0.25), 1.0 / 3, 1e-12);  // 2/π asin √x
  EXPECT_NEAR(incomplete_beta(500, 500, 0.5), 0.5, 1e-10);
  EXPECT_THROW(incomplete_beta(0, 1, 0.5), Error);
  EXPECT_THROW(incomplete_beta(1, 1, 1.5), Error);
}

TEST(Distributions, students_t) {
  EXPECT_NEAR(t_quantile(0.975, 1), 12.706204736, 1e-7);
  EXPECT_NEAR(t_quantile(0.975, 4), 2.776445105, 1e-8);
  EXPECT_NEAR(t_quantile(0.025, 4), -2.776445105, 1e-8);
  EXPECT_NEAR(t_quantile(0.995, 30), 2.749995654, 1e-8);
  EXPECT_NEAR(t_cdf(1, 1), 0.75, 1e-12);
  EXPECT_NEAR(t_cdf(-2, 2), 0.5 - 1 / std::sqrt(6.0), 1e-12);  // closed form ½ + t / (2√(2 + t²))
  EXPECT_NEAR(t_two_sided(2.3213, 4), 0.0810, 1e-4);           // 61.3 ± 10.5 (n 5) against 72.2
}

TEST(Distributions, normal) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963985, 1e-8);
  EXPECT_NEAR(normal_cdf(-1), 0.158655254, 1e-9);
}

TEST(Distributions, expected_maximum) {
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 1 / std::sqrt(M_PI), 1e-10);
  EXPECT_NEAR(expected_maximum(3), 1.5 / std::sqrt(M_PI), 1e-10);
  EXPECT_NEAR(expected_maximum(13), 1.66799, 1e-5);
  EXPECT_THROW(expected_maximum(0), Error);
}

TEST(Distributions, sign_test) {
  EXPECT_DOUBLE_EQ(sign_test(9, 9), 0.00390625);
  EXPECT_NEAR(sign_test(0, 9), 0.00390625, 1e-12);
  EXPECT_NEAR(sign_test(8, 10), 2 * 56.0 / 1024, 1e-12);
  EXPECT_EQ(sign_test(5, 10), 1);
  EXPECT_EQ(sign_test(0, 0), 1);
  EXPECT_THROW(sign_test(3, 2), Error);
}

TEST(Samples, summary_and_quantiles) {
  const double x[] = {87.0, 89.0, 97.1};
  Summary s = summarize(x);
  EXPECT_NEAR(s.mean, 91.0333, 1e-4);
  EXPECT_NEAR(s.sd, 5.3482, 1e-4);
  EXPECT_NEAR(s.cv, 0.05875, 1e-5);
  EXPECT_EQ(s.median, 89);
  EXPECT_NEAR(quantile(x, 0.25), 88, 1e-12);
  EXPECT_THROW(summarize({}), Error);
  const double bad[] = {1.0, NAN};
  EXPECT_THROW(summarize(bad), Error);
}

TEST(Samples, outliers_are_named_not_dropped) {
  const double x[] = {10, 10.1, 10.2, 9.9, 9.8, 10.05, 9.95, 14, 10.6};
  std::vector<Outlier> c = tukey(x);
  EXPECT_EQ(c[7], Outlier::Severe);
  EXPECT_EQ(c[0], Outlier::None);
  EXPECT_GT(modified_z(x)[7], 3.5);
  EXPECT_NE(outlier_words(x).find("kept"), std::string::npos);
}

TEST(Samples, line_with_residuals) {
  const double x[] = {8, 16, 32}, y[] = {8280, 16520, 33000};
  Line l = least_squares(x, y);
  EXPECT_DOUBLE_EQ(l.slope, 1030);
  EXPECT_NEAR(l.intercept, 40, 1e-9);
  EXPECT_NEAR(l.max_abs_residual, 0, 1e-9);
  const double same[] = {3, 3, 3};
  EXPECT_THROW(least_squares(same, y), Error);
  const double noisy[] = {1, 3, 2, 4};
  Line t = trend(noisy);  // slope 0.8, residual squares 1.8
  EXPECT_NEAR(t.slope, 0.8, 1e-12);
  EXPECT_NEAR(t.slope_se, std::sqrt(1.8 / 2 / 5), 1e-12);
  EXPECT_NEAR(t.slope_p, 0.2, 1e-9);
}

TEST(Samples, welch) {
  Welch w = welch(72.2, 0, 1, 61.3, 10.5, 5);
  EXPECT_NEAR(w.t, 2.3213, 1e-4);
  EXPECT_NEAR(w.dof, 4, 1e-12);
  EXPECT_NEAR(w.p, 0.081, 5e-4);
  EXPECT_LT(w.low, 0);
  Welch both = welch(10, 2, 8, 12, 3, 12);  // t = −2/√(0.5 + 0.75)
  EXPECT_NEAR(both.t, -2 / std::sqrt(1.25), 1e-12);
  EXPECT_NEAR(both.dof, 1.5625 / (0.25 / 7 + 0.5625 / 11), 1e-9);
  EXPECT_THROW(welch(1, 0, 1, 2, 0, 1), Error);
}

TEST(Samples, steadiness) {
  std::vector<double> flat, warming;
  for (int i = 0; i < 20; ++i) {
    double wobble = i % 2 ? 0.2 : -0.2;
    flat.push_back(100 + wobble);
    warming.push_back(100 + wobble + (i < 7 ? 9 : 0));
  }
  EXPECT_TRUE(steady(flat).steady);
  EXPECT_FALSE(steady(warming).steady);
  EXPECT_NE(steady(warming).words.find("not steady"), std::string::npos);
  EXPECT_FALSE(steady(std::span(flat).first(5)).known);
}

TEST(Bootstrap, seeded_and_as_wide_as_student) {
  std::vector<double> r;
  for (int i = 0; i < 30; ++i) r.push_back(std::exp(0.05 + 0.02 * std::sin(i * 1.7)));
  RatioInterval a = bootstrap_ratio(r), b = bootstrap_ratio(r);
  EXPECT_EQ(a.interval.low, b.interval.low);
  EXPECT_EQ(a.interval.high, b.interval.high);
  EXPECT_NE(a.interval.low, bootstrap_ratio(r, 0.95, 7).interval.low);
  std::vector<double> logs;
  for (double x : r) logs.push_back(std::log(x));
  Summary s = summarize(logs);
  double half = t_quantile(0.975, 29) * s.sd / std::sqrt(30.0);  // nearly normal: agrees with Student's interval
  EXPECT_NEAR(std::log(a.interval.high) - s.mean, half, 0.1 * half);
  EXPECT_NEAR(s.mean - std::log(a.interval.low), half, 0.1 * half);
  EXPECT_NEAR(a.geometric_mean, std::exp(s.mean), 1e-12);
}

TEST(Bootstrap, few_rounds_give_students_interval) {
  const double r[] = {std::exp(0.01), std::exp(0.03)};
  RatioInterval i = bootstrap_ratio(r);
  EXPECT_EQ(i.kind, BootstrapKind::Student);
  EXPECT_NEAR(std::log(i.interval.high), 0.02 + 12.706204736 * 0.01, 1e-6);
}

TEST(Bootstrap, equal_ratios_and_refusals) {
  const double same[] = {1.1, 1.1, 1.1};
  RatioInterval r = bootstrap_ratio(same);
  EXPECT_EQ(r.interval.low, r.interval.high);
  EXPECT_EQ(r.kind, BootstrapKind::Percentile);
  const double bad[] = {1.0, -1.0};
  EXPECT_THROW(bootstrap_ratio(bad), Error);
  EXPECT_THROW(bootstrap_ratio(std::span(same).first(1)), Error);
}

}  // namespace
}  // namespace tally::lab::stats
