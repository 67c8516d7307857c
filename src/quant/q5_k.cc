// Q5_K: 176 bytes for 256 values in 8 sub-blocks of 32: half d; half dmin; 12 bytes of 6-bit scales and minima; fifth
// bits[32]; nibbles[128]. value = d * scale * code - dmin * min. Nibbles as in Q4_K; bit s of fifth[l] belongs to
// position l of sub-block s.
#include "quant/fit.h"
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"
#include "quant/scale6.h"

namespace tally::quant {

void dequantize_q5_k(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 176, out += 256) {
    const float d = load_half(blocks), dmin = load_half(blocks + 2);
    const uint8_t* fifth = blocks + 16;
    for (int pair = 0; pair < 4; ++pair) {
      const ScaleMin first = unpack_scale6(blocks + 4, 2 * pair), second = unpack_scale6(blocks + 4, 2 * pair + 1);
      const float d1 = d * static_cast<float>(first.scale), m1 = dmin * static_cast<float>(first.min);
      const float d2 = d * static_cast<float>(second.scale), m2 = dmin * static_cast<float>(second.min);
      const uint8_t* codes = blocks + 48 + 32 * pair;
      float* y = out + 64 * pair;
      for (int l = 0; l < 32; ++l) {
        const int low = (codes[l] & 15) | (fifth[l] >> (2 * pair) & 1) << 4;
        y[l] = d1 * static_cast<float>(low) - m1;
      }
      for (int l = 0; l < 32; ++l) {
        const int high = (codes[l] >> 4) | (fifth[l] >> (2 * pair + 1) & 1) << 4;
        y[l + 32] = d2 * static_cast<float>(high) - m2;
      }
    }
  }
}

void quantize_q5_k(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 176, in += 256) {
    const ScaledBlock fit = fit_block256(in, 31, -0.5f, 0.1f, 16);
    store_u16(blocks, fit.d);
    store_u16(blocks + 2, fit.dmin);
    pack_scale6(fit.scales, fit.mins, blocks + 4);
    uint8_t* fifth = blocks + 16;
    for (int j = 0; j < 8; ++j) {
      const float inverse = inverse_or_zero(fit.scale[j]), shift = fit.min[j] * inverse;
      uint8_t* codes = blocks + 48 + 32 * (j / 2);
      for (int l = 0; l < 32; ++l) {
        const auto code = static_cast<uint8_t>(code_of(in[32 * j + l], inverse, shift, 0, 31));
        codes[l] = static_cast<uint8_t>(j % 2 == 0 ? code & 15 : codes[l] | (code & 15) << 4);
        fifth[l] = static_cast<uint8_t>((j == 0 ? 0 : fifth[l]) | (code >> 4) << j);
      }
    }
  }
}

}  // namespace tally::quant
