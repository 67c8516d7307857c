// Scales of a sub-block by search and least squares, for formats whose scales are themselves quantized (K formats).
// Error is plain squared error: without knowledge of the activations no value counts more than another.
// Method: try a range of divisors around "largest value / largest code"; each gives codes; for fixed codes the best
// scale (and minimum) is a linear least-squares problem; the best of all tries wins.
#pragma once

#include <cmath>
#include <cstdint>

namespace tally::quant {

struct Affine {
  float scale, min;  // value = scale * code - min, both ≥ 0
};

// What least squares needs to know about codes: sums of codes, squared codes and products with the values.
struct CodeSums {
  float codes, squares, products;
};

inline constexpr int kLanes = 8;  // partial sums, so that loops become vector code

template <int N>
float sum_lanes(const float (&partial)[N]) {
  float sum = 0;
  for (float p : partial) sum += p;
  return sum;
}

// code = x * inverse + shift, rounded half up, clamped to low..high (NaN becomes low).
inline float code_of(float x, float inverse, float shift, float low, float high) {
  float v = x * inverse + shift;
  v = v > low ? v : low;
  v = v < high ? v : high;
  return static_cast<float>(static_cast<int>(v - low + 0.5f)) + low;
}

template <int N>
CodeSums sums_of_codes(const float* x, float inverse, float shift, float low, float high) {
  float codes[kLanes] = {}, squares[kLanes] = {}, products[kLanes] = {};
  for (int i = 0; i < N; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float code = code_of(x[i + lane], inverse, shift, low, high);
      codes[lane] += code;
      squares[lane] += code * code;
      products[lane] += code * x[i + lane];
    }
  }
  return {sum_lanes(codes), sum_lanes(squares), sum_lanes(products)};
}

// Squared error of value = scale * code - min with the nearest codes in low..high.
template <int N>
float squared_error(const float* x, float scale, float min, float low, float high) {
  const float inverse = scale != 0 ? 1.0f / scale : 0.0f, shift = min * inverse;
  float partial[kLanes] = {};
  for (int i = 0; i < N; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float error = scale * code_of(x[i + lane], inverse, shift, low, high) - min - x[i + lane];
      partial[lane] += error * error;
    }
  }
  return sum_lanes(partial);
}

// N = 32 values as scale * code - min, code 0..code_max; tries divisors code_max + first, + step, … (n_steps of them).
Affine fit_affine32(const float* x, float code_max, float first, float step, int n_steps);

// N = 16 values as scale * code, code low..high (low = -high - 1); scale may be negative.
float fit_symmetric16(const float* x, float low, float high);

// Scales and minima of eight sub-blocks of 32 on the 6-bit grids of Q4_K and Q5_K.
struct ScaledBlock {
  uint16_t d, dmin;        // half
  int scales[8], mins[8];  // 0..63
  float scale[8], min[8];  // as a decoder will see them
};
ScaledBlock fit_block256(const float* x, float code_max, float first, float step, int n_steps);

}  // namespace tally::quant
