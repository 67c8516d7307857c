// Q8_0: 34 bytes for 32 values: half d; int8 codes[32]. value = code * d.
#include "quant/formats.h"
#include "quant/half.h"
#include "quant/round32.h"

namespace tally::quant {

void dequantize_q8_0(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 34, out += kBlock32) {
    const float d = load_half(blocks);
    for (int j = 0; j < kBlock32; ++j) out[j] = static_cast<float>(static_cast<int8_t>(blocks[2 + j])) * d;
  }
}

void quantize_q8_0(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t b = 0; b < n_blocks; ++b, blocks += 34, in += kBlock32) {
    const float d = std::fabs(signed_max(in, kBlock32)) / 127;
    const float inverse = inverse_or_zero(d);
    store_u16(blocks, float_to_half(d));
    for (int j = 0; j < kBlock32; ++j) {
      const float scaled = in[j] * inverse;  // halves away from zero; only a subnormal d reaches beyond 127
      const int code = static_cast<int>(clamp_code(std::fabs(scaled) + 0.5f, 127));
      blocks[2 + j] = static_cast<uint8_t>(static_cast<int8_t>(scaled < 0 ? -code : code));
    }
  }
}

}  // namespace tally::quant
