// Generation of one sequence: prompt, then tokens one by one or several at a time by drafting and verifying.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/sample.h"
#include "runtime/constraint.h"
#include "runtime/engine.h"

namespace tally::runtime {

struct GenerateSettings {
  ops::SamplingSettings sampling;
  std::vector<int32_t> stop_ids;  // end-of-generation tokens
  std::vector<int32_t> banned;    // never chosen
  int n_choices = 0;              // only ids below this are chosen (files pad their vocabulary); 0: all
  bool ignore_stop_ids = false;
  int n_predict = 64;  // most tokens; −1: until the context is full
  const std::atomic<bool>* cancel = nullptr;
  TokenConstraint* constraint = nullptr;  // every chosen token obeys it; a stop token then ends the generation always
};

struct GenerateStats {
  int n_prompt = 0, n_generated = 0;
  int n_drafted = 0, n_accepted = 0;  // drafted tokens verified; those that were right
  int n_steps = 0;                    // trunk steps after the prompt
  uint64_t prompt_ns = 0, decode_ns = 0;
  uint64_t n_dispatches = 0;
  uint64_t logits_hash = 0;  // of all rows that a token was chosen from, in order
};

enum class Finish { Stop, Length, Cancelled };

// Called with every chosen token in order; returning false ends the generation (Finish::Stop).
using OnToken = std::function<bool(int32_t)>;

// Consumes `prompt` (at least one token) and generates; the last token chosen is not consumed. With
// engine.options().n_draft > 0 tokens are drafted by the MTP block and verified (Leviathan et al. 2023, arXiv
// 2211.17192, with the sampler itself as the test): every token is chosen by the sampler from the trunk's own logits
// with the random number of its position, so the result is the same as without drafting.
Finish generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt, const GenerateSettings& settings,
                const OnToken& on_token, GenerateStats* stats);

}  // namespace tally::runtime
