// Loops that do nothing but read memory or multiply: what an instruction-set level can do at most. Measurements hold
// kernels against them; no model runs through here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels/isa.h"

namespace tally::cpu {

struct PeakKernels {
  // Reads bytes [data, data + n), n a multiple of 512; returns their sum as 64-bit words, so that every load is needed.
  uint64_t (*read)(const void* data, size_t n);
  // n rounds of independent multiply-adds on registers: of float32, and of 8-bit integers into 32-bit sums, as products
  // with quantised activations use them. Returns a result that depends on all of them.
  float (*multiply_f32)(int64_t n);
  int64_t (*multiply_int8)(int64_t n);
  // Operations per round; a multiply-add counts as two.
  int f32_ops, int8_ops;
};
const PeakKernels& peak_kernels(Isa isa);

extern const PeakKernels kPeakGeneric, kPeakAvx2, kPeakAvx512;

}  // namespace tally::cpu
