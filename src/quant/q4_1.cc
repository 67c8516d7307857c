// Q4_1: 20 bytes for 32 values: half d; half m; nibbles[16]. value = nibble * d + m; low nibbles are the first 16
// values.
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"

namespace tally::quant {

void dequantize_q4_1(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 20, out += kBlock32) {
    const float d = load_half(blocks), m = load_half(blocks + 2);
    for (int j = 0; j < 16; ++j) {
      out[j] = static_cast<float>(blocks[4 + j] & 15) * d + m;
      out[j + 16] = static_cast<float>(blocks[4 + j] >> 4) * d + m;
    }
  }
}

void quantize_q4_1(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 20, in += kBlock32) {
    const Range range = range_of(in, kBlock32);
    const float d = (range.max - range.min) / 15;
    const float inverse = inverse_or_zero(d);
    store_u16(blocks, float_to_half(d));
    store_u16(blocks + 2, float_to_half(range.min));
    for (int j = 0; j < 16; ++j) {
      const uint32_t low = clamp_code((in[j] - range.min) * inverse + 0.5f, 15);
      const uint32_t high = clamp_code((in[j + 16] - range.min) * inverse + 0.5f, 15);
      blocks[4 + j] = static_cast<uint8_t>(low | high << 4);
    }
  }
}

}  // namespace tally::quant
