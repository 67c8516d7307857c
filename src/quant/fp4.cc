// MXFP4 and NVFP4: four-bit floats (E2M1) with a shared scale.
// MXFP4: 17 bytes for 32 values: scale exponent e (E8M0); nibbles[16]. value = E2M1 * 2^(e - 127).
// NVFP4: 36 bytes for 64 values in 4 sub-blocks of 16: scales[4] (unsigned E4M3); nibbles[32]. value = E2M1 * scale.
#include <bit>
#include <cmath>
#include <limits>

#include "quant/formats.h"
#include "quant/levels.h"
#include "quant/round32.h"

namespace tally::quant {
namespace {

// 2^(e - 128): half the scale, to go with doubled levels. e = 0 and 1 give subnormal floats, 255 stands for NaN.
float half_e8m0(uint8_t e) {
  if (e == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

// Half of an unsigned E4M3 number (bit 7 unused; 0x7F, which would be NaN, counts as 0).
float half_ue4m3(uint8_t x) {
  const int exponent = x >> 3 & 15, mantissa = x & 7;
  if ((x & 0x7F) == 0x7F) return 0;
  return exponent == 0 ? static_cast<float>(mantissa) * 0x1p-10f
                       : std::ldexp(1.0f + static_cast<float>(mantissa) / 8, exponent - 8);
}

// The level nearest to x / scale; the first one wins among equals.
uint32_t nearest_level(float x, float scale) {
  uint32_t best = 0;
  float best_error = std::fabs(x);
  for (uint32_t i = 1; i < 16; ++i) {
    const float error = std::fabs(static_cast<float>(kE2m1Doubled[i]) * scale - x);
    if (error < best_error) best = i, best_error = error;
  }
  return best;
}

}  // namespace

void dequantize_mxfp4(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 17, out += 32) {
    const float scale = half_e8m0(blocks[0]);
    for (int j = 0; j < 16; ++j) {
      out[j] = static_cast<float>(kE2m1Doubled[blocks[1 + j] & 15]) * scale;
      out[j + 16] = static_cast<float>(kE2m1Doubled[blocks[1 + j] >> 4]) * scale;
    }
  }
}

void quantize_mxfp4(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 17, in += kBlock32) {
    const float magnitude = std::fmin(std::fabs(signed_max(in, kBlock32)), std::numeric_limits<float>::max());
    // The largest value lands between 4 and 8 (levels end at 6).
    const int exponent = magnitude > 0 ? std::ilogb(magnitude) - 2 + 127 : 0;
    blocks[0] = static_cast<uint8_t>(exponent < 0 ? 0 : exponent > 254 ? 254 : exponent);
    const float scale = half_e8m0(blocks[0]);
    for (int j = 0; j < 16; ++j) {
      blocks[1 + j] = static_cast<uint8_t>(nearest_level(in[j], scale) | nearest_level(in[j + 16], scale) << 4);
    }
  }
}

void dequantize_nvfp4(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 36) {
    for (int sub = 0; sub < 4; ++sub, out += 16) {
      const float scale = half_ue4m3(blocks[sub]);
      const uint8_t* nibbles = blocks + 4 + 8 * sub;
      for (int j = 0; j < 8; ++j) {
        out[j] = static_cast<float>(kE2m1Doubled[nibbles[j] & 15]) * scale;
        out[j + 8] = static_cast<float>(kE2m1Doubled[nibbles[j] >> 4]) * scale;
      }
    }
  }
}

}  // namespace tally::quant
