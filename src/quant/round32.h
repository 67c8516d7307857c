// What the quantizers of the 32-element formats share. Each block holds 32 values with one scale (and one minimum),
// found from the extreme values alone; codes are rounded half up. Bytes equal those of the format's usual reference
// quantizer.
#pragma once

#include <cmath>
#include <cstdint>

namespace tally::quant {

inline constexpr int kBlock32 = 32;

// The value of largest magnitude with its sign; the first one wins among equals.
inline float signed_max(const float* x, int n) {
  float magnitude = 0, value = 0;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > magnitude) magnitude = std::fabs(x[i]), value = x[i];
  }
  return value;
}

struct Range {
  float min, max;
};

inline Range range_of(const float* x, int n) {
  Range r{x[0], x[0]};
  for (int i = 1; i < n; ++i) r.min = x[i] < r.min ? x[i] : r.min, r.max = x[i] > r.max ? x[i] : r.max;
  return r;
}

// 1/d, or 0 where there is nothing to scale.
inline float inverse_or_zero(float d) { return d != 0 ? 1.0f / d : 0.0f; }

// Truncates to 0..max; whatever lies outside, NaN included, goes to an end.
inline uint32_t clamp_code(float v, int max) {
  return v >= 1.0f ? static_cast<uint32_t>(v < static_cast<float>(max) ? static_cast<int>(v) : max) : 0u;
}

}  // namespace tally::quant
