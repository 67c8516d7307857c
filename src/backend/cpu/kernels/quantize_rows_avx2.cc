// Activations to signed 8 bit, as quantize_rows_generic defines it (the same bits).
#include <immintrin.h>

#include "backend/cpu/kernels/linear_parts.h"

namespace tally::cpu {
namespace {

int32_t max_of(__m256i v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}

// Codes of 32 values in order, from four registers of eight each.
__m256i pack(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Sums of the two halves of 32 codes.
struct HalfSums {
  int32_t low, high;
};

HalfSums sums_of(__m256i codes) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
  const __m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  __m256i s = _mm256_add_epi32(quads, _mm256_shuffle_epi32(quads, 0x4e));
  s = _mm256_add_epi32(s, _mm256_shuffle_epi32(s, 0xb1));
  return {_mm256_cvtsi256_si32(s), _mm256_extract_epi32(s, 4)};
}

void quantize_group(const float* from, const QuantizedRows& out, int64_t at) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256 v[4];
  __m256i max_bits = _mm256_setzero_si256();
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_loadu_ps(from + 8 * i);
    max_bits = _mm256_max_epi32(max_bits, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
  }
  const int32_t bits = max_of(max_bits);
  const float max = __builtin_bit_cast(float, bits);
  float scale = max / 127.0f, inverse = 127.0f / max;
  if (bits >= 0x7f800000) {
    scale = __builtin_nanf("");
    inverse = 0;
  } else if (max < 1e-36f) {
    scale = inverse = 0;
  }
  __m256i codes = _mm256_setzero_si256();
  if (inverse > 0) {
    const __m256 factor = _mm256_set1_ps(inverse);
    codes = pack(_mm256_cvtps_epi32(_mm256_mul_ps(v[0], factor)), _mm256_cvtps_epi32(_mm256_mul_ps(v[1], factor)),
                 _mm256_cvtps_epi32(_mm256_mul_ps(v[2], factor)), _mm256_cvtps_epi32(_mm256_mul_ps(v[3], factor)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.codes + at * 32), codes);
  const HalfSums sum = sums_of(codes);
  float* factors = out.factors + at / 8 * 16 + at % 8;
  factors[0] = scale;
  factors[8] = -scale * static_cast<float>(sum.low + sum.high);
  out.offsets[at] = -128 * (sum.low + sum.high);
  out.half_sums[2 * at] = -scale * static_cast<float>(sum.low);
  out.half_sums[2 * at + 1] = -scale * static_cast<float>(sum.high);
  out.half_offsets[2 * at] = -128 * sum.low;
  out.half_offsets[2 * at + 1] = -128 * sum.high;
}

void zero_group(const QuantizedRows& out, int64_t at) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.codes + at * 32), _mm256_setzero_si256());
  float* factors = out.factors + at / 8 * 16 + at % 8;
  factors[0] = factors[8] = out.half_sums[2 * at] = out.half_sums[2 * at + 1] = 0;
  out.offsets[at] = out.half_offsets[2 * at] = out.half_offsets[2 * at + 1] = 0;
}

}  // namespace

void quantize_rows_avx2(const float* x, int64_t x_stride, int64_t row_begin, int64_t row_end,
                        const QuantizedRows& out) {
  const int64_t n_groups = out.k_padded / 32, n_real = out.k / 32;
  for (int64_t row = row_begin; row < row_end; ++row) {
    for (int64_t g = 0; g < n_real; ++g) quantize_group(x + row * x_stride + g * 32, out, row * n_groups + g);
    for (int64_t g = n_real; g < n_groups; ++g) zero_group(out, row * n_groups + g);
  }
}

}  // namespace tally::cpu
