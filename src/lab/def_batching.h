// M16 batching estimate, M17 speculation break-even. ms, tok/s.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tally::lab::def {

// M16: step(B) = fixed + per_seq·B from two measured points (batch, total tok/s).
struct BatchAffine {
  double per_seq_ms = 0, fixed_ms = 0, ceiling_tok_s = 0, fixed_over_per_seq = 0;
  double step_ms(double batch) const { return fixed_ms + per_seq_ms * batch; }
  double rate(double batch) const { return 1000 * batch / step_ms(batch); }
  std::string words;
};
// Error unless 0 < b1 < b2, the rates are > 0 and a step takes longer with more sequences.
BatchAffine batch_affine(double b1, double rate1, double b2, double rate2);

// Expected number of n uniform experts that B tokens with k each touch: N·(1 − (1 − k/N)^B).
double experts_touched(double n_experts, double k, double batch);
// How many times fewer expert bytes a token costs in a batch of B: B·k / touched.
double expert_sharing(double n_experts, double k, double batch);

// Bytes that a decode step reads: weights that all share, state of each sequence, experts touched.
struct BatchBytes {
  double shared = 0, state_per_seq = 0, bytes_per_expert = 0, n_experts = 0, experts_per_token = 0;
  double at(double batch) const;
};
struct BatchEstimate {
  double bytes_factor = 1;        // B·bytes(1)/bytes(B)
  double utilisation_factor = 1;  // util(B)/util(1)
  double gain = 1;                // their product: total rate at B over the rate at 1
};
BatchEstimate batch_gain(const BatchBytes& bytes, double batch, double utilisation_1, double utilisation_b);

// M17. A round: k drafts, one forward over k+1 positions, O ms of other work. c(k) in units of a plain step V(1).
double speculation_cost(int k, double forward_k1_ms, double draft_step_ms, double other_ms, double plain_ms);
double tokens_per_round(double accepted, double rounds);  // E = 1 + accepted/rounds
double tokens_per_round_at(double alpha, int k);          // (1 − α^{k+1})/(1 − α), independent acceptance
double alpha_for(double tokens_per_round, int k);         // inverse of the above; Error outside 1…k+1
double cost_from_full_acceptance(int k, double gain);     // c = (k+1)/gain
double speculation_yield(double gain, double gain_at_full_acceptance);  // E/(k+1) = gain / gain at full acceptance
double best_gain(int width, double forward_w_ms, double plain_ms);      // w·V(1)/V(w): free draft, all accepted

struct Speculation {
  int k = 0;
  double cost = 0;               // c(k)
  double best = 0;               // (k+1)/c
  bool never_pays = false;       // k + 1 ≤ c(k)
  double break_even_tokens = 0;  // E must exceed c
  double break_even_alpha = 0;   // independent acceptance at which E = c; 1 when never
  std::string words;
};
Speculation speculation(int k, double cost);

// Plain speed of an engine from its speed with drafts: rate / gain, where the gain is at most E (c ≥ 1).
double plain_rate_at_least(double rate, double tokens_per_round);
// Bound for any k at acceptance α per position: E ≤ 1/(1 − α).
double tokens_per_round_limit(double alpha);

}  // namespace tally::lab::def
