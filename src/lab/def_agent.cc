#include "lab/def_agent.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tally::lab::def {

namespace {

void need(const char* what, double x) {
  if (!(x > 0 && std::isfinite(x))) fail(ErrorCode::BadInput, "{} is {}: must be finite and > 0", what, x);
}

}  // namespace

double tokenizer_saved_share(double speed_up) {
  if (!(speed_up > 0)) fail(ErrorCode::BadInput, "speed-up {}: must be > 0", speed_up);
  return 1 - 1 / speed_up;
}

std::optional<double> tokenizer_old_time_ms(double call_ms, double speed_up) {
  need("time of a call", call_ms);
  double saved = tokenizer_saved_share(speed_up);
  if (saved <= 0) return std::nullopt;
  return call_ms / saved;
}

std::optional<double> tokenizer_break_even(double call_ms, double old_rate_per_s, double speed_up) {
  need("rate of the old tokenizer", old_rate_per_s);
  std::optional<double> ms = tokenizer_old_time_ms(call_ms, speed_up);
  if (!ms) return std::nullopt;
  return *ms * old_rate_per_s / 1000;
}

TokenizerVerdict tokenizer_verdict(double call_ms, double speed_up, std::optional<double> old_rate_per_s) {
  TokenizerVerdict v{.saved_share = tokenizer_saved_share(speed_up),
                     .old_ms = tokenizer_old_time_ms(call_ms, speed_up)};
  if (old_rate_per_s) v.length = tokenizer_break_even(call_ms, *old_rate_per_s, speed_up);
  if (!v.old_ms)
    v.words = fmt::format("never pays: {:.2f} times the speed costs {:.1f} old times more", speed_up, -v.saved_share);
  else
    v.words = fmt::format("saves one call of {:.1f} ms once the old tokenizer has worked {:.1f} ms{}", call_ms,
                          *v.old_ms, v.length ? fmt::format(" (a text of {:.3g})", *v.length) : "");
  return v;
}

double cost_ratio(double a, double b) {
  need("cost", a);
  need("cost", b);
  return a / b;
}

std::vector<std::vector<double>> cost_ratios(std::span<const UnitCost> costs) {
  std::vector<std::vector<double>> rows;
  for (const UnitCost& a : costs) {
    rows.emplace_back();
    for (const UnitCost& b : costs) rows.back().push_back(cost_ratio(a.ns, b.ns));
  }
  return rows;
}

LessThanOneCall less_than_one_call(const std::string& what, double count, double unit_ms, double call_ms) {
  need("count", count);
  need("unit cost", unit_ms);
  need("time of a call", call_ms);
  LessThanOneCall l{.calls = count * unit_ms / call_ms, .threshold_unit_ms = call_ms / count};
  l.less = l.calls < 1;
  l.words = fmt::format(
      "saving {:.6g} × {} at {:.4g} ms {}: {:.3g} calls of {:.4g} ms (it would be less than one below {:.4g} "
      "ms each)",
      count, what, unit_ms, l.less ? "saves less than one call" : "saves more than one call", l.calls, call_ms,
      l.threshold_unit_ms);
  return l;
}

AgentTask agent_task(std::span<const Turn> turns, double prefill_tok_s, double decode_tok_s, double tools_s,
                     std::optional<double> wall_s, double slack) {
  need("prefill rate", prefill_tok_s);
  need("decode rate", decode_tok_s);
  if (turns.empty()) fail(ErrorCode::BadInput, "agent task: no turns");
  if (!(tools_s >= 0)) fail(ErrorCode::BadInput, "agent task: tools took {} s; must be ≥ 0", tools_s);
  AgentTask t{.tools_s = tools_s};
  for (const Turn& turn : turns) {
    if (!(turn.tokens_in >= 0 && turn.tokens_out >= 0))
      fail(ErrorCode::BadInput, "agent task: a turn of {} tokens in and {} out; both must be ≥ 0", turn.tokens_in,
           turn.tokens_out);
    t.prompt_s += turn.tokens_in / prefill_tok_s;
    t.output_s += turn.tokens_out / decode_tok_s;
  }
  t.model_s = t.prompt_s + t.output_s + tools_s;
  need("time of the task by its rates", t.prompt_s + t.output_s);
  t.prompt_share = t.prompt_s / (t.prompt_s + t.output_s);
  t.words = fmt::format("{:.2f} s by the rates (prompt {:.1f} %)", t.model_s, 100 * t.prompt_share);
  if (!wall_s) return t;
  need("wall time", *wall_s);
  t.residual_s = *wall_s - t.model_s;
  if (*t.residual_s < -slack * t.model_s)
    fail(ErrorCode::BadInput,
         "agent task: the rates and tokens need {:.1f} s, the wall clock says {:.1f} s: a negative "
         "residual of {:.1f} s is impossible; the prompt or the rates are of another run",
         t.model_s, *wall_s, *t.residual_s);
  t.words += fmt::format(" of {:.2f} s, residual {:.2f} s", *wall_s, *t.residual_s);
  return t;
}

double length_normalised_s(double wall_s, double tokens_out, double reference_out, double decode_tok_s) {
  need("wall time", wall_s);
  need("decode rate", decode_tok_s);
  double t = wall_s - (tokens_out - reference_out) / decode_tok_s;
  if (!(t > 0))
    fail(ErrorCode::BadInput,
         "{} tokens at {} tok/s take longer than the wall clock of {} s: the rate is of another run",
         tokens_out - reference_out, decode_tok_s, wall_s);
  return t;
}

std::optional<double> overtake_ratio(double prefill1, double decode1, double prefill2, double decode2) {
  need("prefill rate of model 1", prefill1);
  need("decode rate of model 1", decode1);
  need("prefill rate of model 2", prefill2);
  need("decode rate of model 2", decode2);
  double gain = 1 / decode1 - 1 / decode2;
  if (gain == 0) return std::nullopt;
  double ratio = (1 / prefill2 - 1 / prefill1) / gain;
  if (!(ratio > 0)) return std::nullopt;
  return ratio;
}

GateCount count_out(std::span<const float> x, std::span<const double> reference, double absolute, double relative) {
  if (x.size() != reference.size())
    fail(ErrorCode::BadInput, "gate: {} values against {} of the reference; the same number is expected", x.size(),
         reference.size());
  GateCount c{.n = x.size()};
  for (size_t i = 0; i < x.size(); ++i) {
    double error = std::fabs(static_cast<double>(x[i]) - reference[i]);
    bool ok = error <= absolute + relative * std::fabs(reference[i]);  // false for NaN
    c.out += !ok;
    c.max_error = std::isfinite(error) ? std::max(c.max_error, error) : std::numeric_limits<double>::infinity();
  }
  return c;
}

Gate gate(const GateCount& clean, const GateCount& with_fault) {
  if (clean.n == 0 || with_fault.n == 0) fail(ErrorCode::BadInput, "gate: no values were compared");
  if (with_fault.out > with_fault.n || clean.out > clean.n)
    fail(ErrorCode::BadInput, "gate: more values out of tolerance than there are");
  Gate g{.fault_share = static_cast<double>(with_fault.out) / static_cast<double>(with_fault.n)};
  bool found = g.fault_share >= 0.01;
  g.passed = clean.out == 0 && found;
  g.words = fmt::format("{} of {} out of tolerance, with the planted fault {} ({:.1f} %): {}", clean.out, clean.n,
                        with_fault.out, 100 * g.fault_share,
                        clean.out > 0 ? "wrong"
                        : found       ? "passed"
                                      : "blind: the gate does not see a planted fault");
  return g;
}

}  // namespace tally::lab::def
