// F32, F16, BF16, F64: plain values.
#include <cstring>

#include "quant/formats.h"
#include "quant/half.h"

namespace tally::quant {

void dequantize_f32(const uint8_t* blocks, float* out, int64_t n_blocks) {
  std::memcpy(out, blocks, static_cast<size_t>(n_blocks) * sizeof(float));
}

void quantize_f32(const float* in, uint8_t* blocks, int64_t n_blocks) {
  std::memcpy(blocks, in, static_cast<size_t>(n_blocks) * sizeof(float));
}

void dequantize_f16(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t i = 0; i < n_blocks; ++i) out[i] = load_half(blocks + 2 * i);
}

void quantize_f16(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t i = 0; i < n_blocks; ++i) store_u16(blocks + 2 * i, float_to_half(in[i]));
}

void dequantize_bf16(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t i = 0; i < n_blocks; ++i) out[i] = bf16_to_float(load_u16(blocks + 2 * i));
}

void quantize_bf16(const float* in, uint8_t* blocks, int64_t n_blocks) {
  for (int64_t i = 0; i < n_blocks; ++i) store_u16(blocks + 2 * i, float_to_bf16(in[i]));
}

void dequantize_f64(const uint8_t* blocks, float* out, int64_t n_blocks) {
  for (int64_t i = 0; i < n_blocks; ++i) {
    double value;
    std::memcpy(&value, blocks + 8 * i, sizeof value);
    out[i] = static_cast<float>(value);
  }
}

}  // namespace tally::quant
