// Counter-based random numbers: a value is a function of (seed, counter) alone, so it does not depend on who else
// draws. Source: splitmix64 (Steele, Lea, Flood 2014), applied twice to mix seed and counter.
#pragma once

#include <cstdint>

namespace tally {

inline constexpr uint64_t mix64(uint64_t z) {
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

inline constexpr uint64_t random_u64(uint64_t seed, uint64_t counter) {
  return mix64(mix64(seed) ^ (counter * 0xD1342543DE82EF95ull));
}

// Uniform in [0, 1) with 53 random bits.
inline constexpr double random_unit(uint64_t seed, uint64_t counter) {
  return static_cast<double>(random_u64(seed, counter) >> 11) * 0x1.0p-53;
}

}  // namespace tally
