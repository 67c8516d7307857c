// M18 tokenizer break-even, M19 latency table, M21 agent task, M23 correctness gate.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tally::lab::def {

// M18: old tokenizer R_o (tokens or bytes a second), speed-up s on this text, one model call T_c.
double tokenizer_saved_share(double speed_up);  // 1 − 1/s, negative when slower
// Time in the old tokenizer whose saving pays one call: T_c / (1 − 1/s); null when s ≤ 1: never.
std::optional<double> tokenizer_old_time_ms(double call_ms, double speed_up);
// Length of text (in the unit of the rate): T_c·R_o / (1 − 1/s); null when never.
std::optional<double> tokenizer_break_even(double call_ms, double old_rate_per_s, double speed_up);
struct TokenizerVerdict {
  double saved_share = 0;
  std::optional<double> old_ms, length;
  std::string words;
};
TokenizerVerdict tokenizer_verdict(double call_ms, double speed_up, std::optional<double> old_rate_per_s);

// M19: measured unit costs, in ns.
struct UnitCost {
  std::string name;
  double ns = 0;
};
double cost_ratio(double a, double b);                                          // a/b, Error unless both > 0
std::vector<std::vector<double>> cost_ratios(std::span<const UnitCost> costs);  // [i][j] = i/j
// Does saving `count` of something at `unit_ms` each save less than one call? The unit cost at which it is exactly one.
struct LessThanOneCall {
  double calls = 0;              // count·unit / call
  bool less = false;             // calls < 1
  double threshold_unit_ms = 0;  // call / count
  std::string words;
};
LessThanOneCall less_than_one_call(const std::string& what, double count, double unit_ms, double call_ms);

// M21.
struct Turn {
  double tokens_in = 0, tokens_out = 0;
};
struct AgentTask {
  double prompt_s = 0, output_s = 0, tools_s = 0, model_s = 0;  // model_s = T̂, their sum
  double prompt_share = 0;                                      // of T̂ without tools
  std::optional<double> residual_s;                             // T − T̂
  std::string words;
};
// Error when the residual is negative beyond `slack` (share of T̂, for rounding): rates or prompt are of another run.
AgentTask agent_task(std::span<const Turn> turns, double prefill_tok_s, double decode_tok_s, double tools_s,
                     std::optional<double> wall_s, double slack = 0.005);
// T − (out − out_ref) / R_d: what the task would have taken with out_ref tokens.
double length_normalised_s(double wall_s, double tokens_out, double reference_out, double decode_tok_s);
// Output tokens per input token at which model 2 overtakes model 1: (1/R_p2 − 1/R_p1) / (1/R_d1 − 1/R_d2); null when
// there is none (one of them is faster at both).
std::optional<double> overtake_ratio(double prefill1, double decode1, double prefill2, double decode2);

// M23: out of tolerance means |x − reference| > absolute + relative·|reference|, or either is not a number.
struct GateCount {
  size_t n = 0, out = 0;
  double max_error = 0;
};
GateCount count_out(std::span<const float> x, std::span<const double> reference, double absolute, double relative);
struct Gate {
  bool passed = false;  // 0 out of tolerance without the fault and ≥ 1 % with it
  double fault_share = 0;
  std::string words;
};
Gate gate(const GateCount& clean, const GateCount& with_fault);

}  // namespace tally::lab::def
