// Weight formats for the integer kernels of the AVX2 level: codes of one group of 32 weights as bytes in order, and the
// factors of a unit of 256 weights. weight = scale · code − minimum, where formats with an offset have
// minimum = offset · scale. Formats of 32-element blocks make a unit of eight blocks.
// Internal to that level's files (everything is local to them).
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace tally::cpu {
namespace {

inline uint32_t load_u32(const void* p) {
  uint32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}
inline uint16_t load_u16(const void* p) {
  uint16_t v;
  __builtin_memcpy(&v, p, 2);
  return v;
}
inline __m256i load_32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m256i nibbles(__m256i v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }

// Shifts by a constant of the group; folded because group loops are unrolled.
inline __m256i shift_bits(__m256i v, int left) {
  return left >= 0 ? _mm256_slli_epi32(v, left) : _mm256_srli_epi32(v, -left);
}

// Factors of a unit: eight per group, or sixteen where scales stand for 16 weights.
struct Factors {
  __m256 scales[2];
  __m256 minimums[2];
};

// The factors that Q4_K and Q5_K share: 6-bit scales and minimums, eight each, in 12 bytes after d and dmin.
inline Factors k_factors(const uint8_t* block) {
  const uint32_t a = load_u32(block + 4), b = load_u32(block + 8), c = load_u32(block + 12);
  const uint64_t scales = (a & 0x3f3f3f3f) | static_cast<uint64_t>((c & 0x0f0f0f0f) | (a >> 2 & 0x30303030)) << 32;
  const uint64_t minimums = (b & 0x3f3f3f3f) | static_cast<uint64_t>((c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030))
                                                   << 32;
  const auto widen = [](uint64_t v) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(v))));
  };
  const __m256 d = _mm256_set1_ps(_cvtsh_ss(load_u16(block)));
  const __m256 minimum = _mm256_set1_ps(_cvtsh_ss(load_u16(block + 2)));
  Factors f = {};
  f.scales[0] = _mm256_mul_ps(d, widen(scales));
  f.minimums[0] = _mm256_mul_ps(minimum, widen(minimums));
  return f;
}

// Halves at `offset` of eight blocks.
template <int kBytes>
inline __m256 block_halves(const uint8_t* unit, int offset) {
  const auto at = [&](int i) { return static_cast<uint64_t>(load_u16(unit + i * kBytes + offset)); };
  const uint64_t low = at(0) | at(1) << 16 | at(2) << 32 | at(3) << 48;
  const uint64_t high = at(4) | at(5) << 16 | at(6) << 32 | at(7) << 48;
  return _mm256_cvtph_ps(_mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low)));
}

// Scale d at the front of each block and one offset for all codes.
template <int kBytes, int kOffset>
inline Factors offset_factors(const uint8_t* unit) {
  Factors f = {};
  f.scales[0] = block_halves<kBytes>(unit, 0);
  f.minimums[0] = _mm256_mul_ps(f.scales[0], _mm256_set1_ps(kOffset));
  return f;
}

template <int kBytes>
inline Factors pair_factors(const uint8_t* unit) {
  Factors f = {};
  f.scales[0] = block_halves<kBytes>(unit, 0);
  f.minimums[0] = _mm256_xor_ps(block_halves<kBytes>(unit, 2), _mm256_set1_ps(-0.0f));
  return f;
}

// 16 bytes: low nibbles first, then high ones.
inline __m256i block_nibbles(const uint8_t* p) {
  const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return nibbles(_mm256_inserti128_si256(_mm256_castsi128_si256(q), _mm_srli_epi16(q, 4), 1));
}

// 16 in each byte whose bit is set.
inline __m256i fifth_bits(const uint8_t* p) {
  const __m256i bytes = _mm256_shuffle_epi8(
      _mm256_set1_epi32(static_cast<int>(load_u32(p))),
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
  return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), _mm256_set1_epi8(16));
}

// kAdds: products of pairs that can be summed in 16 bits: 2 · 127 · largest code · kAdds < 2^15. kSigned: codes are
// signed bytes and have no minimum.
struct Q4K {
  static constexpr int kBlock = 256, kBytes = 144, kAdds = 8;
  static constexpr bool kHalves = false, kSigned = false;
  static Factors factors(const uint8_t* unit) { return k_factors(unit); }
  static __m256i codes(const uint8_t* unit, int group) {
    const __m256i q = load_32(unit + 16 + 32 * (group / 2));
    return nibbles(group % 2 ? _mm256_srli_epi32(q, 4) : q);
  }
};

