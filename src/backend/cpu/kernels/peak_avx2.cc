#include <immintrin.h>

#include "backend/cpu/kernels/peak.h"

namespace tally::cpu {

namespace {

uint64_t read(const void* data, size_t n) {
  const auto* p = static_cast<const __m256i*>(data);
  __m256i sum[8];
  for (__m256i& s : sum) s = _mm256_setzero_si256();
  for (size_t i = 0; i < n / 32; i += 8)
    for (int k = 0; k < 8; ++k) sum[k] = _mm256_add_epi64(sum[k], _mm256_loadu_si256(p + i + k));
  for (int k = 1; k < 8; ++k) sum[0] = _mm256_add_epi64(sum[0], sum[k]);
  uint64_t words[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), sum[0]);
  return words[0] + words[1] + words[2] + words[3];
}

constexpr int kChains = 12;

float multiply_f32(int64_t n) {
  __m256 sum[kChains];
  for (int k = 0; k < kChains; ++k) sum[k] = _mm256_set1_ps(float(k));
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int64_t i = 0; i < n; ++i)
    for (__m256& s : sum) s = _mm256_fmadd_ps(s, a, b);
  for (int k = 1; k < kChains; ++k) sum[0] = _mm256_add_ps(sum[0], sum[k]);
  return _mm256_cvtss_f32(sum[0]);
}

int64_t multiply_int8(int64_t n) {
  __m256i sum[kChains];
  for (int k = 0; k < kChains; ++k) sum[k] = _mm256_set1_epi32(k);
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < n; ++i)
    for (__m256i& s : sum) {
      __asm__ volatile("" : "+x"(a));  // else the product is made once
      s = _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  for (int k = 1; k < kChains; ++k) sum[0] = _mm256_add_epi32(sum[0], sum[k]);
  return _mm256_extract_epi32(sum[0], 0);
}

}  // namespace

extern const PeakKernels kPeakAvx2;
const PeakKernels kPeakAvx2{read, multiply_f32, multiply_int8, kChains * 8 * 2, kChains * 32 * 2};

}  // namespace tally::cpu
