// Further weight formats for the integer kernels of the AVX2 level; conventions as in q8_formats_avx2.h.
#pragma once

#include "backend/cpu/kernels/q8_formats_avx2.h"

namespace tally::cpu {
namespace {

// Bit pairs of Q2_K and Q3_K: 128 weights share 32 bytes, quarter j at bits 2j and 2j + 1.
inline __m256i bit_pairs(const uint8_t* pairs, int group) {
  return _mm256_and_si256(shift_bits(load_32(pairs + 32 * (group / 4)), -2 * (group % 4)), _mm256_set1_epi8(3));
}

// Eight bytes at p, unsigned, as floats.
inline __m256 widen_bytes(__m128i bytes) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)); }

struct Q2K {
  static constexpr int kBlock = 256, kBytes = 84, kAdds = 4;
  static constexpr bool kHalves = true, kSigned = false;
  static Factors factors(const uint8_t* unit) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(unit));
    const __m128i low = _mm_and_si128(packed, _mm_set1_epi8(15));
    const __m128i high = _mm_and_si128(_mm_srli_epi16(packed, 4), _mm_set1_epi8(15));
    const __m256 d = _mm256_set1_ps(_cvtsh_ss(load_u16(unit + 80)));
    const __m256 minimum = _mm256_set1_ps(_cvtsh_ss(load_u16(unit + 82)));
    Factors f;
    f.scales[0] = _mm256_mul_ps(d, widen_bytes(low));
    f.scales[1] = _mm256_mul_ps(d, widen_bytes(_mm_srli_si128(low, 8)));
    f.minimums[0] = _mm256_mul_ps(minimum, widen_bytes(high));
    f.minimums[1] = _mm256_mul_ps(minimum, widen_bytes(_mm_srli_si128(high, 8)));
    return f;
  }
  static __m256i codes(const uint8_t* unit, int group) { return bit_pairs(unit + 16, group); }
};

struct Q3K {
  static constexpr int kBlock = 256, kBytes = 110, kAdds = 4;
  static constexpr bool kHalves = true, kSigned = false;
  static Factors factors(const uint8_t* unit) {
    const uint32_t a = load_u32(unit + 96), b = load_u32(unit + 100), high = load_u32(unit + 104);
    const auto scales = [high](uint32_t low, int shift) {
      return static_cast<int>((low & 0x0f0f0f0f) | (high >> shift & 0x03030303) << 4);
    };
    const __m128i six_bits = _mm_setr_epi32(scales(a, 0), scales(b, 2), scales(a >> 4, 4), scales(b >> 4, 6));
    const __m256 d = _mm256_set1_ps(_cvtsh_ss(load_u16(unit + 108)));
    const __m256 bias = _mm256_set1_ps(32);
    Factors f;
    f.scales[0] = _mm256_mul_ps(d, _mm256_sub_ps(widen_bytes(six_bits), bias));
    f.scales[1] = _mm256_mul_ps(d, _mm256_sub_ps(widen_bytes(_mm_srli_si128(six_bits, 8)), bias));
    for (int h = 0; h < 2; ++h) f.minimums[h] = _mm256_mul_ps(f.scales[h], _mm256_set1_ps(4));
    return f;
  }
  static __m256i codes(const uint8_t* unit, int group) {
    const __m256i third_bit = _mm256_and_si256(shift_bits(load_32(unit), 2 - group), _mm256_set1_epi8(4));
    return _mm256_or_si256(bit_pairs(unit + 32, group), third_bit);
  }
};

struct IQ4XS {
  static constexpr int kBlock = 256, kBytes = 136, kAdds = 1;
  static constexpr bool kHalves = false, kSigned = true;
  static Factors factors(const uint8_t* unit) {
    const uint64_t six_bits =
        _pdep_u64(load_u32(unit + 4), 0x0f0f0f0f0f0f0f0f) | _pdep_u64(load_u16(unit + 2), 0x3030303030303030);
    const __m256 scale = widen_bytes(_mm_cvtsi64_si128(static_cast<int64_t>(six_bits)));
    Factors f = {};
    f.scales[0] = _mm256_mul_ps(_mm256_sub_ps(scale, _mm256_set1_ps(32)), _mm256_set1_ps(_cvtsh_ss(load_u16(unit))));
    return f;
  }
  static __m256i codes(const uint8_t* unit, int group) { return IQ4NL::levels(block_nibbles(unit + 8 + 16 * group)); }
};

struct MxFp4 {
  static constexpr int kBlock = 32, kBytes = 17, kAdds = 8;
  static constexpr bool kHalves = false, kSigned = true;
  // Half of 2^(e − 127), for levels that are doubled; 255 stands for NaN, 0 and 1 give subnormal numbers.
  static Factors factors(const uint8_t* unit) {
    uint64_t bytes = 0;
    for (int i = 0; i < 8; ++i) bytes |= static_cast<uint64_t>(unit[i * kBytes]) << 8 * i;
    const __m256i e = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(bytes)));
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
    const __m256i small = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
    __m256i bits = _mm256_blendv_epi8(normal, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e));
    bits = _mm256_blendv_epi8(bits, _mm256_set1_epi32(0x7fc00000), _mm256_cmpeq_epi32(e, _mm256_set1_epi32(255)));
    Factors f = {};
    f.scales[0] = _mm256_castsi256_ps(bits);
    return f;
  }
  static __m256i codes(const uint8_t* unit, int group) {
    const __m128i levels = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(levels), block_nibbles(unit + group * kBytes + 1));
  }
};

}  // namespace
}  // namespace tally::cpu
