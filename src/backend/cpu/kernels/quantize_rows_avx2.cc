// Activations to signed 8 bit, as quantize_rows_generic defines it (the same bits).
#include <immintrin.h>

#include "backend/cpu/kernels/linear_parts.h"

namespace tally::cpu {
namespace {

float max_of(__m256 v) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
float min_of(__m256 v) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
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

// Eight codes: rounded, less the zero point, within ±127.
__m256i codes_of(__m256 v, __m256 inverse, __m256i zero) {
  const __m256i code = _mm256_sub_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(v, inverse)), zero);
  return _mm256_max_epi32(_mm256_min_epi32(code, _mm256_set1_epi32(127)), _mm256_set1_epi32(-127));
}

struct Group {
  float scale, inverse;
  int32_t zero;
};

Group group_of(const __m256 (&v)[4]) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff), infinite = _mm256_set1_epi32(0x7f7fffff);
  __m256i bad = _mm256_setzero_si256();
  for (const __m256& x : v)
    bad = _mm256_or_si256(bad, _mm256_cmpgt_epi32(_mm256_and_si256(_mm256_castps_si256(x), magnitude), infinite));
  if (!_mm256_testz_si256(bad, bad)) return {__builtin_nanf(""), 0, 0};
  const float high = max_of(_mm256_max_ps(_mm256_max_ps(v[0], v[1]), _mm256_max_ps(v[2], v[3])));
  const float low = min_of(_mm256_min_ps(_mm256_min_ps(v[0], v[1]), _mm256_min_ps(v[2], v[3])));
  const float middle = 0.5f * high + 0.5f * low, half = 0.5f * high - 0.5f * low;
  const float distance = middle < 0 ? -middle : middle;
  const float widest = half > distance ? half : distance;
  if (widest < 1e-36f) return {0, 0, 0};
  const float inverse = 126.5f / widest;
  return {widest / 126.5f, inverse, _mm_cvtss_si32(_mm_set_ss(middle * inverse))};
}

void quantize_group(const float* from, const QuantizedRows& out, int64_t at) {
  __m256 v[4];
  for (int i = 0; i < 4; ++i) v[i] = _mm256_loadu_ps(from + 8 * i);
  const Group group = group_of(v);
  __m256i codes = _mm256_setzero_si256();
  if (group.inverse > 0) {
    const __m256 f = _mm256_set1_ps(group.inverse);
    const __m256i z = _mm256_set1_epi32(group.zero);
    codes = pack(codes_of(v[0], f, z), codes_of(v[1], f, z), codes_of(v[2], f, z), codes_of(v[3], f, z));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.codes + at * 32), codes);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.zeros + at * 32), _mm256_set1_epi8(static_cast<char>(group.zero)));
  HalfSums sum = sums_of(codes);
  sum.low += 16 * group.zero, sum.high += 16 * group.zero;
  float* factors = out.factors + at / 8 * 16 + at % 8;
  factors[0] = group.scale;
  factors[8] = -group.scale * static_cast<float>(sum.low + sum.high);
  out.offsets[at] = -128 * (sum.low + sum.high);
  out.half_sums[2 * at] = -group.scale * static_cast<float>(sum.low);
  out.half_sums[2 * at + 1] = -group.scale * static_cast<float>(sum.high);
  out.half_offsets[2 * at] = -128 * sum.low;
  out.half_offsets[2 * at + 1] = -128 * sum.high;
}

void zero_group(const QuantizedRows& out, int64_t at) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.codes + at * 32), _mm256_setzero_si256());
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.zeros + at * 32), _mm256_setzero_si256());
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
