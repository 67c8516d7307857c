// IQ3_XXS, IQ3_S: 256 values in 64 groups of 4; a group is an entry of a codebook (iq_tables.h), signs go with 8
// values. IQ3_XXS: 98 bytes: half d; codes[64]; for each 8 groups a word of 4 times 7 sign bits and a 4-bit scale.
//          value = d * (0.5 + scale) / 2 * level * sign.
// IQ3_S:  110 bytes: half d; low code bytes[64]; ninth code bits[64]; sign bytes[32]; scale nibbles[8].
//          value = d * (1 + 2 * scale) * level * sign.
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/iq_tables.h"

namespace tally::quant {
namespace {

void write_group(uint32_t entry, uint32_t signs, float scale, const uint8_t* levels, float* out) {
  for (int k = 0; k < 4; ++k) {
    const float value = scale * static_cast<float>(levels[entry >> (3 * k) & 7]);
    out[k] = (signs >> k & 1) != 0 ? -value : value;
  }
}

constexpr uint8_t kOddLevels[8] = {1, 3, 5, 7, 9, 11, 13, 15};

}  // namespace

void dequantize_iq3_xxs(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 98) {
    const float d = load_half(blocks);
    for (int sub = 0; sub < 8; ++sub) {
      const uint8_t* codes = blocks + 2 + 8 * sub;
      const uint32_t word = load_u32(blocks + 66 + 4 * sub);
      const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      for (int k = 0; k < 8; ++k, out += 4) {
        const uint32_t signs = even_signs(word >> (k / 2 * 7) & 127) >> (k % 2 * 4);
        write_group(kGridIq3Xxs[codes[k]], signs, scale, kIq3XxsLevels, out);
      }
    }
  }
}

void dequantize_iq3_s(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 110) {
    const float d = load_half(blocks);
    for (int group = 0; group < 64; ++group, out += 4) {
      const uint32_t code = blocks[2 + group] | (blocks[66 + group / 8] >> (group % 8) & 1u) << 8;
      const uint32_t signs = static_cast<uint32_t>(blocks[74 + group / 2]) >> (group % 2 * 4);
      const int scale = blocks[106 + group / 16] >> (group / 8 % 2 * 4) & 15;
      write_group(kGridIq3S[code], signs, d * static_cast<float>(1 + 2 * scale), kOddLevels, out);
    }
  }
}

}  // namespace tally::quant
