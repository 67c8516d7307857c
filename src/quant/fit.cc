#include "quant/fit.h"

#include <algorithm>

#include "quant/half.h"
#include "quant/round32.h"

namespace tally::quant {
namespace {

constexpr int kScaleMax = 63;

struct Solution {
  Affine fit;
  double error;  // squared error minus the sum of squared values, which all tries share
};

// Least squares for fixed codes: x ≈ scale * code - min with min ≥ 0.
Solution solve_affine(const CodeSums& sums, double sum_x, double n) {
  const double l = sums.codes, l2 = sums.squares, xl = sums.products;
  const double determinant = n * l2 - l * l;
  double scale = 0, min = 0;
  if (determinant > 0) {
    scale = (n * xl - sum_x * l) / determinant;
    min = (l * xl - l2 * sum_x) / determinant;
  }
  if (determinant <= 0 || min < 0) {
    min = 0;
    scale = l2 > 0 ? xl / l2 : 0;
  }
  const double error = scale * scale * l2 - 2 * scale * min * l + n * min * min - 2 * scale * xl + 2 * min * sum_x;
  return {{static_cast<float>(scale), static_cast<float>(min)}, error};
}

int clamp_scale(float v) { return static_cast<int>(clamp_code(v + 0.5f, kScaleMax)); }

// Tries the neighbours of (scale, min) on the 6-bit grids and keeps what errs least.
void refine(const float* x, float code_max, float d, float dmin, int& scale, int& min) {
  const int scale_start = scale, min_start = min;
  float best = INFINITY;
  for (int s = std::max(scale_start - 1, 0); s <= std::min(scale_start + 1, kScaleMax); ++s) {
    for (int m = std::max(min_start - 1, 0); m <= std::min(min_start + 1, kScaleMax); ++m) {
      const float error = squared_error<32>(x, d * static_cast<float>(s), dmin * static_cast<float>(m), 0, code_max);
      if (error < best) best = error, scale = s, min = m;
    }
  }
}

}  // namespace

Affine fit_affine32(const float* x, float code_max, float first, float step, int n_steps) {
  constexpr int n = 32;
  Range range = range_of(x, n);
  if (range.min > 0) range.min = 0;
  const float width = range.max - range.min;
  if (!(width > 0)) return {0, -range.min};  // all values equal and not above 0
  double sum_x = 0;
  for (int i = 0; i < n; ++i) sum_x += static_cast<double>(x[i]);
  Solution best{{0, 0}, INFINITY};
  for (int i = 0; i < n_steps; ++i) {
    const float inverse = (code_max + first + step * static_cast<float>(i)) / width;
    const Solution s = solve_affine(sums_of_codes<n>(x, inverse, -range.min * inverse, 0, code_max), sum_x, n);
    if (s.error < best.error) best = s;
  }
  return best.fit;
}

float fit_symmetric16(const float* x, float low, float high) {
  const float max = signed_max(x, 16);
  if (max == 0) return 0;
  float scale = 0;
  double gain = 0;
  for (int i = -9; i <= 9; ++i) {
    const CodeSums s = sums_of_codes<16>(x, (low - 0.1f * static_cast<float>(i)) / max, 0, low, high);
    if (!(s.squares > 0)) continue;
    const double explained =
        static_cast<double>(s.products) * static_cast<double>(s.products) / static_cast<double>(s.squares);
    if (explained > gain) gain = explained, scale = s.products / s.squares;
  }
  return scale;
}

ScaledBlock fit_block256(const float* x, float code_max, float first, float step, int n_steps) {
  Affine fits[8];
  float scale_max = 0, min_max = 0;
  for (int j = 0; j < 8; ++j) {
    fits[j] = fit_affine32(x + 32 * j, code_max, first, step, n_steps);
    scale_max = std::max(scale_max, fits[j].scale);
    min_max = std::max(min_max, fits[j].min);
  }
  ScaledBlock block;
  block.d = float_to_half(scale_max / kScaleMax);
  block.dmin = float_to_half(min_max / kScaleMax);
  const float d = half_to_float(block.d), dmin = half_to_float(block.dmin);
  for (int j = 0; j < 8; ++j) {
    block.scales[j] = clamp_scale(fits[j].scale * inverse_or_zero(d));
    block.mins[j] = clamp_scale(fits[j].min * inverse_or_zero(dmin));
    refine(x + 32 * j, code_max, d, dmin, block.scales[j], block.mins[j]);
    block.scale[j] = d * static_cast<float>(block.scales[j]);
    block.min[j] = dmin * static_cast<float>(block.mins[j]);
  }
  return block;
}

}  // namespace tally::quant
