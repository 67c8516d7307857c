#include <emmintrin.h>

#include "backend/cpu/kernels/peak.h"

namespace tally::cpu {

namespace {

uint64_t read(const void* data, size_t n) {
  const auto* p = static_cast<const __m128i*>(data);
  __m128i sum[8];
  for (__m128i& s : sum) s = _mm_setzero_si128();
  for (size_t i = 0; i < n / 16; i += 8)
    for (int k = 0; k < 8; ++k) sum[k] = _mm_add_epi64(sum[k], _mm_loadu_si128(p + i + k));
  for (int k = 1; k < 8; ++k) sum[0] = _mm_add_epi64(sum[0], sum[k]);
  uint64_t words[2];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words), sum[0]);
  return words[0] + words[1];
}

constexpr int kChains = 12;

float multiply_f32(int64_t n) {
  __m128 sum[kChains];
  for (int k = 0; k < kChains; ++k) sum[k] = _mm_set1_ps(float(k));
  const __m128 a = _mm_set1_ps(0.999f), b = _mm_set1_ps(0.001f);
  for (int64_t i = 0; i < n; ++i)
    for (__m128& s : sum) s = _mm_add_ps(_mm_mul_ps(s, a), b);
  for (int k = 1; k < kChains; ++k) sum[0] = _mm_add_ps(sum[0], sum[k]);
  return _mm_cvtss_f32(sum[0]);
}

// Eight products of 16-bit values at a time: there is no 8-bit product at this level.
int64_t multiply_int8(int64_t n) {
  __m128i sum[kChains];
  for (int k = 0; k < kChains; ++k) sum[k] = _mm_set1_epi32(k);
  __m128i a = _mm_set1_epi16(3);
  for (int64_t i = 0; i < n; ++i) {
    __asm__ volatile("" : "+x"(a));  // else the product is made once
    for (__m128i& s : sum) s = _mm_add_epi32(s, _mm_madd_epi16(a, s));
  }
  for (int k = 1; k < kChains; ++k) sum[0] = _mm_add_epi32(sum[0], sum[k]);
  return _mm_cvtsi128_si32(sum[0]);
}

}  // namespace

extern const PeakKernels kPeakGeneric;
const PeakKernels kPeakGeneric{read, multiply_f32, multiply_int8, kChains * 4 * 2, kChains * 8 * 2};

}  // namespace tally::cpu
