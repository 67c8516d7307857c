// IQ1_S, IQ1_M: 256 values in 32 groups of 8; a group is an entry of a codebook (iq_tables.h) of -1, 0, 1, shifted by a
// delta of 1/8 up or down. value = d * (2 * scale + 1) * (level + delta).
// IQ1_S: 50 bytes: half d; low code bytes[32]; for each 4 groups a word: 4 times 3 high code bits, 3-bit scale, sign of
// delta. IQ1_M: 56 bytes: low code bytes[32]; for each group a nibble: 3 high code bits, sign of delta; 4 words, each
// with four
//        3-bit scales (one for 2 groups) and, in its top nibble, a quarter of the half d (lowest first).
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/iq_tables.h"

namespace tally::quant {
namespace {

void write_group(uint32_t entry, bool down, float scale, float* out) {
  const float delta = down ? -0.125f : 0.125f;
  for (int k = 0; k < 8; ++k) {
    out[k] = scale * (static_cast<float>(static_cast<int>(entry >> (2 * k) & 3) - 1) + delta);
  }
}

}  // namespace

void dequantize_iq1_s(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 50) {
    const float d = load_half(blocks);
    for (int sub = 0; sub < 8; ++sub) {
      const uint32_t word = load_u16(blocks + 34 + 2 * sub);
      const float scale = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
      for (int k = 0; k < 4; ++k, out += 8) {
        const uint32_t code = blocks[2 + 4 * sub + k] | (word >> (3 * k) & 7) << 8;
        write_group(kGridIq1[code], (word & 0x8000) != 0, scale, out);
      }
    }
  }
}

void dequantize_iq1_m(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 56) {
    uint32_t half = 0;
    for (int i = 0; i < 4; ++i) half |= static_cast<uint32_t>(load_u16(blocks + 48 + 2 * i) >> 12) << (4 * i);
    const float d = half_to_float(static_cast<uint16_t>(half));
    for (int group = 0; group < 32; ++group, out += 8) {
      const uint32_t nibble = blocks[32 + group / 2] >> (group % 2 * 4) & 15u;
      const uint32_t word = load_u16(blocks + 48 + group / 8 * 2);
      const uint32_t scale = word >> (group / 2 % 4 * 3) & 7u;
      const uint32_t code = blocks[group] | (nibble & 7) << 8;
      write_group(kGridIq1[code], (nibble & 8) != 0, d * static_cast<float>(2 * scale + 1), out);
    }
  }
}

}  // namespace tally::quant
