// Codebooks of the IQ1, IQ2 and IQ3 formats: which groups of 8 (IQ3: 4) small numbers a code stands for.
//
// Source: the tables of the Python package gguf 0.19.0 (MIT licence, Copyright (c) 2023 Georgi Gerganov: "The above
// copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.
// THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND"), re-encoded: one word a code. Entry k of a group is
// bits 2k, 2k+1 (IQ3: bits 3k..3k+2) of the word and stands for the level given below.
#pragma once

#include <cstdint>

namespace tally::quant {

extern const uint16_t kGridIq2Xxs[256];  // levels kIq2Levels
extern const uint16_t kGridIq2Xs[512];
extern const uint16_t kGridIq2S[1024];
extern const uint16_t kGridIq3Xxs[256];  // levels kIq3XxsLevels
extern const uint16_t kGridIq3S[512];    // levels 2 * entry + 1
extern const uint16_t kGridIq1[2048];    // levels entry - 1

inline constexpr uint8_t kIq2Levels[4] = {8, 25, 43, 0};
inline constexpr uint8_t kIq3XxsLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};

// Seven stored sign bits; the eighth makes the number of negative signs even.
inline uint32_t even_signs(uint32_t seven) {
  return seven | (static_cast<uint32_t>(__builtin_popcount(seven)) & 1u) << 7;
}

}  // namespace tally::quant
