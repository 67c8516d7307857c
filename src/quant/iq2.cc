// IQ2_XXS, IQ2_XS, IQ2_S: 256 values in 32 groups of 8; a group is an entry of a codebook (iq_tables.h) with signs.
// value = d * (0.5 + scale) / 4 * level * sign.
// IQ2_XXS: 66 bytes: half d; for each 4 groups: codes[4], then 4 times 7 sign bits and a 4-bit scale.
// IQ2_XS:  74 bytes: half d; for each group 9 bits of code and 7 sign bits; scale nibbles[16], one for 2 groups.
// IQ2_S:   82 bytes: half d; low code bytes[32]; sign bytes[32]; high code bits, 2 a group; scale nibbles[16].
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/iq_tables.h"

namespace tally::quant {
namespace {

void write_group(uint32_t entry, uint32_t signs, float scale, float* out) {
  for (int k = 0; k < 8; ++k) {
    const float value = scale * static_cast<float>(kIq2Levels[entry >> (2 * k) & 3]);
    out[k] = (signs >> k & 1) != 0 ? -value : value;
  }
}

float group_scale(float d, uint32_t scale) { return d * (0.5f + static_cast<float>(scale)) * 0.25f; }

}  // namespace

void dequantize_iq2_xxs(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 66) {
    const float d = load_half(blocks);
    for (int sub = 0; sub < 8; ++sub) {
      const uint8_t* codes = blocks + 2 + 8 * sub;
      const uint32_t word = load_u32(codes + 4);
      const float scale = group_scale(d, word >> 28);
      for (int k = 0; k < 4; ++k, out += 8)
        write_group(kGridIq2Xxs[codes[k]], even_signs(word >> (7 * k) & 127), scale, out);
    }
  }
}

void dequantize_iq2_xs(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 74) {
    const float d = load_half(blocks);
    for (int group = 0; group < 32; ++group, out += 8) {
      const uint32_t word = load_u16(blocks + 2 + 2 * group);
      const uint32_t scale = blocks[66 + group / 4] >> (group / 2 % 2 * 4) & 15u;
      write_group(kGridIq2Xs[word & 511], even_signs(word >> 9), group_scale(d, scale), out);
    }
  }
}

void dequantize_iq2_s(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 82) {
    const float d = load_half(blocks);
    for (int group = 0; group < 32; ++group, out += 8) {
      const uint32_t code = blocks[2 + group] | (blocks[66 + group / 4] >> (group % 4 * 2) & 3u) << 8;
      const uint32_t scale = blocks[74 + group / 4] >> (group / 2 % 2 * 4) & 15u;
      write_group(kGridIq2S[code], blocks[34 + group], group_scale(d, scale), out);
    }
  }
}

}  // namespace tally::quant
