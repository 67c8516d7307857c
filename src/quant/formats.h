// The conversions of every format, as they stand in the rows of types.cc. `blocks` need no alignment.
// dequantize_X(blocks, out, n): n blocks → values. quantize_X(in, blocks, n): values → n blocks; values must be finite.
#pragma once

#include <cstdint>

namespace tally::quant {

using Dequantize = void(const uint8_t* blocks, float* out, int64_t n_blocks);
using Quantize = void(const float* in, uint8_t* blocks, int64_t n_blocks);

// floats.cc
Dequantize dequantize_f32, dequantize_f16, dequantize_bf16, dequantize_f64;
Quantize quantize_f32, quantize_f16, quantize_bf16;
// q4_0.cc, q4_1.cc, q5_0.cc, q5_1.cc, q8_0.cc
Dequantize dequantize_q4_0, dequantize_q4_1, dequantize_q5_0, dequantize_q5_1, dequantize_q8_0;
Quantize quantize_q4_0, quantize_q4_1, quantize_q5_0, quantize_q5_1, quantize_q8_0;
// q2_k.cc, q3_k.cc, q4_k.cc, q5_k.cc, q6_k.cc
Dequantize dequantize_q2_k, dequantize_q3_k, dequantize_q4_k, dequantize_q5_k, dequantize_q6_k;
Quantize quantize_q4_k, quantize_q5_k, quantize_q6_k;
// iq4.cc
Dequantize dequantize_iq4_nl, dequantize_iq4_xs;
Quantize quantize_iq4_nl;
// fp4.cc
Dequantize dequantize_mxfp4, dequantize_nvfp4;
Quantize quantize_mxfp4;
// ternary.cc
Dequantize dequantize_tq1_0, dequantize_tq2_0, dequantize_q1_0, dequantize_q2_0;
Quantize quantize_tq1_0, quantize_tq2_0;
// iq1.cc, iq2.cc, iq3.cc
Dequantize dequantize_iq1_s, dequantize_iq1_m;
Dequantize dequantize_iq2_xxs, dequantize_iq2_xs, dequantize_iq2_s;
Dequantize dequantize_iq3_xxs, dequantize_iq3_s;

}  // namespace tally::quant
