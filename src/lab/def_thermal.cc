#include "lab/def_thermal.h"

#include <cmath>

#include "base/error.h"

namespace tally::lab::def {

namespace {

void need(const char* what, double x) {
  if (!(x > 0 && std::isfinite(x))) fail(ErrorCode::BadInput, "{} is {}: must be finite and > 0", what, x);
}

}  // namespace

double sustained_prediction(double cold_rate, double clock_ratio) {
  need("cold rate", cold_rate);
  need("clock ratio", clock_ratio);
  return cold_rate * clock_ratio;
}

Sustained sustained(double cold_rate, double steady_rate, double cold_clock, double steady_clock) {
  need("steady rate", steady_rate);
  need("clock when cold", cold_clock);
  need("clock when steady", steady_clock);
  Sustained s{.predicted = sustained_prediction(cold_rate, steady_clock / cold_clock)};
  s.ratio = steady_rate / cold_rate;
  s.residual = steady_rate / s.predicted - 1;
  s.thermal = std::fabs(s.residual) <= 0.03;
  s.words = fmt::format("sustained {:.1f} of {:.1f} tok/s cold ({:.3f}); the clock alone says {:.1f} ({:+.1f} %): {}",
                        steady_rate, cold_rate, s.ratio, s.predicted, 100 * s.residual,
                        s.thermal ? "the clock explains it" : "not thermal, look for another cause");
  return s;
}

ColdAndSustained compare_sustained(double own_cold, double own_steady, double other_cold, double other_steady) {
  need("own cold rate", own_cold);
  need("own sustained rate", own_steady);
  need("other cold rate", other_cold);
  need("other sustained rate", other_steady);
  ColdAndSustained c{.cold = other_cold / own_cold, .steady = other_steady / own_steady};
  c.behind_of_other = 1 - own_steady / other_steady;
  c.behind_of_own = other_steady / own_steady - 1;
  c.relative_ratio = (own_steady / own_cold) / (other_steady / other_cold);
  c.words = fmt::format(
      "cold against cold {:.3f}, sustained against sustained {:.3f}: {:.1f} % of theirs, {:.1f} % of ours; "
      "own sustained/cold relative to theirs {:.3f}",
      c.cold, c.steady, 100 * c.behind_of_other, 100 * c.behind_of_own, c.relative_ratio);
  return c;
}

PowerLedger power_ledger(const PowerSplit& a, const PowerSplit& b, std::optional<double> clock_ratio) {
  for (const PowerSplit& s : {a, b}) {
    if (!(s.cap > 0 && s.memory >= 0 && s.rest >= 0 && s.processor() > 0))
      fail(ErrorCode::BadInput, "power ledger: cap {} W, memory {} W, rest {} W leave the processor {} W; must be > 0",
           s.cap, s.memory, s.rest, s.processor());
  }
  PowerLedger l{.memory_difference = a.memory - b.memory,
                .processor_difference = a.processor() - b.processor(),
                .clock_ratio = clock_ratio};
  l.words = fmt::format("memory {:+.1f} W, processor {:+.1f} W", l.memory_difference, l.processor_difference);
  if (!clock_ratio) {
    l.words += "; clock not measured: it does not follow from the watts";
    return l;
  }
  need("clock ratio", *clock_ratio);
  if (*clock_ratio != 1) l.linear_power = std::fabs(l.processor_difference) / std::fabs(1 - *clock_ratio);
  l.words += fmt::format(", clock ratio {:.3f}", *clock_ratio);
  if (l.linear_power && *l.linear_power > std::max(a.cap, b.cap))
    l.words += fmt::format(
        "; not linear in each other: that would need {:.0f} W in the processor alone under a cap of "
        "{:.0f} W",
        *l.linear_power, std::max(a.cap, b.cap));
  return l;
}

double implied_watts(double decode_tok_s, double j_per_token) {
  need("decode rate", decode_tok_s);
  need("J/token", j_per_token);
  return decode_tok_s * j_per_token;
}

double joules_per_token(double watts, double tok_s) {
  need("rate", tok_s);
  if (!(watts >= 0 && std::isfinite(watts))) fail(ErrorCode::BadInput, "power of {} W: must be ≥ 0", watts);
  return watts / tok_s;
}

double energy_joules(std::span<const PowerSample> samples, double idle_watts) {
  if (samples.size() < 2)
    fail(ErrorCode::BadInput, "energy: {} power samples; at least two are needed", samples.size());
  double joules = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    double dt = samples[i].s - samples[i - 1].s;
    if (!(dt > 0))
      fail(ErrorCode::BadInput, "energy: sample {} at {} s follows one at {} s; times must rise", i, samples[i].s,
           samples[i - 1].s);
    joules += dt * ((samples[i].watts + samples[i - 1].watts) / 2 - idle_watts);
  }
  return joules;
}

TaskEnergy task_energy(double tokens_in, double tokens_out, double prefill_tok_s, double decode_tok_s, double watts) {
  need("prefill rate", prefill_tok_s);
  need("decode rate", decode_tok_s);
  if (!(tokens_in >= 0 && tokens_out >= 0))
    fail(ErrorCode::BadInput, "task of {} tokens in and {} out: both must be ≥ 0", tokens_in, tokens_out);
  TaskEnergy t{.seconds = tokens_in / prefill_tok_s + tokens_out / decode_tok_s};
  t.joules = t.seconds * watts;
  t.joules_per_token = joules_per_token(watts, decode_tok_s);
  return t;
}

}  // namespace tally::lab::def
