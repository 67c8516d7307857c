// Q4_K: 144 bytes for 256 values in 8 sub-blocks of 32: half d; half dmin; 12 bytes of 6-bit scales and minima;
// nibbles[128]. value = d * scale * nibble - dmin * min. Bytes 32p..32p+31 hold sub-block 2p (low nibbles) and 2p+1
// (high nibbles).
#include "quant/fit.h"
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"
#include "quant/scale6.h"

namespace tally::quant {

void dequantize_q4_k(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 144, out += 256) {
    const float d = load_half(blocks), dmin = load_half(blocks + 2);
    for (int pair = 0; pair < 4; ++pair) {
      const ScaleMin first = unpack_scale6(blocks + 4, 2 * pair), second = unpack_scale6(blocks + 4, 2 * pair + 1);
      const float d1 = d * static_cast<float>(first.scale), m1 = dmin * static_cast<float>(first.min);
      const float d2 = d * static_cast<float>(second.scale), m2 = dmin * static_cast<float>(second.min);
      const uint8_t* codes = blocks + 16 + 32 * pair;
      float* y = out + 64 * pair;
      for (int l = 0; l < 32; ++l) y[l] = d1 * static_cast<float>(codes[l] & 15) - m1;
      for (int l = 0; l < 32; ++l) y[l + 32] = d2 * static_cast<float>(codes[l] >> 4) - m2;
    }
  }
}

void quantize_q4_k(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 144, in += 256) {
    const ScaledBlock fit = fit_block256(in, 15, -1.0f, 0.1f, 21);
    store_u16(blocks, fit.d);
    store_u16(blocks + 2, fit.dmin);
    pack_scale6(fit.scales, fit.mins, blocks + 4);
    for (int j = 0; j < 8; ++j) {
      const float inverse = inverse_or_zero(fit.scale[j]), shift = fit.min[j] * inverse;
      uint8_t* codes = blocks + 16 + 32 * (j / 2);
      for (int l = 0; l < 32; ++l) {
        const auto code = static_cast<uint8_t>(code_of(in[32 * j + l], inverse, shift, 0, 15));
        codes[l] = j % 2 == 0 ? code : static_cast<uint8_t>(codes[l] | code << 4);
      }
    }
  }
}

}  // namespace tally::quant
