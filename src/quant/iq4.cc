// IQ4_NL and IQ4_XS: four-bit indices into a fixed table of unevenly spaced levels.
// IQ4_NL: 18 bytes for 32 values: half d; nibbles[16]. value = d * level; low nibbles are the first 16 values.
// IQ4_XS: 136 bytes for 256 values in 8 sub-blocks: half d; high scale bits (2 each); low scale nibbles[4];
// nibbles[128]. value = d * (scale - 32) * level.
#include <initializer_list>

#include "quant/formats.h"
#include "quant/half.h"
#include "quant/levels.h"
#include "quant/round32.h"

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

namespace {

// The level nearest to any number in -127..113, by half units: levels lie so that midpoints fall on half units.
struct NearestLevel {
  uint8_t index[2 * (127 + 113) + 1];
  constexpr NearestLevel() : index() {
    for (int cell = 0; cell <= 2 * (127 + 113); ++cell) {
      const int quarter_units = 2 * cell + 1 - 4 * 127;  // the middle of the cell
      int best = 0, best_distance = 1 << 20;
      for (int i = 0; i < 16; ++i) {
        const int distance =
            kIq4Levels[i] * 4 > quarter_units ? kIq4Levels[i] * 4 - quarter_units : quarter_units - kIq4Levels[i] * 4;
        if (distance < best_distance) best = i, best_distance = distance;
      }
      index[cell] = static_cast<uint8_t>(best);
    }
  }
  int operator()(float v) const {
    v = v > -127.0f ? v : -127.0f;
    v = v < 113.0f ? v : 113.0f;
    return index[static_cast<int>((v + 127.0f) * 2)];
  }
};
constexpr NearestLevel kNearestLevel;

struct Try {
  float d, gain;  // least-squares scale for these levels, and how much squared error it removes
};

Try try_inverse(const float* x, float inverse) {
  float products = 0, squares = 0;
  for (int i = 0; i < 32; ++i) {
    const float level = static_cast<float>(kIq4Levels[kNearestLevel(x[i] * inverse)]);
    products += level * x[i];
    squares += level * level;
  }
  return squares > 0 ? Try{products / squares, products * products / squares} : Try{0, 0};
}

// The largest value is put near either end of the levels.
float fit_levels(const float* x) {
  const float max = signed_max(x, 32);
  if (max == 0) return 0;
  Try best{0, 0};
  for (const float end : {-127.0f, 113.0f}) {
    for (int i = -7; i <= 7; ++i) {
      const Try t = try_inverse(x, (end + static_cast<float>(i)) / max);
      if (t.gain > best.gain) best = t;
    }
  }
  return best.d;
}

}  // namespace

void quantize_iq4_nl(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 18, in += kBlock32) {
    const uint16_t d_half = float_to_half(fit_levels(in));
    const float inverse = inverse_or_zero(half_to_float(d_half));
    store_u16(blocks, d_half);
    for (int j = 0; j < 16; ++j) {
      blocks[2 + j] = static_cast<uint8_t>(kNearestLevel(in[j] * inverse) | kNearestLevel(in[j + 16] * inverse) << 4);
    }
  }
}

}  // namespace tally::quant
