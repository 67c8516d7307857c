// The packing of eight 6-bit scales and eight 6-bit minima in 12 bytes that Q4_K and Q5_K share.
#pragma once

#include <cstdint>

namespace tally::quant {

struct ScaleMin {
  int scale, min;
};

// Of sub-block j (0..7).
inline ScaleMin unpack_scale6(const uint8_t* a, int j) {
  if (j < 4) return {a[j] & 63, a[j + 4] & 63};
  return {(a[j + 4] & 15) | (a[j - 4] >> 6) << 4, (a[j + 4] >> 4) | (a[j] >> 6) << 4};
}

inline void pack_scale6(const int* scales, const int* mins, uint8_t* a) {
  for (int j = 0; j < 4; ++j) {
    a[j] = static_cast<uint8_t>(scales[j] | (scales[j + 4] >> 4) << 6);
    a[j + 4] = static_cast<uint8_t>(mins[j] | (mins[j + 4] >> 4) << 6);
    a[j + 8] = static_cast<uint8_t>((scales[j + 4] & 15) | (mins[j + 4] & 15) << 4);
  }
}

}  // namespace tally::quant
