// Half-float cells of the cache, one at a time (the generic path).
#pragma once

#include <cstdint>
#include <cstring>

#include "quant/half.h"

namespace tally::cpu {

inline float half_at(const void* p, int64_t i) {
  uint16_t bits;
  std::memcpy(&bits, static_cast<const uint8_t*>(p) + 2 * i, 2);
  return quant::half_to_float(bits);
}

inline void set_half_at(void* p, int64_t i, float x) {
  uint16_t bits = quant::float_to_half(x);
  std::memcpy(static_cast<uint8_t*>(p) + 2 * i, &bits, 2);
}

}  // namespace tally::cpu
