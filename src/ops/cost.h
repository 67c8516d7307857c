// What an op must move and compute: the floor that kernels are measured against. Bytes are those of an ideal kernel
// that reads each weight, state and activation once per step and writes each result once.
#pragma once

#include <cstdint>

#include "ops/batch.h"
#include "ops/op.h"
#include "ops/weights.h"

namespace tally::ops {

struct Cost {
  uint64_t weight_bytes = 0;      // as stored in the file
  uint64_t state_bytes = 0;       // pages and slots, read and written
  uint64_t activation_bytes = 0;  // values read and written, float32
  uint64_t flops = 0;             // a multiply-add counts as two

  uint64_t bytes() const { return weight_bytes + state_bytes + activation_bytes; }
  Cost& operator+=(const Cost& o) {
    weight_bytes += o.weight_bytes, state_bytes += o.state_bytes;
    activation_bytes += o.activation_bytes, flops += o.flops;
    return *this;
  }
  bool operator==(const Cost&) const = default;
};

// Of one op for one batch. n_distinct_experts: how many experts the batch's rows chose together; −1: the expected
// number if every row chose at random. exact: pages hold F32 in place of F16.
Cost cost(const Op& op, const Program& program, const Weights& weights, const Batch& batch, int n_distinct_experts = -1,
          bool exact = false);

// Of all ops, with the expected number of distinct experts.
Cost cost(const Program& program, const Weights& weights, const Batch& batch, bool exact = false);

// A batch of one segment: n_tokens tokens after context_len others, outputs wanted for the last n_outputs of them. Good
// for costs; tokens are 0 and its page table is the identity.
Batch single_segment(int n_tokens, int context_len, int n_outputs);

// Of one decoded token when context_len tokens came before it.
inline Cost decode_cost(const Program& program, const Weights& weights, int context_len, bool exact = false) {
  return cost(program, weights, single_segment(1, context_len, 1), exact);
}

}  // namespace tally::ops
