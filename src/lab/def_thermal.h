// M13 cold and sustained speed, power cap; M20 energy. Watts, joules, MHz, tokens per second.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tally::lab::def {

// M13.
struct Sustained {
  double ratio = 1;      // steady / cold
  double predicted = 0;  // cold · f_s/f_c
  double residual = 0;   // steady / predicted − 1
  bool thermal = true;   // |residual| ≤ 3 %: the clock explains it
  std::string words;
};
// Error unless all are > 0.
Sustained sustained(double cold_rate, double steady_rate, double cold_clock, double steady_clock);
// The prediction alone: cold rate × clock ratio.
double sustained_prediction(double cold_rate, double clock_ratio);

// Two engines: cold with cold and sustained with sustained only, each said from both sides.
struct ColdAndSustained {
  double cold = 1, steady = 1;                    // other / own
  double behind_of_other = 0, behind_of_own = 0;  // sustained: 1 − own/other, other/own − 1
  double relative_ratio = 1;                      // (own steady/cold) / (other steady/cold)
  std::string words;
};
ColdAndSustained compare_sustained(double own_cold, double own_steady, double other_cold, double other_steady);

// Power ledger under one cap: what is left for the processor when memory and the rest have taken theirs.
struct PowerSplit {
  double cap = 0, memory = 0, rest = 0;
  double processor() const { return cap - memory - rest; }
};
struct PowerLedger {
  double memory_difference = 0, processor_difference = 0;  // a − b, W
  std::optional<double> clock_ratio;                       // a / b, measured
  // When power followed the clock linearly: the processor power at which this difference makes this clock ratio.
  std::optional<double> linear_power;
  std::string words;
};
// Error when a split leaves the processor nothing.
PowerLedger power_ledger(const PowerSplit& a, const PowerSplit& b, std::optional<double> clock_ratio);

// M20.
double implied_watts(double decode_tok_s, double j_per_token);  // J/token × tok/s
double joules_per_token(double watts, double tok_s);            // Error unless tok/s > 0
struct PowerSample {
  double s = 0, watts = 0;  // time from the start
};
// ∫P dt by trapezoids, idle power taken off when given. Error for fewer than two samples or times that do not rise.
double energy_joules(std::span<const PowerSample> samples, double idle_watts = 0);
struct TaskEnergy {
  double seconds = 0, joules = 0, joules_per_token = 0;
};
// A task of tokens in and out at given rates, one mean power in both phases (say so when printing).
TaskEnergy task_energy(double tokens_in, double tokens_out, double prefill_tok_s, double decode_tok_s, double watts);

}  // namespace tally::lab::def
