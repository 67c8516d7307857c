// Q6_K: 210 bytes for 256 values in 16 sub-blocks of 16: low nibbles[128]; high bit pairs[64]; int8 scales[16]; half d.
// value = d * scale * (code - 32). Of each half of 128 values, quarter k (32 values) has its nibbles in bytes
// 32 * (k % 2).., low nibbles for k < 2, and its high bits at position 2k of the pair bytes.
#include "quant/formats.h"
#include "quant/half.h"

namespace tally::quant {

void dequantize_q6_k(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 210, out += 256) {
    const float d = load_half(blocks + 208);
    for (int half = 0; half < 2; ++half) {
      const uint8_t* pairs = blocks + 128 + 32 * half;
      for (int quarter = 0; quarter < 4; ++quarter) {
        const uint8_t* nibbles = blocks + 64 * half + 32 * (quarter & 1);
        const uint8_t* scales = blocks + 192 + 8 * half + 2 * quarter;
        const int shift = quarter < 2 ? 0 : 4;
        float* y = out + 128 * half + 32 * quarter;
        for (int sub = 0; sub < 2; ++sub) {
          const float scale = d * static_cast<float>(static_cast<int8_t>(scales[sub]));
          for (int l = 16 * sub; l < 16 * sub + 16; ++l) {
            const int code = (nibbles[l] >> shift & 15) | (pairs[l] >> (2 * quarter) & 3) << 4;
            y[l] = scale * static_cast<float>(code - 32);
          }
        }
      }
    }
  }
}

}  // namespace tally::quant
