// Vectors of 8 floats in AVX2 registers (with FMA and F16C). Same names and meanings as in simd_avx512.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tally::cpu {
namespace {

struct Half {
  uint16_t bits;
};
using F = __m256;
using F4 [[gnu::vector_size(16)]] = float;
constexpr int kLanes = 8;

constexpr int kBlockQueries = 6;
constexpr int score_vectors(int n_queries) { return n_queries == 1 ? 8 : n_queries <= 3 ? 4 : 2; }
constexpr int value_vectors(int n_queries) { return n_queries <= 3 ? 4 : 2; }
constexpr int kNarrowQueries = 4;

[[gnu::always_inline]] inline __m256i lane_index() { return _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0); }
[[gnu::always_inline]] inline __m256i first_lanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane_index());
}

[[gnu::always_inline]] inline F zero() { return _mm256_setzero_ps(); }
[[gnu::always_inline]] inline F set(float x) { return _mm256_set1_ps(x); }
[[gnu::always_inline]] inline F load(const float* p) { return _mm256_loadu_ps(p); }
[[gnu::always_inline]] inline F load(const Half* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
[[gnu::always_inline]] inline F load(const float* p, int n) { return _mm256_maskload_ps(p, first_lanes(n)); }
[[gnu::always_inline]] inline F load(const Half* p, int n) {
  Half copy[kLanes] = {};
  for (int i = 0; i < n; ++i) copy[i] = p[i];
  return load(copy);
}
[[gnu::always_inline]] inline void store(float* p, F x) { _mm256_storeu_ps(p, x); }
[[gnu::always_inline]] inline void store(float* p, F x, int n) { _mm256_maskstore_ps(p, first_lanes(n), x); }
[[gnu::always_inline]] inline void store(Half* p, F x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
[[gnu::always_inline]] inline F gather(const float* p, int stride) {
  return _mm256_i32gather_ps(p, _mm256_mullo_epi32(lane_index(), _mm256_set1_epi32(stride)), 4);
}

[[gnu::always_inline]] inline F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
[[gnu::always_inline]] inline F larger(F a, F b) { return _mm256_max_ps(a, b); }
[[gnu::always_inline]] inline F smaller(F a, F b) { return _mm256_min_ps(a, b); }
[[gnu::always_inline]] inline F nearest(F x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// 2^n for whole n in [−126, 127].
[[gnu::always_inline]] inline F power_of_two(__m256i n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
// In two steps, because 2^n itself may not be a float where x · 2^n is; |n| <= 252.
[[gnu::always_inline]] inline F scale_by_power(F x, F n) {
  const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
  return x * power_of_two(half) * power_of_two(_mm256_sub_epi32(whole, half));
}
[[gnu::always_inline]] inline F keep_lanes(F x, int begin, int end, F other) {
  const __m256i outside = _mm256_cmpgt_epi32(_mm256_set1_epi32(begin), lane_index());
  return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(_mm256_andnot_si256(outside, first_lanes(end))));
}

[[gnu::always_inline]] inline F load_twice(const float* p) {
  const __m256 both = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(p));
  return _mm256_permutevar_ps(both, _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0));
}
[[gnu::always_inline]] inline F swap_pairs(F x) { return _mm256_permute_ps(x, 0xB1); }
[[gnu::always_inline]] inline F subtract_add(F a, F b) { return _mm256_addsub_ps(a, b); }

[[gnu::always_inline]] inline __m128 fold_add(F x) { return _mm256_castps256_ps128(x) + _mm256_extractf128_ps(x, 1); }
[[gnu::always_inline]] inline F4 sum_each(F a, F b, F c, F d) {
  const __m256d ab = _mm256_castps_pd(_mm256_unpacklo_ps(a, b) + _mm256_unpackhi_ps(a, b));
  const __m256d cd = _mm256_castps_pd(_mm256_unpacklo_ps(c, d) + _mm256_unpackhi_ps(c, d));
  return fold_add(_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)) + _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));
}
[[gnu::always_inline]] inline float sum(F x) {
  const __m128 pairs = _mm_hadd_ps(fold_add(x), fold_add(x));
  return _mm_cvtss_f32(_mm_hadd_ps(pairs, pairs));
}
[[gnu::always_inline]] inline float largest(F x) {
  __m128 top = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  top = _mm_max_ps(top, _mm_movehl_ps(top, top));
  return _mm_cvtss_f32(_mm_max_ss(top, _mm_movehdup_ps(top)));
}

struct Wide {
  __m256d low, high;
};
[[gnu::always_inline]] inline Wide wide_zero() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
[[gnu::always_inline]] inline Wide wide_fma(F a, F b, Wide c) {
  return {
      _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_castps256_ps128(b)), c.low),
      _mm256_fmadd_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)), _mm256_cvtps_pd(_mm256_extractf128_ps(b, 1)),
                      c.high)};
}
[[gnu::always_inline]] inline double sum(Wide x) {
  const __m256d both = x.low + x.high;
  const __m128d pair = _mm256_castpd256_pd128(both) + _mm256_extractf128_pd(both, 1);
  return _mm_cvtsd_f64(_mm_hadd_pd(pair, pair));
}

}  // namespace
}  // namespace tally::cpu
