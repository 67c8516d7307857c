// The plain level: weights of a row are dequantized a slice at a time and multiplied in float32.
#include <cstring>
#include <limits>

#include "backend/cpu/kernels/linear_parts.h"

namespace tally::cpu {
namespace {

constexpr int64_t kSlice = 256;  // a multiple of every type's block

// Order of the sums of one row and column: eight partial sums over i mod 8, then their sum. Slices only split the loop.
struct Sums {
  float part[8];
};

void add_products(const float* w, const float* x, int64_t n, Sums& sums) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) sums.part[l] += w[i + l] * x[i + l];
  for (int l = 0; i < n; ++i, ++l) sums.part[l] += w[i] * x[i];
}

float total(const Sums& s) {
  return ((s.part[0] + s.part[4]) + (s.part[2] + s.part[6])) + ((s.part[1] + s.part[5]) + (s.part[3] + s.part[7]));
}

void store(float value, bool accumulate, float* out) { *out = accumulate ? *out + value : value; }

// Rounds to the nearest, halves to even, for |x| < 2^22.
int32_t round_even(float x) {
  const float shifted = x + 12582912.0f;  // 1.5 · 2^23: the sum has no fraction bits left
  return static_cast<int32_t>(shifted - 12582912.0f);
}

// One group of 32: values too small for a finite inverse count as zero; infinity or NaN makes the scale NaN, so that it
// shows in every result.
struct Group {
  float scale = 0, inverse = 0;
  int32_t zero = 0;
};

// The range [low, high] of the group is cut into 253 steps (code and zero point are rounded each by half a step at
// most, so that codes stay within ±127); where it lies so far from 0 that the zero point would leave 8 bit, steps are
// wider.
Group group_of(const float* x) {
  float low = x[0], high = x[0];
  bool finite = true;
  for (int i = 0; i < 32; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    finite &= (bits & 0x7fffffff) < 0x7f800000;
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  Group g;
  if (!finite) {
    g.scale = std::numeric_limits<float>::quiet_NaN();
    return g;
  }
  const float middle = 0.5f * high + 0.5f * low, half = 0.5f * high - 0.5f * low;
  const float distance = middle < 0 ? -middle : middle;
  const float widest = half > distance ? half : distance;
  if (widest < 1e-36f) return g;
  g.scale = widest / 126.5f;
  g.inverse = 126.5f / widest;
  g.zero = round_even(middle * g.inverse);
  return g;
}

int32_t clamp_code(int32_t code) { return code < -127 ? -127 : code > 127 ? 127 : code; }

constexpr int64_t kColumns = 64;  // columns whose partial sums are kept at a time

}  // namespace

void quantize_rows_generic(const float* x, int64_t x_stride, int64_t row_begin, int64_t row_end,
                           const QuantizedRows& out) {
  const int64_t n_groups = out.k_padded / 32;
  for (int64_t row = row_begin; row < row_end; ++row) {
    for (int64_t g = 0; g < n_groups; ++g) {
      const float* from = x + row * x_stride + g * 32;
      int8_t* codes = out.codes + row * out.k_padded + g * 32;
      int8_t* zeros = out.zeros + row * out.k_padded + g * 32;
      const int64_t at = row * n_groups + g;
      const Group group = g * 32 < out.k ? group_of(from) : Group();
      const float scale = group.scale;
      int32_t sum[2] = {0, 0};
      for (int i = 0; i < 32; ++i) {
        const int32_t code = group.inverse > 0 ? clamp_code(round_even(from[i] * group.inverse) - group.zero) : 0;
        codes[i] = static_cast<int8_t>(code);
        zeros[i] = static_cast<int8_t>(group.zero);
        sum[i / 16] += code + group.zero;
      }
      float* factors = out.factors + at / 8 * 16 + at % 8;
      factors[0] = scale;
      factors[8] = -scale * static_cast<float>(sum[0] + sum[1]);
      out.offsets[at] = -128 * (sum[0] + sum[1]);
      for (int h = 0; h < 2; ++h) {
        out.half_sums[2 * at + h] = -scale * static_cast<float>(sum[h]);
        out.half_offsets[2 * at + h] = -128 * sum[h];
      }
    }
  }
}

void linear_q8_generic(const Matrix& w, int64_t row_begin, int64_t row_end, const QuantizedRows& x,
                       const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate, void*) {
  float weights[kSlice], values[32];
  for (int64_t r = row_begin; r < row_end; ++r) {
    const uint8_t* row = w.data + r * w.row_bytes;
    for (int64_t j0 = 0; j0 < n_x; j0 += kColumns) {
      const int64_t n = n_x - j0 < kColumns ? n_x - j0 : kColumns;
      Sums sums[kColumns] = {};
      for (int64_t k0 = 0; k0 < w.k; k0 += kSlice) {
        const int64_t slice = w.k - k0 < kSlice ? w.k - k0 : kSlice;
        w.type->dequantize(row + k0 / w.type->block_elements * w.type->block_bytes, weights,
                           slice / w.type->block_elements);
        for (int64_t j = 0; j < n; ++j) {
          const int64_t column = x_index ? x_index[j0 + j] : j0 + j;
          for (int64_t g = 0; g < slice; g += 32) {
            const int64_t at = column * x.k_padded + k0 + g;
            const float scale = x.factors[at / 256 * 16 + at % 256 / 32];
            for (int i = 0; i < 32; ++i) values[i] = static_cast<float>(x.codes[at + i] + x.zeros[at + i]) * scale;
            add_products(weights + g, values, 32, sums[j]);
          }
        }
      }
      for (int64_t j = 0; j < n; ++j) store(total(sums[j]), accumulate, out + (j0 + j) * out_stride + r);
    }
  }
}

void linear_f32_generic(const Matrix& w, int64_t row_begin, int64_t row_end, const float* x, int64_t x_stride,
                        const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate, void*) {
  float weights[kSlice];
  for (int64_t r = row_begin; r < row_end; ++r) {
    const uint8_t* row = w.data + r * w.row_bytes;
    for (int64_t j0 = 0; j0 < n_x; j0 += kColumns) {
      const int64_t n = n_x - j0 < kColumns ? n_x - j0 : kColumns;
      Sums sums[kColumns] = {};
      for (int64_t k0 = 0; k0 < w.k; k0 += kSlice) {
        const int64_t slice = w.k - k0 < kSlice ? w.k - k0 : kSlice;
        w.type->dequantize(row + k0 / w.type->block_elements * w.type->block_bytes, weights,
                           slice / w.type->block_elements);
        for (int64_t j = 0; j < n; ++j)
          add_products(weights, x + (x_index ? x_index[j0 + j] : j0 + j) * x_stride + k0, slice, sums[j]);
      }
      for (int64_t j = 0; j < n; ++j) store(total(sums[j]), accumulate, out + (j0 + j) * out_stride + r);
    }
  }
}

}  // namespace tally::cpu