struct Q5K {
  static constexpr int kBlock = 256, kBytes = 176, kAdds = 4;
  static constexpr bool kHalves = false, kSigned = false;
  static Factors factors(const uint8_t* unit) { return k_factors(unit); }
  static __m256i codes(const uint8_t* unit, int group) {
    const __m256i q = load_32(unit + 48 + 32 * (group / 2));
    const __m256i high = _mm256_and_si256(shift_bits(load_32(unit + 16), 4 - group), _mm256_set1_epi8(16));
    return _mm256_or_si256(nibbles(group % 2 ? _mm256_srli_epi32(q, 4) : q), high);
  }
};

struct Q6K {
  static constexpr int kBlock = 256, kBytes = 210, kAdds = 2;
  static constexpr bool kHalves = true, kSigned = false;
  static Factors factors(const uint8_t* unit) {
    const __m256 d = _mm256_set1_ps(_cvtsh_ss(load_u16(unit + 208)));
    Factors f;
    for (int h = 0; h < 2; ++h) {
      const __m128i scales = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(unit + 192 + 8 * h));
      f.scales[h] = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(scales)));
      f.minimums[h] = _mm256_mul_ps(f.scales[h], _mm256_set1_ps(32));
    }
    return f;
  }
  static __m256i codes(const uint8_t* unit, int group) {
    const int half = group / 4, quarter = group % 4;
    const __m256i q = load_32(unit + 64 * half + 32 * (quarter % 2));
    const __m256i high = shift_bits(load_32(unit + 128 + 32 * half), 4 - 2 * quarter);
    return _mm256_or_si256(nibbles(quarter / 2 ? _mm256_srli_epi32(q, 4) : q),
                           _mm256_and_si256(high, _mm256_set1_epi8(0x30)));
  }
};

struct Q80 {
  static constexpr int kBlock = 32, kBytes = 34, kAdds = 1;
  static constexpr bool kHalves = false, kSigned = true;
  static Factors factors(const uint8_t* unit) { return offset_factors<kBytes, 0>(unit); }
  static __m256i codes(const uint8_t* unit, int group) { return load_32(unit + group * kBytes + 2); }
};

struct Q40 {
  static constexpr int kBlock = 32, kBytes = 18, kAdds = 8;
  static constexpr bool kHalves = false, kSigned = false;
  static Factors factors(const uint8_t* unit) { return offset_factors<kBytes, 8>(unit); }
  static __m256i codes(const uint8_t* unit, int group) { return block_nibbles(unit + group * kBytes + 2); }
};

struct Q41 {
  static constexpr int kBlock = 32, kBytes = 20, kAdds = 8;
  static constexpr bool kHalves = false, kSigned = false;
  static Factors factors(const uint8_t* unit) { return pair_factors<kBytes>(unit); }
  static __m256i codes(const uint8_t* unit, int group) { return block_nibbles(unit + group * kBytes + 4); }
};

struct Q50 {
  static constexpr int kBlock = 32, kBytes = 22, kAdds = 4;
  static constexpr bool kHalves = false, kSigned = false;
  static Factors factors(const uint8_t* unit) { return offset_factors<kBytes, 16>(unit); }
  static __m256i codes(const uint8_t* unit, int group) {
    return _mm256_or_si256(block_nibbles(unit + group * kBytes + 6), fifth_bits(unit + group * kBytes + 2));
  }
};

struct Q51 {
  static constexpr int kBlock = 32, kBytes = 24, kAdds = 4;
  static constexpr bool kHalves = false, kSigned = false;
  static Factors factors(const uint8_t* unit) { return pair_factors<kBytes>(unit); }
  static __m256i codes(const uint8_t* unit, int group) {
    return _mm256_or_si256(block_nibbles(unit + group * kBytes + 8), fifth_bits(unit + group * kBytes + 4));
  }
};

struct IQ4NL {
  static constexpr int kBlock = 32, kBytes = 18, kAdds = 1;
  static constexpr bool kHalves = false, kSigned = true;
  static Factors factors(const uint8_t* unit) { return offset_factors<kBytes, 0>(unit); }
  static __m256i levels(__m256i nibble) {
    const __m128i table = _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibble);
  }
  static __m256i codes(const uint8_t* unit, int group) { return levels(block_nibbles(unit + group * kBytes + 2)); }
};

}  // namespace
}  // namespace tally::cpu
