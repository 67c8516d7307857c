// Q3_K: 110 bytes for 256 values in 16 sub-blocks of 16: high bits[32]; bit pairs[64]; 12 bytes of 6-bit scales; half
// d. value = d * (scale - 32) * code, code = pair - (high bit ? 0 : 4). Pairs as in Q2_K; the high bit of quarter j of
// half n is bit 4n + j.
#include "quant/formats.h"
#include "quant/half.h"

namespace tally::quant {
namespace {

// Low four bits: two to a byte in a[0..7]; high two bits: four to a byte in a[8..11].
int unpack_scale(const uint8_t* a, int sub) {
  const int low = sub < 8 ? a[sub] & 15 : a[sub - 8] >> 4;
  return (low | (a[8 + sub % 4] >> (sub / 4 * 2) & 3) << 4) - 32;
}

}  // namespace

void dequantize_q3_k(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 110, out += 256) {
    const float d = load_half(blocks + 108);
    for (int sub = 0; sub < 16; ++sub) {
      const uint8_t* high = blocks + 16 * (sub % 2);
      const uint8_t* pairs = blocks + 32 + 32 * (sub / 8) + 16 * (sub % 2);
      const int shift = sub % 8 / 2 * 2, bit = sub / 2;
      const float scale = d * static_cast<float>(unpack_scale(blocks + 96, sub));
      for (int l = 0; l < 16; ++l) {
        const int code = (pairs[l] >> shift & 3) - ((high[l] >> bit & 1) != 0 ? 0 : 4);
        out[16 * sub + l] = scale * static_cast<float>(code);
      }
    }
  }
}

}  // namespace tally::quant
