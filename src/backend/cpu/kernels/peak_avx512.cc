#include <immintrin.h>

#include "backend/cpu/kernels/peak.h"

namespace tally::cpu {

namespace {

uint64_t read(const void* data, size_t n) {
  const auto* p = static_cast<const __m512i*>(data);
  __m512i sum[8];
  for (__m512i& s : sum) s = _mm512_setzero_si512();
  for (size_t i = 0; i < n / 64; i += 8)
    for (int k = 0; k < 8; ++k) sum[k] = _mm512_add_epi64(sum[k], _mm512_loadu_si512(p + i + k));
  for (int k = 1; k < 8; ++k) sum[0] = _mm512_add_epi64(sum[0], sum[k]);
  uint64_t words[8], total = 0;  // unsigned: they wrap
  _mm512_storeu_si512(words, sum[0]);
  for (uint64_t w : words) total += w;
  return total;
}

constexpr int kChains = 16;

float multiply_f32(int64_t n) {
  __m512 sum[kChains];
  for (int k = 0; k < kChains; ++k) sum[k] = _mm512_set1_ps(float(k));
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int64_t i = 0; i < n; ++i)
    for (__m512& s : sum) s = _mm512_fmadd_ps(s, a, b);
  for (int k = 1; k < kChains; ++k) sum[0] = _mm512_add_ps(sum[0], sum[k]);
  return _mm512_reduce_add_ps(sum[0]);
}

int64_t multiply_int8(int64_t n) {
  __m512i sum[kChains];
  for (int k = 0; k < kChains; ++k) sum[k] = _mm512_set1_epi32(k);
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (int64_t i = 0; i < n; ++i)
    for (__m512i& s : sum) s = _mm512_dpbusd_epi32(s, a, b);
  for (int k = 1; k < kChains; ++k) sum[0] = _mm512_add_epi32(sum[0], sum[k]);
  return _mm_cvtsi128_si32(_mm512_castsi512_si128(sum[0]));
}

}  // namespace

extern const PeakKernels kPeakAvx512;
const PeakKernels kPeakAvx512{read, multiply_f32, multiply_int8, kChains * 16 * 2, kChains * 64 * 2};

}  // namespace tally::cpu
