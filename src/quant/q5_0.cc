// Q5_0: 22 bytes for 32 values: half d; 32 fifth bits; nibbles[16]. value = (code - 16) * d, code = nibble + 16 * bit;
// low nibbles are the first 16 values.
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"

namespace tally::quant {

void dequantize_q5_0(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 22, out += kBlock32) {
    const float d = load_half(blocks);
    const uint32_t bits = load_u32(blocks + 2);
    for (int j = 0; j < 16; ++j) {
      const uint32_t low = (blocks[6 + j] & 15u) | (bits >> j & 1u) << 4;
      const uint32_t high = (blocks[6 + j] >> 4) | (bits >> (j + 16) & 1u) << 4;
      out[j] = static_cast<float>(static_cast<int>(low) - 16) * d;
      out[j + 16] = static_cast<float>(static_cast<int>(high) - 16) * d;
    }
  }
}

void quantize_q5_0(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 22, in += kBlock32) {
    const float d = signed_max(in, kBlock32) / -16;
    const float inverse = inverse_or_zero(d);
    uint32_t bits = 0;
    for (int j = 0; j < 16; ++j) {
      const uint32_t low = clamp_code(in[j] * inverse + 16.5f, 31), high = clamp_code(in[j + 16] * inverse + 16.5f, 31);
      blocks[6 + j] = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
      bits |= (low >> 4) << j | (high >> 4) << (j + 16);
    }
    store_u16(blocks, float_to_half(d));
    store_u32(blocks + 2, bits);
  }
}

}  // namespace tally::quant
