// Sampling: the definition of how a token is chosen from a row of logits. Order: penalties, temperature, top-k, top-p,
// min-p, draw. The random number is a function of (seed, position) alone, so neither batch neighbours, nor drafting,
// nor the backend changes a choice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tally::ops {

struct SamplingSettings {
  float temperature = 0.f;        // ≤ 0: greedy
  int top_k = 0;                  // 0: off
  float top_p = 1.f;              // keep the most likely tokens up to this mass; ≥ 1: off
  float min_p = 0.f;              // drop tokens below this share of the most likely one; 0: off
  float repeat_penalty = 1.f;     // divides positive, multiplies negative logits of tokens seen; 1: off
  float presence_penalty = 0.f;   // subtracted once from tokens seen
  float frequency_penalty = 0.f;  // subtracted per occurrence
  int penalty_last_n = 64;        // tokens of history that count; −1: all
  uint64_t seed = 0;

  bool has_penalties() const { return repeat_penalty != 1.f || presence_penalty != 0.f || frequency_penalty != 0.f; }
};

// Error (Usage) naming the setting when a value is out of range or not finite.
void check_settings(const SamplingSettings& s);

// The token for `position` (of the token to be chosen). history: the sequence so far, prompt included. banned: ids
// never chosen. allowed: a row of bits (bit id % 64 of word id / 64), not empty: only those ids are chosen; as if all
// others had a logit of −infinity before anything else is done. At least one id must be left (Error otherwise); when
// all that are left have −infinity or NaN, the lowest one is chosen. Ties go to the lower id.
int32_t sample(std::span<const float> logits, std::span<const int32_t> history, const SamplingSettings& s,
               uint64_t position, std::span<const int32_t> banned = {}, std::span<const uint64_t> allowed = {});

// The highest logit's id, lowest id on ties; NaN counts as −infinity.
int32_t argmax(std::span<const float> logits);

}  // namespace tally::ops
