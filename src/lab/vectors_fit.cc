// Vectors of M6–M12: costs by length, slowdowns, bisect, ablation, ranks.
#include <cmath>

#include "base/error.h"
#include "lab/def_bisect.h"
#include "lab/def_fit.h"
#include "lab/vectors.h"

namespace tally::lab {

namespace {

Json json_of(const def::CostLine& l) {
  return {{"per_token_ms", l.per_token_ms}, {"fixed_ms", l.fixed_ms}, {"ceiling_tok_s", l.ceiling_tok_s}};
}

std::vector<def::Point> points(const std::vector<double>& n, const std::vector<double>& ms) {
  if (n.size() != ms.size())
    fail(ErrorCode::BadInput, "{} lengths and {} times; one each is expected", n.size(), ms.size());
  std::vector<def::Point> p;
  for (size_t i = 0; i < n.size(); ++i) p.push_back({n[i], ms[i]});
  return p;
}

def::CostLine line(const VectorArgs& a, VectorArgs::Names fixed, VectorArgs::Names per) {
  return {.per_token_ms = a.number(per), .fixed_ms = a.number(fixed)};
}

void add_costs(VectorTable& t) {
  t["two_point"] = [](const VectorArgs& a) {
    return json_of(def::two_point(a.number({"n1"}), a.number({"t1"}), a.number({"n2"}), a.number({"t2"})));
  };
  t["fit_cost"] = t["fit"] = [](const VectorArgs& a) {
    def::CostFit f = def::fit_cost(points(a.list({"n", "x"}), a.list({"t", "ms", "y"})));
    Json j = json_of(f.two_point);
    if (f.squares) j["least_squares"] = json_of(*f.squares);
    j["residuals"] = f.residuals;
    return j;
  };
  t["predict"] = [](const VectorArgs& a) {
    return Json(line(a, {"fixed", "fixed_ms", "f"}, {"per", "per_token_ms", "c"}).at(a.number({"n", "tokens"})));
  };
  auto error = [](const VectorArgs& a) {
    double measured = a.number({"measured", "ms"});
    if (!(measured > 0)) fail(ErrorCode::BadInput, "measured {} ms: must be > 0", measured);
    double predicted =
        a.has({"predicted"})
            ? a.number({"predicted"})
            : line(a, {"fixed", "fixed_ms", "f"}, {"per", "per_token_ms", "c"}).at(a.number({"n", "tokens"}));
    return Json(predicted / measured - 1);
  };
  t["held_out_error"] = t["prediction_error"] = error;
  t["segment_extra_ms_per_token"] = [](const VectorArgs& a) {
    std::vector<double> before = a.list({"old", "before"}), after = a.list({"new", "after"});
    if (before.size() != 2 || after.size() != 2)
      fail(ErrorCode::BadInput, "\"old\" and \"new\" need two times each, found {} and {}", before.size(),
           after.size());
    return Json(def::segment_extra_ms_per_token(a.number({"n1"}), a.number({"n2"}), before.data(), after.data()));
  };
  t["slowdown"] = t["slowdown_shape"] = [](const VectorArgs& a) {
    std::vector<double> n = a.list({"n", "x"});
    def::Slowdown s = def::slowdown(points(n, a.list({"old", "before"})), points(n, a.list({"new", "after"})));
    return Json{{"ratios", s.ratios},
                {"extra_ms", s.extra_ms},
                {"fixed_change_ms", s.fixed_change_ms},
                {"per_token_change_ms", s.per_token_change_ms},
                {"rising", s.rising},
                {"shape", name_of(s.shape)},
                {"verdict", name_of(s.shape)}};
  };
  auto cross = [](const VectorArgs& a) {
    std::optional<double> n = def::crossing(line(a, {"f1", "fixed1", "F1"}, {"c1", "per1", "per_token1"}),
                                            line(a, {"f2", "fixed2", "F2"}, {"c2", "per2", "per_token2"}));
    return n ? Json(*n) : Json(nullptr);
  };
  for (const char* name : {"crossing", "crossing_length", "crossing_tokens", "crossing_n", "cross"}) t[name] = cross;
}

void add_bisect(VectorTable& t) {
  t["bisect"] = [](const VectorArgs& a) {
    std::vector<double> x = a.list({"x", "mean", "rates"}), sd;
    if (a.has({"sd"})) sd = a.list({"sd"});
    std::vector<def::VersionRate> versions;
    for (size_t i = 0; i < x.size(); ++i)
      versions.push_back(
          {fmt::format("{}", i), x[i], sd.empty() ? std::nullopt : std::optional(sd[i % sd.size()]), "", ""});
    def::Bisect b = def::bisect(versions, "rate");
    Json d = Json::array(), sigma = Json::array(), flagged = Json::array();
    for (size_t i = 0; i < b.steps.size(); ++i) {
      d.push_back(b.steps[i].d);
      sigma.push_back(b.steps[i].sigma ? Json(*b.steps[i].sigma) : Json(nullptr));
      if (b.steps[i].flagged) flagged.push_back(i + 1);
    }
    return Json{{"d", d}, {"sigma", sigma}, {"flagged", flagged}, {"worst", b.worst + 1}};
  };
  auto step = [](const VectorArgs& a) {
    const def::VersionRate v[] = {{"old", a.number({"before", "old", "b"}), {}, "", ""},
                                  {"new", a.number({"after", "new", "a"}), {}, "", ""}};
    return Json(def::bisect(v, "rate").steps[0].d);
  };
  for (const char* name : {"log_step", "log_ratio", "ln_ratio", "bisect_step"}) t[name] = step;
  t["bisect_runs"] = t["binary_search_runs"] = [](const VectorArgs& a) {
    return Json(def::bisect_runs(static_cast<long>(a.whole({"k", "n", "steps"}))));
  };
  t["step_sigma"] = t["noise_sigma"] = [](const VectorArgs& a) {
    return Json(std::hypot(a.number({"cv1", "cv_a"}), a.number({"cv2", "cv_b"})));
  };
}

void add_ablation(VectorTable& t) {
  auto row = [](const VectorArgs& a) {
    double base = a.number({"base", "t", "total", "base_ms"});
    double without = a.has({"saving", "saved"}) ? base - a.number({"saving", "saved"}) : a.number({"without", "t_x"});
    const def::Ablation part[] = {{"x", without, a.number({"p", "share", "expected"})}};
    return def::ablate(base, a.number_or({"sd", "sigma"}, 0), part);
  };
  t["ablation"] = [row](const VectorArgs& a) {
    def::AblationSession s = row(a);
    return Json{
        {"saving_share", s.rows[0].saving_share}, {"effectiveness", s.rows[0].effectiveness}, {"live", s.valid}};
  };
  t["effectiveness"] =
      t["ablation_effectiveness"] = [row](const VectorArgs& a) { return Json(row(a).rows[0].effectiveness); };
  auto best = [](const VectorArgs& a) {
    def::BestOf b = def::best_of(a.number({"base", "before", "mean"}),
                                 a.number_or({"best", "after"}, a.number({"base", "before", "mean"})), a.whole({"k"}),
                                 a.number({"sd"}), a.whole_or({"n"}, 1));
    return Json{{"expected_sd", b.expected_sd},
                {"expected_best", b.expected_best},
                {"gain", b.gain},
                {"gain_left", b.gain_left},
                {"shown", b.shown}};
  };
  t["best_of"] = best;
  t["best_of_k"] = t["expected_best"] =
      t["best_of_k_expected"] = [best](const VectorArgs& a) { return best(a)["expected_best"]; };
}

void add_ranks(VectorTable& t) {
  auto separation = [](const VectorArgs& a) {
    double sd1 = a.number_or({"sd1", "s1"}, 0), sd2 = a.number_or({"sd2", "s2", "sd"}, 0);
    return Json(def::separation(a.number({"m1", "mean1", "a"}), sd1, a.number({"m2", "mean2", "b"}), sd2));
  };
  for (const char* name : {"separation", "separation_sd", "sd_apart"}) t[name] = separation;
  t["welch"] = t["welch_t"] = [](const VectorArgs& a) {
    int n = a.whole_or({"n"}, 1);
    double sd1 = a.number_or({"sd1", "s1"}, 0), sd2 = a.number_or({"sd2", "s2"}, 0);
    int n1 = a.has({"n1"}) ? a.whole({"n1"}) : sd1 > 0 ? n : 1;
    int n2 = a.has({"n2"}) ? a.whole({"n2"}) : sd2 > 0 ? n : 1;
    stats::Welch w = stats::welch(a.number({"m1", "mean1"}), sd1, n1, a.number({"m2", "mean2"}), sd2, n2);
    return Json{{"t", w.t}, {"dof", w.dof}, {"df", w.dof}, {"p", w.p}, {"low", w.low}, {"high", w.high}};
  };
}

}  // namespace

void add_fit_vectors(VectorTable& t) {
  add_costs(t);
  add_bisect(t);
  add_ablation(t);
  add_ranks(t);
}

}  // namespace tally::lab
