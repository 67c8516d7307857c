// Vectors of plain ratios and samples: the divisions that every definition shares, M12 and M24.
#include <cmath>

#include "base/error.h"
#include "lab/def_fit.h"
#include "lab/def_percent.h"
#include "lab/stats.h"
#include "lab/stats_bootstrap.h"
#include "lab/stats_distributions.h"
#include "lab/vectors.h"

namespace tally::lab {

namespace {

double divide(double a, double b) {
  if (b == 0) fail(ErrorCode::BadInput, "{} divided by 0", a);
  return a / b;
}

void add_ratios(VectorTable& t) {
  auto ratio = [](const VectorArgs& a) { return Json(divide(a.number({"a", "new"}), a.number({"b", "old"}))); };
  for (const char* name : {"ratio", "share", "quotient"}) t[name] = ratio;
  auto product = [](const VectorArgs& a) { return Json(a.number({"a"}) * a.number({"b"})); };
  for (const char* name : {"product", "mul", "scale"}) t[name] = product;
  t["diff"] = [](const VectorArgs& a) { return Json(a.number({"a"}) - a.number({"b"})); };
  t["sum"] = [](const VectorArgs& a) {
    double sum = 0;
    for (double x : a.list({"p", "x", "values"})) sum += x;
    return Json(sum);
  };
  t["rel_diff"] = [](const VectorArgs& a) {
    double x = a.number({"a"});
    return Json(std::fabs(divide(x - a.number({"b"}), x)));
  };
  auto of_old = [](const VectorArgs& a) {
    double old = a.number({"before", "old"});
    return Json(divide(a.number({"after", "new"}) - old, old));
  };
  for (const char* name : {"rel_gain", "rel_diff_base_old", "rel_change"}) t[name] = of_old;
  auto of_new = [](const VectorArgs& a) {
    double now = a.number({"after", "new"});
    return Json(divide(now - a.number({"before", "old"}), now));
  };
  for (const char* name : {"share_of_final", "rel_diff_base_new"}) t[name] = of_new;
  t["rel_drop"] = [](const VectorArgs& a) {
    double before = a.number({"before", "old"});
    return Json(divide(before - a.number({"after", "new"}), before));
  };
  t["percent"] = [](const VectorArgs& a) {
    def::Percent p = a.has({"ratio"}) ? def::percent(a.number({"ratio"}))
                                      : def::percent_of_rates(a.number({"before", "old"}), a.number({"after", "new"}));
    return Json{{"ratio", p.ratio}, {"faster", p.faster}, {"less_time", p.less_time}};
  };
  t["undercount"] = [](const VectorArgs& a) {
    def::Undercount u = def::undercount(a.number({"y", "share", "by"}));
    return Json{{"factor_of_true", u.factor_of_true}, {"factor_of_counted", u.factor_of_counted}};
  };
}

void add_times(VectorTable& t) {
  t["rate"] = [](const VectorArgs& a) { return Json(def::rate_tok_s(a.number({"tokens", "n"}), a.number({"ms"}))); };
  t["ttft_rate"] = t["lower_bound_tok_s"] = t["rate"];
  t["time_s"] = [](const VectorArgs& a) {
    return Json(divide(a.number({"tokens", "n"}), a.number({"rate", "tok_s"})));
  };
  t["time_ms"] = [](const VectorArgs& a) {
    return Json(1000 * divide(a.number({"tokens", "n"}), a.number({"rate", "tok_s"})));
  };
}

Json summary(const stats::Summary& s) {
  return {{"mean", s.mean}, {"sd", s.sd},         {"cv", s.cv},  {"n", s.n},
          {"min", s.min},   {"median", s.median}, {"max", s.max}};
}

void add_samples(VectorTable& t) {
  auto of = [](const VectorArgs& a) { return summary(stats::summarize(a.list({"x", "values", "samples"}))); };
  for (const char* name : {"mean_sd_cv", "summary"}) t[name] = of;
  t["mean"] = [of](const VectorArgs& a) { return of(a)["mean"]; };
  t["sd"] = [of](const VectorArgs& a) { return of(a)["sd"]; };
  t["median"] = [of](const VectorArgs& a) { return of(a)["median"]; };
  t["cv"] = [of](const VectorArgs& a) {
    if (a.has({"x", "values", "samples"})) return of(a)["cv"];
    return Json(divide(a.number({"sd"}), a.number({"mean"})));
  };
  t["geometric_mean"] = t["geomean"] = [](const VectorArgs& a) {
    return Json(stats::geometric_mean(a.list({"x", "ratios", "values"})));
  };
  t["spread"] = [of](const VectorArgs& a) {
    Json s = summary(stats::summarize(a.list({"x", "ratios", "values"})));
    return Json(divide(s["max"], s["min"]));
  };
  t["sign_test_two_sided"] = t["sign_test"] = [](const VectorArgs& a) {
    return Json(stats::sign_test(a.whole({"wins"}), a.whole({"n", "rounds"})));
  };
  t["expected_maximum"] = t["expected_max"] = t["expected_max_normal"] = [](const VectorArgs& a) {
    return Json(stats::expected_maximum(a.whole({"k", "n"})));
  };
  t["bootstrap"] = [](const VectorArgs& a) {
    stats::RatioInterval r = stats::bootstrap_ratio(a.list({"ratios", "x"}));
    return Json{{"geometric_mean", r.geometric_mean}, {"low", r.interval.low}, {"high", r.interval.high}, {"n", r.n}};
  };
  t["ols"] = t["least_squares"] = [](const VectorArgs& a) {
    stats::Line l = stats::least_squares(a.list({"x", "n"}), a.list({"y", "t"}));
    return Json{{"slope", l.slope},
                {"intercept", l.intercept},
                {"max_abs_residual", l.max_abs_residual},
                {"residuals", l.residuals},
                {"n", l.n}};
  };
}

}  // namespace

void add_basic_vectors(VectorTable& t) {
  add_ratios(t);
  add_times(t);
  add_samples(t);
}

}  // namespace tally::lab
