// Conversions between float32 and the 16-bit formats: IEEE half (F16) and bfloat16 (BF16). Both ways exact or rounded
// to nearest, ties to even; independent of flush-to-zero modes in the half direction.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace tally::quant {

inline float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = h & 0x7FFFu;
  // Normal numbers: move exponent and mantissa, then change the bias from 15 to 127 (infinity and NaN: from 31 to 255).
  const uint32_t bias = magnitude >= 0x7C00u ? 224u << 23 : 112u << 23;
  const uint32_t normal = (magnitude << 13) + bias;
  // Subnormal numbers and zero: a small integer times 2^-24.
  const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  return std::bit_cast<float>(sign | (magnitude < 0x0400u ? subnormal : normal));
}

inline uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u | ((magnitude >> 13) & 0x1FFu);  // NaN stays NaN, quiet
  } else if (magnitude >= 0x477FF000u) {
    half = 0x7C00u;  // at least 65520: rounds to infinity
  } else if (magnitude >= 0x38800000u) {
    // Normal result: adding just under half a unit plus the kept bit rounds ties to even; a carry raises the exponent.
    half = (magnitude - (112u << 23) + 0x0FFFu + ((magnitude >> 13) & 1u)) >> 13;
  } else if (magnitude >= 0x33000000u) {
    // Subnormal result: shift the mantissa (with its leading one) to units of 2^-24 and round.
    const uint32_t mantissa = (magnitude & 0x007FFFFFu) | 0x00800000u;
    const uint32_t shift = 126u - (magnitude >> 23);  // 14..24
    const uint32_t rest = mantissa & ((1u << shift) - 1u), middle = 1u << (shift - 1u);
    half = mantissa >> shift;
    half += rest > middle || (rest == middle && (half & 1u) != 0);
  } else {
    half = 0;  // less than half of the smallest subnormal
  }
  return static_cast<uint16_t>(sign | half);
}

inline float bf16_to_float(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x0040u);  // NaN, quiet
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// Unaligned little-endian loads and stores: blocks are packed and need no alignment.
inline uint16_t load_u16(const uint8_t* p) {
  uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline uint32_t load_u32(const uint8_t* p) {
  uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store_u16(uint8_t* p, uint16_t v) { std::memcpy(p, &v, sizeof v); }
inline void store_u32(uint8_t* p, uint32_t v) { std::memcpy(p, &v, sizeof v); }
inline float load_half(const uint8_t* p) { return half_to_float(load_u16(p)); }
static_assert(std::endian::native == std::endian::little, "block formats are read in the machine's byte order");

}  // namespace tally::quant
