#include "lab/def_batching.h"

#include <cmath>

#include "base/error.h"

namespace tally::lab::def {

namespace {

void need(const char* what, double x) {
  if (!(x > 0 && std::isfinite(x))) fail(ErrorCode::BadInput, "{} is {}: must be finite and > 0", what, x);
}

void need_drafts(int k) {
  if (k < 1 || k > 1024) fail(ErrorCode::BadInput, "{} drafts a round: 1…1024 expected", k);
}

}  // namespace

BatchAffine batch_affine(double b1, double rate1, double b2, double rate2) {
  need("batch 1", b1);
  need("rate at batch 1", rate1);
  need("rate at batch 2", rate2);
  if (!(b2 > b1)) fail(ErrorCode::BadInput, "batches {} and {}: the second must be larger", b1, b2);
  double t1 = 1000 * b1 / rate1, t2 = 1000 * b2 / rate2;
  BatchAffine a{.per_seq_ms = (t2 - t1) / (b2 - b1)};
  if (!(a.per_seq_ms > 0))
    fail(ErrorCode::BadInput,
         "a step takes {:.3f} ms at batch {} and {:.3f} ms at batch {}: no cost per sequence "
         "follows, so no ceiling; measure a larger batch",
         t1, b1, t2, b2);
  a.fixed_ms = t1 - a.per_seq_ms * b1;
  a.ceiling_tok_s = 1000 / a.per_seq_ms;
  a.fixed_over_per_seq = a.fixed_ms / a.per_seq_ms;
  const char* verdict = a.fixed_over_per_seq < 0.1 ? "almost nothing is shared between sequences"
                        : a.fixed_over_per_seq < 1 ? "less is shared than every sequence costs anew"
                                                   : "most of a step is shared";
  a.words = fmt::format("step(B) = {:.3f} + {:.3f}·B ms, ceiling {:.2f} tok/s, shared/per sequence {:.3f}: {}",
                        a.fixed_ms, a.per_seq_ms, a.ceiling_tok_s, a.fixed_over_per_seq, verdict);
  return a;
}

double experts_touched(double n_experts, double k, double batch) {
  need("number of experts", n_experts);
  need("batch", batch);
  if (!(k >= 0 && k <= n_experts))
    fail(ErrorCode::BadInput, "{} experts a token of {}: must lie in 0…{}", k, n_experts, n_experts);
  return n_experts * (1 - std::pow(1 - k / n_experts, batch));
}

double expert_sharing(double n_experts, double k, double batch) {
  need("experts a token", k);
  return batch * k / experts_touched(n_experts, k, batch);
}

double BatchBytes::at(double batch) const {
  double experts = n_experts > 0 ? experts_touched(n_experts, experts_per_token, batch) : 0;
  return shared + batch * state_per_seq + experts * bytes_per_expert;
}

BatchEstimate batch_gain(const BatchBytes& bytes, double batch, double utilisation_1, double utilisation_b) {
  need("batch", batch);
  need("utilisation at 1", utilisation_1);
  need("utilisation at B", utilisation_b);
  need("bytes of a step", bytes.at(1));
  BatchEstimate e{.bytes_factor = batch * bytes.at(1) / bytes.at(batch),
                  .utilisation_factor = utilisation_b / utilisation_1};
  e.gain = e.bytes_factor * e.utilisation_factor;
  return e;
}

double speculation_cost(int k, double forward_k1_ms, double draft_step_ms, double other_ms, double plain_ms) {
  need_drafts(k);
  need("time of a forward over k+1 positions", forward_k1_ms);
  need("time of a plain step", plain_ms);
  if (!(draft_step_ms >= 0 && other_ms >= 0))
    fail(ErrorCode::BadInput, "draft step {} ms, other {} ms: both must be ≥ 0", draft_step_ms, other_ms);
  return (forward_k1_ms + k * draft_step_ms + other_ms) / plain_ms;
}

double tokens_per_round(double accepted, double rounds) {
  need("rounds", rounds);
  if (!(accepted >= 0)) fail(ErrorCode::BadInput, "{} accepted drafts: must be ≥ 0", accepted);
  return 1 + accepted / rounds;
}

double tokens_per_round_at(double alpha, int k) {
  need_drafts(k);
  if (!(alpha >= 0 && alpha <= 1)) fail(ErrorCode::BadInput, "acceptance {}: must lie in 0…1", alpha);
  double sum = 0, power = 1;
  for (int i = 0; i <= k; ++i, power *= alpha) sum += power;  // the same sum, exact at α = 1 too
  return sum;
}

double alpha_for(double tokens, int k) {
  need_drafts(k);
  if (!(tokens >= 1 && tokens <= k + 1))
    fail(ErrorCode::BadInput, "{} tokens a round with {} drafts: must lie in 1…{}", tokens, k, k + 1);
  double lo = 0, hi = 1;
  for (int i = 0; i < 100; ++i) {
    double mid = (lo + hi) / 2;
    (tokens_per_round_at(mid, k) < tokens ? lo : hi) = mid;
  }
  return (lo + hi) / 2;
}

double cost_from_full_acceptance(int k, double gain) {
  need_drafts(k);
  need("gain at full acceptance", gain);
  return (k + 1) / gain;
}

double speculation_yield(double gain, double gain_at_full_acceptance) {
  need("gain", gain);
  need("gain at full acceptance", gain_at_full_acceptance);
  return gain / gain_at_full_acceptance;
}

double best_gain(int width, double forward_w_ms, double plain_ms) {
  if (width < 1 || width > 4096) fail(ErrorCode::BadInput, "width {}: 1…4096 expected", width);
  need("V(w)", forward_w_ms);
  need("V(1)", plain_ms);
  return width * plain_ms / forward_w_ms;
}

Speculation speculation(int k, double cost) {
  need_drafts(k);
  need("cost of a round", cost);
  Speculation s{.k = k, .cost = cost, .best = (k + 1) / cost, .never_pays = k + 1 <= cost, .break_even_tokens = cost};
  s.break_even_alpha = s.never_pays ? 1 : alpha_for(std::max(1.0, cost), k);
  s.words =
      s.never_pays
          ? fmt::format("k = {}: a round costs {:.2f} plain steps for at most {} tokens: cannot pay", k, cost, k + 1)
          : fmt::format(
                "k = {}: a round costs {:.2f} plain steps; pays above {:.2f} tokens a round (acceptance {:.2f} "
                "per position), at best {:.2f} times",
                k, cost, cost, s.break_even_alpha, s.best);
  return s;
}

double plain_rate_at_least(double rate, double tokens) {
  need("rate", rate);
  if (!(tokens >= 1)) fail(ErrorCode::BadInput, "{} tokens a round: must be ≥ 1", tokens);
  return rate / tokens;
}

double tokens_per_round_limit(double alpha) {
  if (!(alpha >= 0 && alpha < 1)) fail(ErrorCode::BadInput, "acceptance {}: must lie in 0…1 (below 1)", alpha);
  return 1 / (1 - alpha);
}

}  // namespace tally::lab::def
