// Weight formats for the integer kernels of the AVX-512 level: codes of 64 consecutive weights as unsigned bytes in
// order, and the factors of a unit of 256 weights. weight = scale · code − minimum (a minimum per group), or
// scale · (code − kOffset), where minimum = kOffset · scale. Formats of 32-element blocks make a unit of eight blocks.
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

inline __m512i twice(const uint8_t* p) {  // 32 bytes in both halves
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline __m512i nibbles(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }

// Shift counts (or others) for the two halves of a register.
template <int kLow, int kHigh>
inline __m512i halves() {
  return _mm512_setr_epi32(kLow, kLow, kLow, kLow, kLow, kLow, kLow, kLow, kHigh, kHigh, kHigh, kHigh, kHigh, kHigh,
                           kHigh, kHigh);
}

// low | (high & mask)
inline __m512i merge_bits(__m512i low, __m512i high, int mask) {
  return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(static_cast<char>(mask)), 0xf8);
}

// Rotates by a constant of the chunk; the compiler folds it because chunk loops are unrolled.
inline __m512i rotate_bits(__m512i v, int low, int high) {
  const __m512i count = _mm512_inserti64x4(_mm512_set1_epi32(low & 31), _mm256_set1_epi32(high & 31), 1);
  return _mm512_rolv_epi32(v, count);
}

// The factors that Q4_K and Q5_K share: 6-bit scales and minimums, eight each, in 12 bytes after d and dmin.
inline __m512 k_factors(const uint8_t* block) {
  const uint32_t a = load_u32(block + 4), b = load_u32(block + 8), c = load_u32(block + 12);
  const uint64_t scales = (a & 0x3f3f3f3f) | static_cast<uint64_t>((c & 0x0f0f0f0f) | (a >> 2 & 0x30303030)) << 32;
  const uint64_t minimums = (b & 0x3f3f3f3f) | static_cast<uint64_t>((c >> 4 & 0x0f0f0f0f) | (b >> 2 & 0x30303030))
                                                   << 32;
  const __m128i bytes = _mm_set_epi64x(static_cast<int64_t>(minimums), static_cast<int64_t>(scales));
  const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(load_u32(block))));
  const __m512 pair = _mm512_permutexvar_ps(halves<0, 1>(), _mm512_castps128_ps512(d));
  return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)), pair);
}

// Halves at `offset` of eight blocks.
template <int kBytes>
inline __m256 block_halves(const uint8_t* unit, int offset) {
  const auto at = [&](int i) { return static_cast<uint64_t>(load_u16(unit + i * kBytes + offset)); };
  const uint64_t low = at(0) | at(1) << 16 | at(2) << 32 | at(3) << 48;
  const uint64_t high = at(4) | at(5) << 16 | at(6) << 32 | at(7) << 48;
  return _mm256_cvtph_ps(_mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low)));
}

inline __m512 join(__m256 low, __m256 high) { return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1); }

// Scale d at the front of each block and one offset for all codes.
template <int kBytes, int kOffset>
inline __m512 offset_factors(const uint8_t* unit) {
  const __m256 d = block_halves<kBytes>(unit, 0);
  return join(d, _mm256_mul_ps(d, _mm256_set1_ps(kOffset)));
}

// Scale and value of code 0 at the front of each block.
template <int kBytes>
inline __m512 pair_factors(const uint8_t* unit) {
  return join(block_halves<kBytes>(unit, 0), _mm256_xor_ps(block_halves<kBytes>(unit, 2), _mm256_set1_ps(-0.0f)));
}

// Nibbles of the two blocks of a chunk: 16 bytes each, low nibbles first.
template <int kBytes>
inline __m512i block_nibbles(const uint8_t* unit, int chunk, int offset) {
  const uint8_t* p = unit + 2 * chunk * kBytes + offset;
  const __m512i first = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + kBytes));
  const __m512i both = _mm512_mask_broadcast_i32x4(first, 0xff00, second);
  return nibbles(_mm512_srlv_epi32(both, _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 0, 0, 0, 0, 4, 4, 4, 4)));
}

// The fifth bits of the two blocks of a chunk: 32 bits each, in order.
template <int kBytes>
inline __m512i add_fifth_bits(__m512i codes, const uint8_t* unit, int chunk, int offset) {
  const uint8_t* p = unit + 2 * chunk * kBytes + offset;
  const uint64_t bits = load_u32(p) | static_cast<uint64_t>(load_u32(p + kBytes)) << 32;
  return _mm512_mask_add_epi8(codes, _cvtu64_mask64(bits), codes, _mm512_set1_epi8(16));
}

struct Q4K {
  static constexpr int kBlock = 256, kBytes = 144, kOffset = 0;
  static constexpr bool kHalves = false, kMinimum = true;
  static __m512 factors(const uint8_t* unit) { return k_factors(unit); }
  static __m512i codes(const uint8_t* unit, int chunk) {
    return nibbles(_mm512_srlv_epi32(twice(unit + 16 + 32 * chunk), halves<0, 4>()));
  }
};

