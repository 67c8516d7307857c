// TQ1_0, TQ2_0, Q1_0, Q2_0: one to two bits a value and one scale a block.
// TQ1_0: 54 bytes for 256 values: five base-3 digits in each of 48 bytes, four in each of 4 more; half d.
//        value = d * (digit - 1). A byte is ceil(number * 256 / 243): digits come off the top by multiplying with 3.
// TQ2_0: 66 bytes for 256 values: bit pairs[64]; half d. value = d * (pair - 1).
// Q1_0:  18 bytes for 128 values: half d; bits[16]. value = bit ? d : -d.
// Q2_0:  18 bytes for 64 values: half d; bit pairs[16]. value = d * (pair - 1).
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"

namespace tally::quant {
namespace {

constexpr int kPowersOf3[5] = {1, 3, 9, 27, 81};

float trit(uint8_t byte, int n, float d) {
  const int top = (byte * kPowersOf3[n] & 255) * 3 >> 8;
  return static_cast<float>(top - 1) * d;
}

// The groups of bytes of TQ1_0: `n_bytes` from `first`, digit n of all of them before digit n + 1.
struct TritGroup {
  int first, n_bytes, n_digits;
};
constexpr TritGroup kTritGroups[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};

// -1, 0 or 1, halves away from zero, plus 1.
uint32_t ternary_code(float scaled) { return std::fabs(scaled) < 0.5f ? 1u : scaled < 0 ? 0u : 2u; }

}  // namespace

void dequantize_tq1_0(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 54) {
    const float d = load_half(blocks + 52);
    for (const TritGroup& group : kTritGroups) {
      for (int n = 0; n < group.n_digits; ++n) {
        for (int m = 0; m < group.n_bytes; ++m) *out++ = trit(blocks[group.first + m], n, d);
      }
    }
  }
}

void quantize_tq1_0(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 54) {
    const float d = std::fabs(signed_max(in, 256));
    const float inverse = inverse_or_zero(d);
    store_u16(blocks + 52, float_to_half(d));
    for (const TritGroup& group : kTritGroups) {
      for (int m = 0; m < group.n_bytes; ++m) {
        uint32_t number = 0;  // always five digits: the last one is 0 in groups of four
        for (int n = 0; n < 5; ++n) {
          number = number * 3 + (n < group.n_digits ? ternary_code(in[group.n_bytes * n + m] * inverse) : 0);
        }
        blocks[group.first + m] = static_cast<uint8_t>((number * 256 + 242) / 243);
      }
      in += group.n_bytes * group.n_digits;
    }
  }
}

void dequantize_tq2_0(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 66, out += 256) {
    const float d = load_half(blocks + 64);
    for (int i = 0; i < 256; ++i) {
      const int pair = blocks[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
      out[i] = d * static_cast<float>(pair - 1);
    }
  }
}

void quantize_tq2_0(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 66, in += 256) {
    const float d = std::fabs(signed_max(in, 256));
    const float inverse = inverse_or_zero(d);
    store_u16(blocks + 64, float_to_half(d));
    for (int i = 0; i < 64; ++i) {
      uint32_t byte = 0;
      for (int l = 0; l < 4; ++l) byte |= ternary_code(in[i / 32 * 128 + 32 * l + i % 32] * inverse) << (2 * l);
      blocks[i] = static_cast<uint8_t>(byte);
    }
  }
}

void dequantize_q1_0(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 18, out += 128) {
    const float d = load_half(blocks);
    for (int j = 0; j < 128; ++j) out[j] = (blocks[2 + j / 8] >> (j % 8) & 1) != 0 ? d : -d;
  }
}

void dequantize_q2_0(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 18, out += 64) {
    const float d = load_half(blocks);
    for (int j = 0; j < 64; ++j) out[j] = static_cast<float>((blocks[2 + j / 4] >> (j % 4 * 2) & 3) - 1) * d;
  }
}

}  // namespace tally::quant
