// Where a Program's weights lie: views into the mapped model file, in the order of Program::weights.
#pragma once

#include <cstdint>
#include <vector>

#include "quant/types.h"

namespace tally::ops {

// Row r of expert e starts at data + e·expert_bytes + r·row_bytes and holds `in` values in blocks of `type`.
struct WeightView {
  const uint8_t* data = nullptr;  // may be unaligned
  const quant::QuantType* type = nullptr;
  int64_t in = 0, out = 1, experts = 1;
  int64_t row_bytes = 0, expert_bytes = 0;

  const uint8_t* row(int64_t expert, int64_t r) const { return data + expert * expert_bytes + r * row_bytes; }
  void dequantize_row(int64_t expert, int64_t r, float* values) const {
    type->dequantize(row(expert, r), values, in / type->block_elements);
  }
  int64_t bytes_per_expert() const { return row_bytes * out; }
};

struct Weights {
  std::vector<WeightView> views;  // [Program::weights]
  uint64_t bytes = 0;             // of all tensors bound
};

}  // namespace tally::ops