struct Q5K {
  static constexpr int kBlock = 256, kBytes = 176, kOffset = 0;
  static constexpr bool kHalves = false, kMinimum = true;
  static __m512 factors(const uint8_t* unit) { return k_factors(unit); }
  static __m512i codes(const uint8_t* unit, int chunk) {
    const __m512i low = nibbles(_mm512_srlv_epi32(twice(unit + 48 + 32 * chunk), halves<0, 4>()));
    return merge_bits(low, rotate_bits(twice(unit + 16), 4 - 2 * chunk, 3 - 2 * chunk), 16);
  }
};

struct Q6K {
  static constexpr int kBlock = 256, kBytes = 210, kOffset = 32;
  static constexpr bool kHalves = true, kMinimum = false;
  static __m512 factors(const uint8_t* unit) {
    const __m128i scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(unit + 192));
    const __m512 d = _mm512_set1_ps(_cvtsh_ss(load_u16(unit + 208)));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(scales)), d);
  }
  static __m512i codes(const uint8_t* unit, int chunk) {
    const int half = chunk / 2, upper = chunk % 2;  // 128 weights share 64 low bytes: low nibbles first, then high ones
    const __m512i packed = _mm512_loadu_si512(unit + 64 * half);
    const __m512i low = nibbles(upper ? _mm512_srli_epi32(packed, 4) : packed);
    return merge_bits(low, rotate_bits(twice(unit + 128 + 32 * half), 4 - 4 * upper, 2 - 4 * upper), 0x30);
  }
};

struct Q80 {
  static constexpr int kBlock = 32, kBytes = 34, kOffset = 128;
  static constexpr bool kHalves = false, kMinimum = false;
  static __m512 factors(const uint8_t* unit) { return offset_factors<kBytes, kOffset>(unit); }
  static __m512i codes(const uint8_t* unit, int chunk) {
    const uint8_t* p = unit + 2 * chunk * kBytes + 2;
    const __m512i first = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + kBytes));
    return _mm512_xor_si512(_mm512_inserti64x4(first, second, 1), _mm512_set1_epi8(-128));
  }
};

struct Q40 {
  static constexpr int kBlock = 32, kBytes = 18, kOffset = 8;
  static constexpr bool kHalves = false, kMinimum = false;
  static __m512 factors(const uint8_t* unit) { return offset_factors<kBytes, kOffset>(unit); }
  static __m512i codes(const uint8_t* unit, int chunk) { return block_nibbles<kBytes>(unit, chunk, 2); }
};

struct Q41 {
  static constexpr int kBlock = 32, kBytes = 20, kOffset = 0;
  static constexpr bool kHalves = false, kMinimum = true;
  static __m512 factors(const uint8_t* unit) { return pair_factors<kBytes>(unit); }
  static __m512i codes(const uint8_t* unit, int chunk) { return block_nibbles<kBytes>(unit, chunk, 4); }
};

struct Q50 {
  static constexpr int kBlock = 32, kBytes = 22, kOffset = 16;
  static constexpr bool kHalves = false, kMinimum = false;
  static __m512 factors(const uint8_t* unit) { return offset_factors<kBytes, kOffset>(unit); }
  static __m512i codes(const uint8_t* unit, int chunk) {
    return add_fifth_bits<kBytes>(block_nibbles<kBytes>(unit, chunk, 6), unit, chunk, 2);
  }
};

struct Q51 {
  static constexpr int kBlock = 32, kBytes = 24, kOffset = 0;
  static constexpr bool kHalves = false, kMinimum = true;
  static __m512 factors(const uint8_t* unit) { return pair_factors<kBytes>(unit); }
  static __m512i codes(const uint8_t* unit, int chunk) {
    return add_fifth_bits<kBytes>(block_nibbles<kBytes>(unit, chunk, 8), unit, chunk, 4);
  }
};

struct IQ4NL {
  static constexpr int kBlock = 32, kBytes = 18, kOffset = 128;
  static constexpr bool kHalves = false, kMinimum = false;
  static __m512 factors(const uint8_t* unit) { return offset_factors<kBytes, kOffset>(unit); }
  static __m512i levels(__m512i nibble) {
    const __m128i table = _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, static_cast<char>(129), static_cast<char>(141),
                                        static_cast<char>(153), static_cast<char>(166), static_cast<char>(181),
                                        static_cast<char>(197), static_cast<char>(217),
                                        static_cast<char>(241));  // the format's levels + 128
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibble);
  }
  static __m512i codes(const uint8_t* unit, int chunk) { return levels(block_nibbles<kBytes>(unit, chunk, 2)); }
};

}  // namespace
}  // namespace tally::cpu
