#include "backend/cpu/kernels/linear.h"

#include "backend/cpu/kernels/linear_parts.h"
#include "base/check.h"

namespace tally::cpu {
namespace {

constexpr int64_t kPadding = 256;  // elements

// Sizes are multiples of 64 bytes, so every array starts aligned.
struct Sizes {
  int64_t codes, groups, halves, total;
};

Sizes sizes_of(int64_t n, int64_t k) {
  const int64_t k_padded = (k + kPadding - 1) / kPadding * kPadding;
  const auto up = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  Sizes s;
  s.codes = up(n * k_padded);
  s.groups = up(n * k_padded / 32 * 4);
  s.halves = up(n * k_padded / 16 * 4);
  s.total = 2 * s.codes + s.groups + 3 * s.halves;
  return s;
}

}  // namespace

size_t quantized_rows_bytes(int64_t n, int64_t k) { return static_cast<size_t>(sizes_of(n, k).total); }

QuantizedRows quantized_rows_at(void* memory, int64_t n, int64_t k) {
  CHECK(k > 0 && k % 32 == 0, "width {}", k);
  CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0, "memory of quantized rows is not aligned");
  const Sizes s = sizes_of(n, k);
  char* p = static_cast<char*>(memory);
  const auto take = [&p](int64_t bytes) {
    char* begin = p;
    p += bytes;
    return begin;
  };
  QuantizedRows rows;
  rows.codes = reinterpret_cast<int8_t*>(take(s.codes));
  rows.zeros = reinterpret_cast<int8_t*>(take(s.codes));
  rows.factors = reinterpret_cast<float*>(take(s.halves));
  rows.half_sums = reinterpret_cast<float*>(take(s.halves));
  rows.offsets = reinterpret_cast<int32_t*>(take(s.groups));
  rows.half_offsets = reinterpret_cast<int32_t*>(take(s.halves));
  rows.k = k;
  rows.k_padded = (k + kPadding - 1) / kPadding * kPadding;
  return rows;
}

bool q8_type_supported(const quant::QuantType& type, int64_t k) {
  using quant::TypeId;
  switch (type.id) {
    case TypeId::Q4_K:
    case TypeId::Q5_K:
    case TypeId::Q6_K:
    case TypeId::Q2_K:
    case TypeId::Q3_K:
    case TypeId::IQ4_XS:
      return k > 0 && k % 256 == 0;
    case TypeId::Q4_0:
    case TypeId::Q4_1:
    case TypeId::Q5_0:
    case TypeId::Q5_1:
    case TypeId::Q8_0:
    case TypeId::IQ4_NL:
    case TypeId::MXFP4:
      return k > 0 && k % 32 == 0;
    default:
      return false;
  }
}

void unsupported_q8_type(const quant::QuantType& type) {
  check_failed(__FILE__, __LINE__, "supports_q8", fmt::format("no integer product for {}", type.name));
}

const LinearKernels& linear_kernels(Isa isa) {
  static constexpr LinearKernels kGeneric = {Isa::Generic,      quantize_rows_generic, q8_type_supported,
                                             linear_q8_generic, linear_f32_generic,    kLinearScratchBytes};
  static constexpr LinearKernels kAvx2 = {Isa::Avx2,      quantize_rows_avx2, q8_type_supported,
                                          linear_q8_avx2, linear_f32_avx2,    kLinearScratchBytes};
  static constexpr LinearKernels kAvx512 = {Isa::Avx512,      quantize_rows_avx2, q8_type_supported,
                                            linear_q8_avx512, linear_f32_avx512,  kLinearScratchBytes};
  CHECK(isa <= best_isa(), "this machine has no {}", isa_name(isa));
  return isa == Isa::Avx512 ? kAvx512 : isa == Isa::Avx2 ? kAvx2 : kGeneric;
}

}  // namespace tally::cpu
