// Vectors of M1–M5 (ceilings, unattributed time, dispatches) and M22 (composing).
#include <cmath>

#include "base/error.h"
#include "lab/def_amdahl.h"
#include "lab/def_dispatch.h"
#include "lab/def_percent.h"
#include "lab/vectors.h"

namespace tally::lab {

namespace {

double share_sum(const VectorArgs& a) { return def::known_share(a.list({"p", "shares", "share"})); }

double speed_up(const VectorArgs& a) { return a.number_or({"s", "speed_up", "speedup", "local"}, def::kInfinite); }

void add_amdahl(VectorTable& t) {
  t["amdahl"] = t["ceiling"] = t["segment_ceiling"] = [](const VectorArgs& a) {
    return Json(def::amdahl(a.number({"p", "share"}), speed_up(a)));
  };
  t["all_free_ceiling"] =
      t["all_known_free"] = [](const VectorArgs& a) { return Json(def::amdahl(share_sum(a), def::kInfinite)); };
  auto ceiling_rate = [](const VectorArgs& a) {
    double rate = a.number({"rate", "r", "tok_s", "current"});
    if (a.has({"ceiling", "factor", "s_inf"})) return Json(rate * a.number({"ceiling", "factor", "s_inf"}));
    return Json(rate * def::amdahl(share_sum(a), speed_up(a)));
  };
  for (const char* name : {"ceiling_rate", "ceiling_tok_s", "rate_ceiling", "scaled_rate", "best_rate", "amdahl_rate",
                           "amdahl_rate_tok_s"})
    t[name] = ceiling_rate;
  auto known_free = [](const VectorArgs& a) {
    def::KnownFree k =
        def::known_free(a.list({"p", "shares"}), a.number({"rate", "r", "current"}), a.number({"target", "g"}));
    return Json{{"share", k.share},         {"ceiling", k.ceiling},
                {"best_rate", k.best_rate}, {"ceiling_rate", k.best_rate},
                {"missing", k.missing},     {"missing_factor", k.missing},
                {"reachable", k.reachable}, {"verdict", k.reachable ? "reachable" : "unreachable by kernels"}};
  };
  for (const char* name : {"known_free", "go_no_go", "all_known_free_verdict"}) t[name] = known_free;
  t["missing_factor"] = [known_free](const VectorArgs& a) { return known_free(a)["missing"]; };
}

def::Unattributed unattributed(const VectorArgs& a) {
  std::optional<double> wall;
  if (a.has({"wall", "wall_ms", "w"})) wall = a.number({"wall", "wall_ms", "w"});
  return def::unattributed(a.number({"total", "profiled", "profile", "total_ms"}), a.list({"known", "segments", "t"}),
                           wall);
}

void add_unattributed(VectorTable& t) {
  t["known_time_ms"] = [](const VectorArgs& a) { return Json(a.number({"total", "total_ms"}) * share_sum(a)); };
  t["unattributed_ms"] = [](const VectorArgs& a) { return Json(unattributed(a).ms); };
  t["unattributed_share"] = [](const VectorArgs& a) { return Json(unattributed(a).share); };
  t["overhead_factor"] = t["profile_overhead"] = [](const VectorArgs& a) {
    double wall = a.number({"wall", "wall_ms", "w"});
    return Json(*def::unattributed(a.number({"total", "profiled", "profile", "total_ms"}), {}, wall).overhead);
  };
  t["unattributed"] = [](const VectorArgs& a) {
    def::Unattributed u = unattributed(a);
    Json j{{"ms", u.ms}, {"share", u.share}, {"known", u.known}, {"warned", u.shares_warned}};
    j["overhead"] = u.overhead ? Json(*u.overhead) : Json(nullptr);
    return j;
  };
}

void add_dispatch(VectorTable& t) {
  t["dispatches"] = [](const VectorArgs& a) {
    return Json(a.number({"layers"}) * a.number({"tokens"}) * a.number({"per", "per_layer"}));
  };
  t["dispatch_slope"] = [](const VectorArgs& a) {
    def::DispatchSlope s =
        def::dispatch_slope(a.list({"n", "x", "tokens"}), a.list({"d", "y", "dispatches"}), a.whole_or({"layers"}, 0));
    return Json{
        {"slope", s.per_token},
        {"intercept", s.line.intercept},
        {"max_abs_residual", s.line.max_abs_residual},
        {"per_layer", s.per_layer_token},
        {"share_at_longest", s.share_at_longest},
        {"verdict", s.verdict == def::SlopeVerdict::InsideTheKernel ? "inside the kernel" : "host loop over tokens"}};
  };
  t["per_layer"] = t["slope_per_layer"] = t["dispatches_per_layer"] =
      t["per_layer_and_token"] = [](const VectorArgs& a) {
        double layers = a.number({"layers"});
        if (!(layers > 0)) fail(ErrorCode::BadInput, "layers {}: must be > 0", layers);
        return Json(a.number({"slope", "b", "per_token"}) / layers);
      };
  t["unit_cost_us"] = [](const VectorArgs& a) {
    return Json(def::unit_cost_us(a.number({"ms", "unattributed_ms"}), a.number({"n", "dispatches"})));
  };
  t["dispatch_time_ms"] = t["explained_ms"] = [](const VectorArgs& a) {
    return Json(a.number({"n", "dispatches"}) * a.number({"us", "unit_us"}) / 1000);
  };
  t["injection_us"] = [](const VectorArgs& a) {
    if (a.has({"x", "extra"})) return Json(def::injection_us(a.list({"x", "extra"}), a.list({"t", "y", "ms"})));
    const double n[] = {a.number({"n0"}), a.number({"n1"})}, ms[] = {a.number({"t0"}), a.number({"t1"})};
    return Json(def::injection_us(n, ms));
  };
}

void add_dispatch_cost(VectorTable& t) {
  auto cost = [](const VectorArgs& a) {
    def::DispatchCost c =
        def::dispatch_cost(a.number({"n", "dispatches", "d"}), a.number({"unattributed", "unattributed_ms", "u"}),
                           a.number({"total", "total_ms", "p"}), a.number({"us", "lower_us", "u2"}));
    return Json{{"lower_us", c.lower_us},           {"upper_us", c.upper_us},
                {"explained_ms", c.explained_ms},   {"explained_share", c.explained_share},
                {"remainder_ms", c.remainder_ms},   {"ceiling_lower", c.ceiling_lower},
                {"ceiling_upper", c.ceiling_upper}, {"consistent", c.consistent}};
  };
  t["dispatch_cost"] = t["dispatch_bracket"] = cost;
  auto share = [](const VectorArgs& a) {
    double total = a.number({"total", "total_ms", "p"});
    if (!(total > 0)) fail(ErrorCode::BadInput, "total {} ms: must be > 0", total);
    return a.number({"n", "dispatches"}) * a.number({"us", "unit_us"}) / 1000 / total;
  };
  for (const char* name : {"explained_share", "dispatch_share"})
    t[name] = [share](const VectorArgs& a) { return Json(share(a)); };
  t["dispatch_ceiling"] = [share](const VectorArgs& a) { return Json(def::amdahl(share(a), def::kInfinite)); };
  t["remainder_ms"] = t["unexplained_ms"] = [](const VectorArgs& a) {
    return Json(a.number({"unattributed", "unattributed_ms", "u"}) -
                a.number({"n", "dispatches"}) * a.number({"us", "unit_us"}) / 1000);
  };
}

void add_composing(VectorTable& t) {
  t["implied_share"] = [](const VectorArgs& a) {
    return Json(def::implied_share(a.number({"gain", "g", "chain"}), a.number({"s", "local"})));
  };
  t["stale_share"] = [](const VectorArgs& a) {
    def::StaleShare s = def::stale_share(a.number({"gain", "g", "chain"}), a.number({"s", "local"}),
                                         a.number({"recorded", "p", "share"}));
    return Json{{"implied", s.implied}, {"ceiling", s.ceiling}, {"expected", s.expected}, {"stale", s.stale}};
  };
  t["chain"] = t["compose"] = [](const VectorArgs& a) {
    std::vector<double> before = a.list({"before"}), after = a.list({"after"});
    if (before.size() != after.size()) fail(ErrorCode::BadInput, "chain: \"before\" and \"after\" differ in length");
    std::vector<def::Step> steps;
    for (size_t i = 0; i < before.size(); ++i) steps.push_back({before[i], after[i]});
    def::Chain c = def::chain(steps);
    return Json{{"composes", c.composes}, {"product", c.product}, {"whole", c.whole}, {"broken_at", c.broken_at}};
  };
}

}  // namespace

void add_ceiling_vectors(VectorTable& t) {
  add_amdahl(t);
  add_unattributed(t);
  add_dispatch(t);
  add_dispatch_cost(t);
  add_composing(t);
}

}  // namespace tally::lab
