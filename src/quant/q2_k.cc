// Q2_K: 84 bytes for 256 values in 16 sub-blocks of 16: scale and minimum nibbles[16]; bit pairs[64]; half d; half
// dmin. value = d * scale * code - dmin * min. In each half of 128 values, quarter j (32 values) is at bit 2j of 32
// bytes.
#include "quant/formats.h"
#include "quant/half.h"

namespace tally::quant {

void dequantize_q2_k(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 84, out += 256) {
    const float d = load_half(blocks + 80), dmin = load_half(blocks + 82);
    for (int sub = 0; sub < 16; ++sub) {
      const uint8_t* pairs = blocks + 16 + 32 * (sub / 8) + 16 * (sub % 2);
      const int shift = sub % 8 / 2 * 2;
      const float scale = d * static_cast<float>(blocks[sub] & 15), min = dmin * static_cast<float>(blocks[sub] >> 4);
      for (int l = 0; l < 16; ++l) out[16 * sub + l] = scale * static_cast<float>(pairs[l] >> shift & 3) - min;
    }
  }
}

}  // namespace tally::quant
