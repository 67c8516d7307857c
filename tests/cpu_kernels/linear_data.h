// Random weights of any type, and memory whose end is followed by a page that must not be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "base/check.h"
#include "quant/types.h"

namespace tally::test {

// `bytes` bytes that end at a page without access; the bytes before them hold a pattern that check() compares.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) : bytes_(bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (bytes + kFront + page - 1) / page * page + page;
    void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "mmap of {} bytes", mapped_);
    base_ = static_cast<uint8_t*>(memory);
    CHECK(mprotect(base_ + mapped_ - page, page, PROT_NONE) == 0, "mprotect");
    data_ = base_ + mapped_ - page - bytes;
    std::memset(base_, kPattern, static_cast<size_t>(data_ - base_));
  }
  ~GuardedMemory() { munmap(base_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }
  bool front_intact() const {
    for (const uint8_t* p = base_; p < data_; ++p)
      if (*p != kPattern) return false;
    return true;
  }

 private:
  static constexpr size_t kFront = 256;
  static constexpr uint8_t kPattern = 0xa5;
  size_t bytes_, mapped_;
  uint8_t* base_;
  uint8_t* data_;
};

// Half of a positive value with a short mantissa: 2^exponent · (1 + mantissa / 1024).
inline uint16_t half_bits(int exponent, uint32_t mantissa) {
  return static_cast<uint16_t>(((exponent + 15) << 10) | static_cast<int>(mantissa & 1023));
}

// Random bits in every code and scale, with block factors of sensible size.
inline void fill_weights(const quant::QuantType& type, int64_t n_blocks, uint32_t seed, uint8_t* blocks) {
  std::mt19937 rng(seed);
  const auto set_half = [&](uint8_t* p, bool sign) {
    const uint16_t h = half_bits(-7 - static_cast<int>(rng() % 3), rng());
    const uint16_t v = static_cast<uint16_t>(h | (sign && rng() % 2 ? 0x8000 : 0));
    std::memcpy(p, &v, 2);
  };
  for (int64_t b = 0; b < n_blocks; ++b) {
    uint8_t* p = blocks + b * type.block_bytes;
    for (int i = 0; i < type.block_bytes; ++i) p[i] = static_cast<uint8_t>(rng() >> 13);
    using quant::TypeId;
    switch (type.id) {
      case TypeId::F32: {
        const float v = static_cast<float>(static_cast<int32_t>(rng())) * 0x1p-36f;
        std::memcpy(p, &v, 4);
        break;
      }
      case TypeId::BF16: {
        const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(rng())) * 0x1p-36f);
        std::memcpy(p, reinterpret_cast<const uint8_t*>(&bits) + 2, 2);
        break;
      }
      case TypeId::Q4_1:
      case TypeId::Q5_1:
      case TypeId::Q4_K:
      case TypeId::Q5_K:
        set_half(p, true);
        set_half(p + 2, true);
        break;
      case TypeId::Q2_K:
        set_half(p + 80, true);
        set_half(p + 82, true);
        break;
      case TypeId::Q3_K:
        set_half(p + 108, true);
        break;
      case TypeId::Q6_K:
        set_half(p + 208, true);
        break;
      case TypeId::TQ2_0:
        set_half(p + 64, true);
        break;
      case TypeId::MXFP4:
        p[0] = static_cast<uint8_t>(118 + rng() % 6);
        break;
      default:
        set_half(p, true);
        break;  // types that begin with d
    }
  }
}

inline std::vector<float> random_floats(int64_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(static_cast<size_t>(n));
  for (float& x : v) x = normal(rng);
  return v;
}

}  // namespace tally::test
