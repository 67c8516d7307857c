#include "quant/types.h"

#include <algorithm>

#include "base/check.h"
#include "quant/formats.h"

namespace tally::quant {
namespace {

using enum TypeId;

constexpr QuantType kTypes[] = {
    {"f32", F32, 1, 4, dequantize_f32, quantize_f32},
    {"f16", F16, 1, 2, dequantize_f16, quantize_f16},
    {"q4_0", Q4_0, 32, 18, dequantize_q4_0, quantize_q4_0},
    {"q4_1", Q4_1, 32, 20, dequantize_q4_1, quantize_q4_1},
    {"q5_0", Q5_0, 32, 22, dequantize_q5_0, quantize_q5_0},
    {"q5_1", Q5_1, 32, 24, dequantize_q5_1, quantize_q5_1},
    {"q8_0", Q8_0, 32, 34, dequantize_q8_0, quantize_q8_0},
    {"q8_1", Q8_1, 32, 36, nullptr, nullptr},
    {"q2_k", Q2_K, 256, 84, dequantize_q2_k, nullptr},
    {"q3_k", Q3_K, 256, 110, dequantize_q3_k, nullptr},
    {"q4_k", Q4_K, 256, 144, dequantize_q4_k, quantize_q4_k},
    {"q5_k", Q5_K, 256, 176, dequantize_q5_k, quantize_q5_k},
    {"q6_k", Q6_K, 256, 210, dequantize_q6_k, quantize_q6_k},
    {"q8_k", Q8_K, 256, 292, nullptr, nullptr},
    {"iq2_xxs", IQ2_XXS, 256, 66, dequantize_iq2_xxs, nullptr},
    {"iq2_xs", IQ2_XS, 256, 74, dequantize_iq2_xs, nullptr},
    {"iq3_xxs", IQ3_XXS, 256, 98, dequantize_iq3_xxs, nullptr},
    {"iq1_s", IQ1_S, 256, 50, dequantize_iq1_s, nullptr},
    {"iq4_nl", IQ4_NL, 32, 18, dequantize_iq4_nl, quantize_iq4_nl},
    {"iq3_s", IQ3_S, 256, 110, dequantize_iq3_s, nullptr},
    {"iq2_s", IQ2_S, 256, 82, dequantize_iq2_s, nullptr},
    {"iq4_xs", IQ4_XS, 256, 136, dequantize_iq4_xs, nullptr},
    {"i8", I8, 1, 1, nullptr, nullptr},
    {"i16", I16, 1, 2, nullptr, nullptr},
    {"i32", I32, 1, 4, nullptr, nullptr},
    {"i64", I64, 1, 8, nullptr, nullptr},
    {"f64", F64, 1, 8, dequantize_f64, nullptr},
    {"iq1_m", IQ1_M, 256, 56, dequantize_iq1_m, nullptr},
    {"bf16", BF16, 1, 2, dequantize_bf16, quantize_bf16},
    {"tq1_0", TQ1_0, 256, 54, dequantize_tq1_0, quantize_tq1_0},
    {"tq2_0", TQ2_0, 256, 66, dequantize_tq2_0, quantize_tq2_0},
    {"mxfp4", MXFP4, 32, 17, dequantize_mxfp4, quantize_mxfp4},
    {"nvfp4", NVFP4, 64, 36, dequantize_nvfp4, nullptr},
    {"q1_0", Q1_0, 128, 18, dequantize_q1_0, nullptr},
    {"q2_0", Q2_0, 64, 18, dequantize_q2_0, nullptr},
};

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::span<const QuantType> all_types() { return kTypes; }

const QuantType* find_type(int32_t id) {
  const auto row = std::ranges::find(kTypes, id, [](const QuantType& t) { return static_cast<int32_t>(t.id); });
  return row == std::end(kTypes) ? nullptr : row;
}

const QuantType* find_type(std::string_view name) {
  const auto same = [name](const QuantType& t) {
    return std::ranges::equal(name, std::string_view(t.name), {}, lower);
  };
  const auto row = std::ranges::find_if(kTypes, same);
  return row == std::end(kTypes) ? nullptr : row;
}

const QuantType& type_of(TypeId id) {
  const QuantType* type = find_type(static_cast<int32_t>(id));
  CHECK(type != nullptr, "type id {}", static_cast<int32_t>(id));
  return *type;
}

}  // namespace tally::quant
