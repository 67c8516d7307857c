// The level tables of the four-bit table formats.
#pragma once

#include <cstdint>

namespace tally::quant {

// IQ4_NL and IQ4_XS.
inline constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// MXFP4 and NVFP4: the values of E2M1 (sign, two exponent bits, one mantissa bit), doubled to be whole.
inline constexpr int8_t kE2m1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace tally::quant
