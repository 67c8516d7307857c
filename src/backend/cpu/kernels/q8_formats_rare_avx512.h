// Further weight formats for the integer kernels of the AVX-512 level; conventions as in q8_formats_avx512.h.
// Where scale and minimum both stand for 16 weights, minimums() gives the 16 minimums of a unit.
#pragma once

#include "backend/cpu/kernels/q8_formats_avx512.h"

namespace tally::cpu {
namespace {

// Bit pairs of Q2_K and Q3_K: 128 weights share 32 bytes, quarter j at bits 2j and 2j + 1.
inline __m512i bit_pairs(const uint8_t* pairs, int chunk) {
  const int shift = 4 * (chunk % 2);
  return _mm512_and_si512(rotate_bits(twice(pairs + 32 * (chunk / 2)), -shift, -shift - 2), _mm512_set1_epi8(3));
}

struct Q2K {
  static constexpr int kBlock = 256, kBytes = 84, kOffset = 0;
  static constexpr bool kHalves = true, kMinimum = true;
  static __m512 widen(__m128i nibble_bytes, const uint8_t* half) {
    const __m128i low = _mm_and_si128(nibble_bytes, _mm_set1_epi8(15));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(low)), _mm512_set1_ps(_cvtsh_ss(load_u16(half))));
  }
  static __m128i packed(const uint8_t* unit) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(unit)); }
  static __m512 factors(const uint8_t* unit) { return widen(packed(unit), unit + 80); }
  static __m512 minimums(const uint8_t* unit) { return widen(_mm_srli_epi16(packed(unit), 4), unit + 82); }
  static __m512i codes(const uint8_t* unit, int chunk) { return bit_pairs(unit + 16, chunk); }
};

struct Q3K {
  static constexpr int kBlock = 256, kBytes = 110, kOffset = 4;
  static constexpr bool kHalves = true, kMinimum = false;
  static __m512 factors(const uint8_t* unit) {
    const uint32_t a = load_u32(unit + 96), b = load_u32(unit + 100), high = load_u32(unit + 104);
    const auto scales = [high](uint32_t low, int shift) {
      return static_cast<int>((low & 0x0f0f0f0f) | (high >> shift & 0x03030303) << 4);
    };
    const __m128i six_bits = _mm_setr_epi32(scales(a, 0), scales(b, 2), scales(a >> 4, 4), scales(b >> 4, 6));
    const __m512i scale = _mm512_sub_epi32(_mm512_cvtepu8_epi32(six_bits), _mm512_set1_epi32(32));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(scale), _mm512_set1_ps(_cvtsh_ss(load_u16(unit + 108))));
  }
  static __m512i codes(const uint8_t* unit, int chunk) {
    return merge_bits(bit_pairs(unit + 32, chunk), rotate_bits(twice(unit), 2 - 2 * chunk, 1 - 2 * chunk), 4);
  }
};

struct IQ4XS {
  static constexpr int kBlock = 256, kBytes = 136, kOffset = 128;
  static constexpr bool kHalves = false, kMinimum = false;
  static __m512 factors(const uint8_t* unit) {
    const uint64_t six_bits =
        _pdep_u64(load_u32(unit + 4), 0x0f0f0f0f0f0f0f0f) | _pdep_u64(load_u16(unit + 2), 0x3030303030303030);
    const __m256i scale = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(six_bits)));
    const __m256 d = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(scale, _mm256_set1_epi32(32))),
                                   _mm256_set1_ps(_cvtsh_ss(load_u16(unit))));
    return join(d, _mm256_mul_ps(d, _mm256_set1_ps(kOffset)));
  }
  static __m512i codes(const uint8_t* unit, int chunk) { return IQ4NL::levels(block_nibbles<16>(unit, chunk, 8)); }
};

struct MxFp4 {
  static constexpr int kBlock = 32, kBytes = 17, kOffset = 12;
  static constexpr bool kHalves = false, kMinimum = false;
  // Half of 2^(e − 127), for levels that are doubled; 255 stands for NaN, 0 and 1 give subnormal numbers.
  static __m512 factors(const uint8_t* unit) {
    uint64_t bytes = 0;
    for (int i = 0; i < 8; ++i) bytes |= static_cast<uint64_t>(unit[i * kBytes]) << 8 * i;
    const __m256i e = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    __m256i bits = _mm256_blendv_epi8(normal, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e));
    bits = _mm256_blendv_epi8(bits, _mm256_set1_epi32(0x7fc00000), _mm256_cmpeq_epi32(e, _mm256_set1_epi32(255)));
    const __m256 d = _mm256_castsi256_ps(bits);
    return join(d, _mm256_mul_ps(d, _mm256_set1_ps(kOffset)));
  }
  static __m512i codes(const uint8_t* unit, int chunk) {
    const __m128i levels = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);  // + 12
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), block_nibbles<kBytes>(unit, chunk, 1));
  }
};

}  // namespace
}  // namespace tally::cpu
