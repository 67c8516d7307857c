// IQ4_NL and IQ4_XS: four-bit indices into a fixed table of unevenly spaced levels.
// IQ4_NL: 18 bytes for 32 values: half d; nibbles[16]. value = d * level; low nibbles are the first 16 values.
// IQ4_XS: 136 bytes for 256 values in 8 sub-blocks: half d; high scale bits (2 each); low scale nibbles[4];
// nibbles[128]. value = d * (scale - 32) * level.
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/levels.h"

namespace tally::quant {

void dequantize_iq4_nl(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 18, out += 32) {
    const float d = load_half(blocks);
    for (int j = 0; j < 16; ++j) {
      out[j] = d * static_cast<float>(kIq4Levels[blocks[2 + j] & 15]);
      out[j + 16] = d * static_cast<float>(kIq4Levels[blocks[2 + j] >> 4]);
    }
  }
}

void dequantize_iq4_xs(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 136) {
    const float d = load_half(blocks);
    const uint32_t scales_high = load_u16(blocks + 2);
    for (int sub = 0; sub < 8; ++sub, out += 32) {
      const int low = blocks[4 + sub / 2] >> (sub % 2 * 4) & 15, high = static_cast<int>(scales_high >> (2 * sub) & 3);
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      const uint8_t* nibbles = blocks + 8 + 16 * sub;
      for (int j = 0; j < 16; ++j) {
        out[j] = scale * static_cast<float>(kIq4Levels[nibbles[j] & 15]);
        out[j + 16] = scale * static_cast<float>(kIq4Levels[nibbles[j] >> 4]);
      }
    }
  }
}

}  // namespace tally::quant
