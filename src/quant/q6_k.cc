// Q6_K: 210 bytes for 256 values in 16 sub-blocks of 16: low nibbles[128]; high bit pairs[64]; int8 scales[16]; half d.
// value = d * scale * (code - 32). Of each half of 128 values, quarter k (32 values) has its nibbles in bytes
// 32 * (k % 2).., low nibbles for k < 2, and its high bits at position 2k of the pair bytes.
#include <cmath>
#include <cstring>

#include "quant/fit.h"
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"

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

namespace {

// The 16 scales on the int8 grid of one half d: the largest becomes -128. Neighbours of each are tried too.
void choose_scales(const float* in, float d, const float* fitted, int8_t* scales) {
  const float inverse = inverse_or_zero(d);
  for (int sub = 0; sub < 16; ++sub) {
    const float ideal = fitted[sub] * inverse;  // within ±129; a d that rounded to 0 or infinity leaves 0
    const int start = static_cast<int>(std::lround(std::fmin(std::fmax(ideal, -128.0f), 127.0f)));
    float best = INFINITY;
    for (int s = start < -127 ? start : start - 1; s <= start + 1 && s <= 127; ++s) {
      const float error = squared_error<16>(in + 16 * sub, d * static_cast<float>(s), 0, -32, 31);
      if (error < best) best = error, scales[sub] = static_cast<int8_t>(s);
    }
  }
}

}  // namespace

void quantize_q6_k(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 210, in += 256) {
    float fitted[16];
    for (int sub = 0; sub < 16; ++sub) fitted[sub] = fit_symmetric16(in + 16 * sub, -32, 31);
    const uint16_t d_half = float_to_half(signed_max(fitted, 16) / -128);
    const float d = half_to_float(d_half);
    int8_t scales[16] = {};
    choose_scales(in, d, fitted, scales);
    std::memset(blocks, 0, 192);
    std::memcpy(blocks + 192, scales, 16);
    store_u16(blocks + 208, d_half);
    for (int i = 0; i < 256; ++i) {
      const float inverse = inverse_or_zero(d * static_cast<float>(scales[i / 16]));
      const int code = static_cast<int>(code_of(in[i], inverse, 0, -32, 31)) + 32;
      const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
      blocks[64 * half + 32 * (quarter & 1) + l] |= static_cast<uint8_t>((code & 15) << (quarter < 2 ? 0 : 4));
      blocks[128 + 32 * half + l] |= static_cast<uint8_t>((code >> 4) << (2 * quarter));
    }
  }
}

}  // namespace tally::quant
