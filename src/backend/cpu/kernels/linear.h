// Matrix products out = x·Wᵀ with weights in their file layout and activations in float32 or rounded to 8 bit.
// One table of functions per instruction-set level. The functions allocate nothing, take no locks, read no byte outside
// the rows that they are given and may run on any partition of the rows.
//
// Up to kMaxExactColumns columns, the result of a column is the same bit for bit whatever the number of columns and
// whatever the partition of rows: checking several drafted tokens at once equals decoding them one by one. (Beyond that
// count, results do not depend on the partition of rows or the neighbours either, but come from another order of sums.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels/isa.h"
#include "quant/types.h"

namespace tally::cpu {

inline constexpr int64_t kMaxExactColumns = 8;

// n rows of k weights, as they stand in the file (any alignment).
struct Matrix {
  const uint8_t* data;
  const quant::QuantType* type;
  int64_t k;          // input width: weights per row
  int64_t n;          // output width: rows
  int64_t row_bytes;  // from one row to the next
};

// Activations rounded to 8 bit in groups of 32: x ≈ scale · (code + zero), codes within ±127, one scale and zero point
// for each group. The zero point stands in the middle of the group's range, so a group whose values lie on one side, or
// that has an outlier on one side, keeps twice the resolution (on SmolLM2 a third of the divergence of symmetric
// codes). Rows are padded to a multiple of 256 elements (a unit) with zeros. Sums over (code + zero) serve weights with
// offsets and minimums.
struct QuantizedRows {
  int8_t* codes;          // [n][k_padded]
  int8_t* zeros;          // [n][k_padded]  the group's zero point, once for each element
  float* factors;         // [n][units][16]  8 scales, then 8 times −scale · Σ (code + zero) of the group
  float* half_sums;       // [n][units][16]  −scale · Σ (code + zero) of each half of a group
  int32_t* offsets;       // [n][k_padded / 32]  −128 · Σ (code + zero) of the group
  int32_t* half_offsets;  // [n][k_padded / 16]  the same for each half of a group
  int64_t k;
  int64_t k_padded;
};

// Memory that n rows of k activations need (k a multiple of 32), and the view of such memory (64-byte aligned).
size_t quantized_rows_bytes(int64_t n, int64_t k);
QuantizedRows quantized_rows_at(void* memory, int64_t n, int64_t k);

struct LinearKernels {
  Isa isa;

  // x[row · x_stride + i] → row `row` of out, for row in [row_begin, row_end).
  void (*quantize_rows)(const float* x, int64_t x_stride, int64_t row_begin, int64_t row_end, const QuantizedRows& out);

  // Whether linear_q8 can multiply weights of this type and width; otherwise use linear_f32.
  bool (*supports_q8)(const quant::QuantType& type, int64_t k);

  // out[j · out_stride + r] (+)= Σ_i W[r][i] · x[x_index ? x_index[j] : j][i], r in [row_begin, row_end), j in [0,
  // n_x). Integer products within a group, float32 sums across groups. scratch: scratch_bytes, 64-byte aligned, per
  // worker.
  void (*linear_q8)(const Matrix& w, int64_t row_begin, int64_t row_end, const QuantizedRows& x, const int32_t* x_index,
                    int64_t n_x, float* out, int64_t out_stride, bool accumulate, void* scratch);

  // The same with float32 activations (row j at x + j · x_stride) and float32 arithmetic throughout, for every type
  // that can be dequantized.
  void (*linear_f32)(const Matrix& w, int64_t row_begin, int64_t row_end, const float* x, int64_t x_stride,
                     const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                     void* scratch);

  size_t scratch_bytes;
};

// The table of a level; the machine must have it (isa <= best_isa()).
const LinearKernels& linear_kernels(Isa isa);

}  // namespace tally::cpu
