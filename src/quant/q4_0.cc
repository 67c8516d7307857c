// Q4_0: 18 bytes for 32 values: half d; nibbles[16]. value = (nibble - 8) * d; low nibbles are the first 16 values.
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"

namespace tally::quant {

void dequantize_q4_0(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 18, out += kBlock32) {
    const float d = load_half(blocks);
    for (int j = 0; j < 16; ++j) {
      out[j] = static_cast<float>((blocks[2 + j] & 15) - 8) * d;
      out[j + 16] = static_cast<float>((blocks[2 + j] >> 4) - 8) * d;
    }
  }
}

void quantize_q4_0(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 18, in += kBlock32) {
    const float d = signed_max(in, kBlock32) / -8;
    const float inverse = inverse_or_zero(d);
    store_u16(blocks, float_to_half(d));
    for (int j = 0; j < 16; ++j) {
      const uint32_t low = clamp_code(in[j] * inverse + 8.5f, 15), high = clamp_code(in[j + 16] * inverse + 8.5f, 15);
      blocks[2 + j] = static_cast<uint8_t>(low | high << 4);
    }
  }
}

}  // namespace tally::quant
