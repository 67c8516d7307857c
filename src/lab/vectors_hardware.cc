// Vectors of M13 (cold and sustained), M14 (reconciling), M15 (bandwidth, arithmetic), M20 (energy).
#include <cmath>

#include "base/error.h"
#include "lab/def_roofline.h"
#include "lab/def_thermal.h"
#include "lab/vectors.h"

namespace tally::lab {

namespace {

void add_thermal(VectorTable& t) {
  t["sustained"] = t["sustained_prediction"] = [](const VectorArgs& a) {
    double clock = a.has({"clock_ratio"}) ? a.number({"clock_ratio"})
                                          : a.number({"f_s", "steady_clock"}) / a.number({"f_c", "cold_clock"});
    return Json(def::sustained_prediction(a.number({"cold", "r_c"}), clock));
  };
  t["sustained_residual"] = [](const VectorArgs& a) {
    double predicted = a.has({"predicted"})
                           ? a.number({"predicted"})
                           : def::sustained_prediction(a.number({"cold", "r_c"}), a.number({"clock_ratio"}));
    if (!(predicted > 0)) fail(ErrorCode::BadInput, "predicted rate {}: must be > 0", predicted);
    return Json(a.number({"steady", "r_s", "sustained"}) / predicted - 1);
  };
  t["compare_sustained"] = [](const VectorArgs& a) {
    def::ColdAndSustained c = def::compare_sustained(a.number({"own_cold"}), a.number({"own_steady"}),
                                                     a.number({"other_cold"}), a.number({"other_steady"}));
    return Json{{"cold", c.cold},
                {"steady", c.steady},
                {"behind_of_other", c.behind_of_other},
                {"behind_of_own", c.behind_of_own},
                {"relative_ratio", c.relative_ratio}};
  };
  t["power_for_clock"] = t["linear_power_w"] = [](const VectorArgs& a) {
    double drop = a.number({"clock_drop", "drop"});
    if (!(drop > 0)) fail(ErrorCode::BadInput, "clock drop {}: must be > 0", drop);
    return Json(a.number({"watts", "w"}) / drop);
  };
  t["processor_power_w"] = t["gpu_power_w"] = [](const VectorArgs& a) {
    return Json(def::PowerSplit{a.number({"cap"}), a.number({"memory", "mem"}), a.number_or({"rest"}, 0)}.processor());
  };
}

void add_energy(VectorTable& t) {
  t["implied_watts"] = [](const VectorArgs& a) {
    return Json(def::implied_watts(a.number({"decode", "tok_s", "rate"}), a.number({"j_per_token"})));
  };
  t["joules_per_token"] = t["j_per_token"] = [](const VectorArgs& a) {
    return Json(def::joules_per_token(a.number({"watts", "w"}), a.number({"decode", "tok_s", "rate"})));
  };
  auto task = [](const VectorArgs& a) {
    double in = 0, out = 0;
    for (double x : a.list({"in", "tokens_in"})) in += x;
    for (double x : a.list({"out", "tokens_out"})) out += x;
    def::TaskEnergy e =
        def::task_energy(in, out, a.number({"prefill"}), a.number({"decode"}), a.number({"watts", "w"}));
    return Json{{"seconds", e.seconds},
                {"joules", e.joules},
                {"kj", e.joules / 1000},
                {"joules_per_token", e.joules_per_token}};
  };
  t["task_energy"] = task;
  t["task_joules"] = t["task_energy_j"] = [task](const VectorArgs& a) { return task(a)["joules"]; };
  t["task_kj"] = t["task_energy_kj"] = [task](const VectorArgs& a) { return task(a)["kj"]; };
  t["energy_joules"] = [](const VectorArgs& a) {
    std::vector<double> s = a.list({"s", "t"}), w = a.list({"watts", "w"});
    if (s.size() != w.size())
      fail(ErrorCode::BadInput, "{} times and {} powers; one each is expected", s.size(), w.size());
    std::vector<def::PowerSample> samples;
    for (size_t i = 0; i < s.size(); ++i) samples.push_back({s[i], w[i]});
    return Json(def::energy_joules(samples, a.number_or({"idle"}, 0)));
  };
}

void add_reconcile(VectorTable& t) {
  t["gap_ms"] = [](const VectorArgs& a) {
    return Json(def::gap_ms(a.number({"tokens", "n"}), a.number({"own"}), a.number({"other"})));
  };
  t["gap_closed_share"] = [](const VectorArgs& a) {
    return Json(def::gap_closed_share(a.number({"own"}), a.number({"other"}), a.number({"gain"})));
  };
  t["microbenchmark_factor"] = t["micro_factor"] = [](const VectorArgs& a) {
    return Json(def::microbenchmark_factor(a.number({"in_place", "in_place_ms"}),
                                           a.number({"alone", "standalone", "alone_ms"})));
  };
  t["coverage"] = [](const VectorArgs& a) {
    if (a.has({"calls"}))
      return Json(def::coverage_of_calls(a.number({"in_place", "total"}), a.number({"standalone", "alone", "call"}),
                                         a.number({"calls"}))
                      .kappa);
    double sum = 0, wall = a.number({"wall", "w", "wall_ms"});
    for (double x : a.list({"t", "known", "parts", "sum"})) sum += x;
    if (!(wall > 0)) fail(ErrorCode::BadInput, "wall time {}: must be > 0", wall);
    return Json(sum / wall);
  };
}

void add_roofline(VectorTable& t) {
  t["weight_bytes"] = [](const VectorArgs& a) {
    return Json(def::weight_bytes(a.number({"rows", "m"}), a.number({"cols", "k"}), a.number({"bits"})));
  };
  t["reread_time_ms"] = t["read_time_ms"] = [](const VectorArgs& a) {
    return Json(def::read_time_ms(a.number({"bytes"}), a.number_or({"times"}, 1), a.number({"gb_s"})));
  };
  t["gflop"] = [](const VectorArgs& a) { return Json(def::gflop(a.number({"m"}), a.number({"n"}), a.number({"k"}))); };
  t["tflop_s"] = t["tflops"] = [](const VectorArgs& a) {
    double work =
        a.has({"gflop"}) ? a.number({"gflop"}) : def::gflop(a.number({"m"}), a.number({"n"}), a.number({"k"}));
    return Json(def::tflop_s(work, a.number({"ms", "t_ms"})));
  };
  t["gflop_s"] = t["gflops"] = [](const VectorArgs& a) {
    double work =
        a.has({"gflop"}) ? a.number({"gflop"}) : def::gflop(a.number({"m"}), a.number({"n"}), a.number({"k"}));
    return Json(1000 * def::tflop_s(work, a.number({"ms", "t_ms"})));
  };
  t["gb_s"] = t["bandwidth_gb_s"] = [](const VectorArgs& a) {
    return Json(def::gb_s(a.number({"bytes"}) * a.number_or({"times"}, 1), a.number({"ms", "t_ms"})));
  };
  t["decode_gb_s"] = [](const VectorArgs& a) {
    return Json(def::decode_gb_s(a.number({"gib"}), a.number({"tok_s", "rate"})));
  };
  t["bank_conflict_degree"] = [](const VectorArgs& a) {
    return Json(
        def::bank_conflict_degree(static_cast<long>(a.whole({"stride_words", "stride"})), a.whole_or({"banks"}, 32)));
  };
  t["position"] = t["roofline"] = [](const VectorArgs& a) {
    def::Position p = def::position(a.number({"bytes"}), a.number({"gflop"}), a.number({"ms"}), a.number({"peak_gb_s"}),
                                    a.number({"peak_tflop_s"}));
    return Json{{"gb_s", p.gb_s},
                {"tflop_s", p.tflop_s},
                {"share_of_bandwidth", p.share_of_bandwidth},
                {"share_of_arithmetic", p.share_of_arithmetic}};
  };
}

}  // namespace

void add_hardware_vectors(VectorTable& t) {
  add_thermal(t);
  add_energy(t);
  add_reconcile(t);
  add_roofline(t);
}

}  // namespace tally::lab
