// Vectors of M16 (batching), M17 (speculation), M18 (tokenizer), M19 (latency), M21 (agent task), M23 (gate).
#include <cmath>

#include "base/error.h"
#include "lab/def_agent.h"
#include "lab/def_batching.h"
#include "lab/vectors.h"

namespace tally::lab {

namespace {

int drafts(const VectorArgs& a) { return a.whole({"k", "drafts"}); }

void add_batching(VectorTable& t) {
  t["batch_affine"] = [](const VectorArgs& a) {
    def::BatchAffine b = def::batch_affine(a.number({"b1"}), a.number({"r1"}), a.number({"b2"}), a.number({"r2"}));
    return Json{{"per_seq_ms", b.per_seq_ms},
                {"fixed_ms", b.fixed_ms},
                {"ceiling_tok_s", b.ceiling_tok_s},
                {"fixed_over_per_seq", b.fixed_over_per_seq}};
  };
  t["batch_rate"] = [](const VectorArgs& a) {
    def::BatchAffine b{.per_seq_ms = a.number({"per_seq_ms", "s"}), .fixed_ms = a.number({"fixed_ms", "f"})};
    return Json(b.rate(a.number({"b", "batch"})));
  };
  t["fixed_over_per_seq"] = [](const VectorArgs& a) {  // from the factor that the total rate gains between two batches
    double r1 = a.number_or({"r1"}, 1), r2 = a.has({"r2"}) ? a.number({"r2"}) : r1 * a.number({"gain", "factor"});
    return Json(def::batch_affine(a.number({"b1"}), r1, a.number({"b2"}), r2).fixed_over_per_seq);
  };
  t["experts_touched"] = t["expected_experts"] = [](const VectorArgs& a) {
    return Json(def::experts_touched(a.number({"n", "N", "experts"}), a.number({"k", "active"}),
                                     a.number({"b", "B", "batch"})));
  };
  t["expert_sharing"] = t["expert_bytes_factor"] = [](const VectorArgs& a) {
    return Json(
        def::expert_sharing(a.number({"n", "N", "experts"}), a.number({"k", "active"}), a.number({"b", "B", "batch"})));
  };
  t["batch_gain"] = [](const VectorArgs& a) {
    def::BatchBytes bytes{a.number({"shared", "weights"}), a.number_or({"state"}, 0),
                          a.number_or({"bytes_per_expert"}, 0), a.number_or({"n", "N", "experts"}, 0),
                          a.number_or({"k", "active"}, 0)};
    def::BatchEstimate e = def::batch_gain(bytes, a.number({"b", "B", "batch"}), a.number_or({"util_1", "u1"}, 1),
                                           a.number_or({"util_b", "ub"}, 1));
    return Json{{"bytes_factor", e.bytes_factor}, {"utilisation_factor", e.utilisation_factor}, {"gain", e.gain}};
  };
}

double tokens_per_round(const VectorArgs& a) {
  if (a.has({"accepted"})) return def::tokens_per_round(a.number({"accepted"}), a.number_or({"rounds"}, 1));
  if (a.has({"yield"})) return a.number({"yield"}) * (drafts(a) + 1);
  return def::tokens_per_round_at(a.number({"alpha", "acceptance"}), drafts(a));
}

void add_speculation(VectorTable& t) {
  t["spec_round_cost_ratio"] = t["spec_cost"] = [](const VectorArgs& a) {
    if (a.has({"gain_at_full_acceptance"}))
      return Json(def::cost_from_full_acceptance(drafts(a), a.number({"gain_at_full_acceptance"})));
    return Json(def::speculation_cost(drafts(a), a.number({"v_k1", "v_w", "v"}), a.number_or({"draft", "d"}, 0),
                                      a.number_or({"other", "o"}, 0), a.number({"v_1", "v1"})));
  };
  t["spec_yield"] = [](const VectorArgs& a) {
    return Json(def::speculation_yield(a.number({"gain"}), a.number({"gain_at_full_acceptance"})));
  };
  t["spec_best_gain"] = [](const VectorArgs& a) {
    return Json(def::best_gain(a.whole({"w", "width"}), a.number({"v_w"}), a.number({"v_1", "v1"})));
  };
  auto tokens = [](const VectorArgs& a) { return Json(tokens_per_round(a)); };
  for (const char* name : {"spec_tokens_per_round", "tokens_per_round", "spec_expected_tokens"}) t[name] = tokens;
  auto alpha = [](const VectorArgs& a) {
    double e = a.has({"e", "tokens"}) ? a.number({"e", "tokens"}) : tokens_per_round(a);
    return Json(def::alpha_for(e, drafts(a)));
  };
  for (const char* name : {"spec_alpha", "alpha_for", "spec_acceptance"}) t[name] = alpha;
  t["spec_gain"] = t["spec_speedup"] = [](const VectorArgs& a) {
    double e = a.has({"e", "tokens"}) ? a.number({"e", "tokens"}) : tokens_per_round(a);
    double c = a.number({"c", "cost"});
    if (!(c > 0)) fail(ErrorCode::BadInput, "cost ratio {}: must be > 0", c);
    return Json(e / c);
  };
  t["speculation"] = t["spec_break_even"] = [](const VectorArgs& a) {
    def::Speculation s = def::speculation(drafts(a), a.number({"c", "cost"}));
    return Json{{"best", s.best},
                {"never_pays", s.never_pays},
                {"break_even_tokens", s.break_even_tokens},
                {"break_even_alpha", s.break_even_alpha}};
  };
  t["spec_tokens_limit"] = t["tokens_per_round_limit"] = [](const VectorArgs& a) {
    return Json(def::tokens_per_round_limit(a.number({"alpha", "acceptance"})));
  };
  auto plain = [](const VectorArgs& a) {
    double rate = a.number({"rate", "tok_s"});
    double e = a.has({"e", "tokens"})   ? a.number({"e", "tokens"})
               : a.has({"k", "drafts"}) ? def::tokens_per_round(a.number({"acceptance", "alpha"}) * drafts(a), 1)
                                        : def::tokens_per_round_limit(a.number({"acceptance", "alpha"}));
    return Json(def::plain_rate_at_least(rate, e));
  };
  for (const char* name : {"spec_plain_at_least", "spec_plain_rate", "plain_rate_at_least"}) t[name] = plain;
}

void add_tokenizer(VectorTable& t) {
  t["tokenizer_saved_share"] = [](const VectorArgs& a) { return Json(def::tokenizer_saved_share(a.number({"s"}))); };
  t["tokenizer_old_time_ms"] = [](const VectorArgs& a) {
    return or_null(def::tokenizer_old_time_ms(a.number({"call_ms"}), a.number({"s"})));
  };
  t["tokenizer_break_even"] = t["tokenizer_break_even_length"] = [](const VectorArgs& a) {
    return or_null(def::tokenizer_break_even(a.number({"call_ms"}), a.number({"rate", "old_rate"}), a.number({"s"})));
  };
  auto call = [](const VectorArgs& a) {
    double count = a.number({"tokens", "n", "count"});
    double unit =
        a.has({"unit_us", "us"}) ? a.number({"unit_us", "us"}) / 1000 : a.number_or({"unit_ms", "ms_per_token"}, 1);
    return def::less_than_one_call("x", count, unit, a.number({"call_ms"}));
  };
  t["calls"] = t["calls_saved"] = [call](const VectorArgs& a) { return Json(call(a).calls); };
  t["less_than_one_call"] = [call](const VectorArgs& a) {
    def::LessThanOneCall l = call(a);
    return Json{{"calls", l.calls}, {"less", l.less}, {"threshold_us", 1000 * l.threshold_unit_ms}};
  };
  for (const char* name : {"threshold_us_per_token", "us_per_token", "break_even_us_per_token", "call_threshold_us"})
    t[name] = [call](const VectorArgs& a) { return Json(1000 * call(a).threshold_unit_ms); };
}

def::AgentTask task(const VectorArgs& a, bool with_wall) {
  std::vector<double> in = a.list({"in", "tokens_in"}), out = a.list({"out", "tokens_out"});
  if (in.size() != out.size())
    fail(ErrorCode::BadInput, "{} turns in and {} out; one each is expected", in.size(), out.size());
  std::vector<def::Turn> turns;
  for (size_t i = 0; i < in.size(); ++i) turns.push_back({in[i], out[i]});
  std::optional<double> wall;
  if (with_wall) wall = a.number({"wall", "wall_s", "t"});
  return def::agent_task(turns, a.number({"prefill"}), a.number({"decode"}), a.number_or({"tools", "tools_s"}, 0),
                         wall);
}

void add_agent(VectorTable& t) {
  t["task_model_s"] = [](const VectorArgs& a) { return Json(task(a, false).model_s); };
  t["prompt_share"] = [](const VectorArgs& a) { return Json(task(a, false).prompt_share); };
  t["task_residual_s"] = t["residual_s"] = [](const VectorArgs& a) { return Json(*task(a, true).residual_s); };
  t["length_normalised_s"] = t["length_normalized_s"] = [](const VectorArgs& a) {
    return Json(def::length_normalised_s(a.number({"t", "wall"}), a.number({"out"}), a.number({"ref_out"}),
                                         a.number({"decode"})));
  };
  auto overtake = [](const VectorArgs& a) {
    return or_null(def::overtake_ratio(a.number({"prefill1", "p1", "rp1"}), a.number({"decode1", "d1", "rd1"}),
                                       a.number({"prefill2", "p2", "rp2"}), a.number({"decode2", "d2", "rd2"})));
  };
  for (const char* name : {"overtake_ratio", "overtake", "overtake_out_per_in", "out_per_in", "crossover_out_per_in"})
    t[name] = overtake;
  t["gate"] = [](const VectorArgs& a) {
    auto n = static_cast<size_t>(a.whole({"n"}));
    def::Gate g = def::gate({n, static_cast<size_t>(a.whole({"out", "clean"})), 0},
                            {n, static_cast<size_t>(a.whole({"fault", "out_with_fault"})), 0});
    return Json{{"passed", g.passed}, {"fault_share", g.fault_share}};
  };
}

}  // namespace

void add_estimate_vectors(VectorTable& t) {
  add_batching(t);
  add_speculation(t);
  add_tokenizer(t);
  add_agent(t);
}

}  // namespace tally::lab
