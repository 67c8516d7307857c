// The table of float kernels of the level whose vectors the including file has chosen.
#pragma once

#include "backend/cpu/kernels/float_kernels.h"

namespace tally::cpu {
namespace {

constexpr FloatKernels float_table() {
  return {
      .attend_f16 = attend<Half>,
      .attend_f32 = attend<float>,
      .store_kv_f16 = store_kv_f16,
      .store_kv_f32 = store_kv_f32,
      .delta = delta,
      .conv_silu = conv<false>,
      .conv_gated = conv<true>,
      .rms_norm = rms_norm,
      .rms_norm_add = rms_norm_add,
      .rms_norm_silu = rms_norm_silu,
      .silu_mul = silu_mul,
      .gelu_mul = gelu_mul,
      .sigmoid_mul = sigmoid_mul,
      .add_scaled = add_scaled,
      .softmax = softmax,
      .rope_interleaved = rope_interleaved,
      .rope_half_split = rope_half_split,
      .dot = dot,
      .max = max,
  };
}

}  // namespace
}  // namespace tally::cpu
