// Q5_1: 24 bytes for 32 values: half d; half m; 32 fifth bits; nibbles[16]. value = code * d + m,
// code = nibble + 16 * bit; low nibbles are the first 16 values.
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"

namespace tally::quant {

void dequantize_q5_1(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 24, out += kBlock32) {
    const float d = load_half(blocks), m = load_half(blocks + 2);
    const uint32_t bits = load_u32(blocks + 4);
    for (int j = 0; j < 16; ++j) {
      const uint32_t low = (blocks[8 + j] & 15u) | (bits >> j & 1u) << 4;
      const uint32_t high = (blocks[8 + j] >> 4) | (bits >> (j + 16) & 1u) << 4;
      out[j] = static_cast<float>(static_cast<int>(low)) * d + m;
      out[j + 16] = static_cast<float>(static_cast<int>(high)) * d + m;
    }
  }
}

void quantize_q5_1(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 24, in += kBlock32) {
    const Range range = range_of(in, kBlock32);
    const float d = (range.max - range.min) / 31;
    const float inverse = inverse_or_zero(d);
    uint32_t bits = 0;
    for (int j = 0; j < 16; ++j) {
      const uint32_t low = clamp_code((in[j] - range.min) * inverse + 0.5f, 31);
      const uint32_t high = clamp_code((in[j + 16] - range.min) * inverse + 0.5f, 31);
      blocks[8 + j] = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
      bits |= (low >> 4) << j | (high >> 4) << (j + 16);
    }
    store_u16(blocks, float_to_half(d));
    store_u16(blocks + 2, float_to_half(range.min));
    store_u32(blocks + 4, bits);
  }
}

}  // namespace tally::quant
