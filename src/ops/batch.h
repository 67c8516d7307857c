// Batch: what one step does, in flat arrays. The whole vocabulary between runtime and backend.
#pragma once

#include <cstdint>
#include <vector>

namespace tally::ops {

inline constexpr int kPageTokens = 64;  // tokens of KV memory per page

// Segments are runs of consecutive tokens of one sequence each: length 1 decodes, longer ones read a prompt or verify
// drafted tokens. Kernels look at segment lengths; there is no prefill flag.
struct Batch {
  int n_tokens = 0;
  int n_segments = 0;
  int n_outputs = 0;
  std::vector<int32_t> tokens;         // [n_tokens] token ids
  std::vector<int32_t> positions;      // [n_tokens] position of each token in its sequence
  std::vector<int32_t> segment_start;  // [n_segments + 1] first token of each segment
  std::vector<int32_t> slot;           // [n_segments] recurrent state: read at the start, written at the end
  std::vector<int32_t> context_len;    // [n_segments] tokens of the sequence already in its pages (= first position)
  int max_pages = 0;
  std::vector<int32_t> page_table;  // [n_segments × max_pages] pages of each sequence in order of position
  std::vector<int32_t> output_row;  // [n_outputs] tokens whose logits are wanted
  // [n_tokens] or empty: a slot that receives the recurrent state as it is after this token (−1: none). Rolling a
  // rejected draft back is then a change of slot index.
  std::vector<int32_t> checkpoint_slot;
  const float* input = nullptr;  // [n_tokens × cols] rows for the op `input`

  int segment_length(int s) const { return segment_start[s + 1] - segment_start[s]; }
  int checkpoint(int token) const { return checkpoint_slot.empty() ? -1 : checkpoint_slot[token]; }
};

}  // namespace tally::ops
