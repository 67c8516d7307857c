// Vectors of 16 floats in AVX-512 registers: the vocabulary in which float_*_impl.h are written (simd_avx2.h and
// simd_generic.h define the same names). Everything is local to the including file, so no code of one instruction-set
// level can be linked into another. Arithmetic + − * / comes from the compiler's vector types and is never contracted.
#pragma once

// GCC's header leaves registers undefined on purpose, and then warns about itself (GCC bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>

namespace tally::cpu {
namespace {

struct Half {
  uint16_t bits;
};
using F = __m512;
using F4 [[gnu::vector_size(16)]] = float;
constexpr int kLanes = 16;

// Register blocking of attention: queries at once, and vectors of positions or features at once for that many queries.
constexpr int kBlockQueries = 6;
constexpr int score_vectors(int) { return 4; }
constexpr int value_vectors(int) { return 4; }
// Half pages are multiplied as they are for at most this many queries; for more they are converted first.
constexpr int kNarrowQueries = 4;

[[gnu::always_inline]] inline __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1u); }

[[gnu::always_inline]] inline F zero() { return _mm512_setzero_ps(); }
[[gnu::always_inline]] inline F set(float x) { return _mm512_set1_ps(x); }
[[gnu::always_inline]] inline F load(const float* p) { return _mm512_loadu_ps(p); }
[[gnu::always_inline]] inline F load(const Half* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
// The first n < kLanes lanes; the others are zero and their memory is not touched.
[[gnu::always_inline]] inline F load(const float* p, int n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
[[gnu::always_inline]] inline F load(const Half* p, int n) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
[[gnu::always_inline]] inline void store(float* p, F x) { _mm512_storeu_ps(p, x); }
[[gnu::always_inline]] inline void store(float* p, F x, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), x); }
// Rounded to nearest, ties to even.
[[gnu::always_inline]] inline void store(Half* p, F x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

// p[0], p[stride], p[2 · stride], …
[[gnu::always_inline]] inline F gather(const float* p, int stride) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_i32gather_ps(_mm512_mullo_epi32(lane, _mm512_set1_epi32(stride)), p, 4);
}

// a · b + c, rounded once (simd_generic.h: twice).
[[gnu::always_inline]] inline F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
// b where a is NaN or b is.
[[gnu::always_inline]] inline F larger(F a, F b) { return _mm512_max_ps(a, b); }
[[gnu::always_inline]] inline F smaller(F a, F b) { return _mm512_min_ps(a, b); }
[[gnu::always_inline]] inline F nearest(F x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// x · 2^n for a whole n, with gradual underflow.
[[gnu::always_inline]] inline F scale_by_power(F x, F n) { return _mm512_scalef_ps(x, n); }
// Lanes begin <= lane < end of x, `other` elsewhere.
[[gnu::always_inline]] inline F keep_lanes(F x, int begin, int end, F other) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __mmask16 below = _mm512_cmplt_epi32_mask(lane, _mm512_set1_epi32(end));
  return _mm512_mask_mov_ps(other, _mm512_mask_cmpge_epi32_mask(below, lane, _mm512_set1_epi32(begin)), x);
}

// x[0] x[0] x[1] x[1] …, from kLanes / 2 floats.
[[gnu::always_inline]] inline F load_twice(const float* p) {
  const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  return _mm512_permutexvar_ps(twice, _mm512_castps256_ps512(_mm256_loadu_ps(p)));
}
// x[1] x[0] x[3] x[2] …
[[gnu::always_inline]] inline F swap_pairs(F x) { return _mm512_permute_ps(x, 0xB1); }
// a[0] − b[0], a[1] + b[1], a[2] − b[2], …
[[gnu::always_inline]] inline F subtract_add(F a, F b) { return _mm512_mask_sub_ps(a + b, 0x5555, a, b); }

[[gnu::always_inline]] inline __m128 fold_add(F x) {
  const __m256 half = _mm512_castps512_ps256(x) + _mm512_extractf32x8_ps(x, 1);
  return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
}
// Sums of the lanes of four vectors; the order of additions is the same for each.
[[gnu::always_inline]] inline F4 sum_each(F a, F b, F c, F d) {
  const __m512d ab = _mm512_castps_pd(_mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b));
  const __m512d cd = _mm512_castps_pd(_mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d));
  return fold_add(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)) + _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
}
[[gnu::always_inline]] inline float sum(F x) {
  const __m128 pairs = _mm_hadd_ps(fold_add(x), fold_add(x));
  return _mm_cvtss_f32(_mm_hadd_ps(pairs, pairs));
}
[[gnu::always_inline]] inline float largest(F x) { return _mm512_reduce_max_ps(x); }

// As many doubles as a vector has floats, for sums that must be exact to float32.
struct Wide {
  __m512d low, high;
};
[[gnu::always_inline]] inline Wide wide_zero() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
[[gnu::always_inline]] inline Wide wide_fma(F a, F b, Wide c) {
  return {
      _mm512_fmadd_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_castps512_ps256(b)), c.low),
      _mm512_fmadd_pd(_mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(b, 1)),
                      c.high)};
}
[[gnu::always_inline]] inline double sum(Wide x) { return _mm512_reduce_add_pd(x.low + x.high); }

}  // namespace
}  // namespace tally::cpu
