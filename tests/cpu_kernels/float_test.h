// What the tests of the float kernels share: one run per instruction-set level that the host has, buffers between
// guards, random inputs, and comparison with a bound per element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "backend/cpu/kernels/float_kernels.h"
#include "base/rng.h"

namespace tally::cpu::test {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kUnit = 0x1p-24;  // half a unit in the last place of 1

class FloatKernelTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_isa())
      GTEST_SKIP() << "this machine does not have the level " << isa_name(GetParam()) << "; its kernels are not tested";
  }
  const FloatKernels& kernels() const { return float_kernels(GetParam()); }
};
inline std::string isa_test_name(const testing::TestParamInfo<Isa>& info) { return isa_name(info.param); }
#define TALLY_EVERY_ISA(suite) \
  INSTANTIATE_TEST_SUITE_P(Isa, suite, testing::Values(Isa::Generic, Isa::Avx2, Isa::Avx512), isa_test_name)

// n elements that start as all-ones bits (NaN as float and as half), between guards that nobody may change. The first
// element is aligned to 64 bytes when `aligned`, else to one element only.
template <typename T>
class Guarded {
 public:
  explicit Guarded(int64_t n, bool aligned = false) : bytes_(sizeof(T) * n + 2 * kGuard + 64), n_(n) {
    std::memset(bytes_.data(), 0xFF, bytes_.size());
    const auto start = reinterpret_cast<uintptr_t>(bytes_.data()) + kGuard;
    offset_ = kGuard + (64 - start % 64) % 64 - (aligned ? 0 : 64 - sizeof(T));
    if (offset_ < kGuard / 2) offset_ += 64;
  }
  Guarded(const std::vector<T>& from, bool aligned = false) : Guarded(int64_t(from.size()), aligned) {
    if (!from.empty()) std::memcpy(data(), from.data(), sizeof(T) * from.size());
  }
  T* data() { return reinterpret_cast<T*>(bytes_.data() + offset_); }
  std::vector<T> values() { return {data(), data() + n_}; }
  bool intact() const {
    for (size_t i = 0; i < bytes_.size(); ++i)
      if ((i < offset_ || i >= offset_ + sizeof(T) * n_) && bytes_[i] != 0xFF) return false;
    return true;
  }

 private:
  static constexpr size_t kGuard = 256;
  std::vector<uint8_t> bytes_;
  int64_t n_;
  size_t offset_;
};

// n numbers uniform in [−size, size).
inline std::vector<float> random_floats(uint64_t seed, int64_t n, double size = 1) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = float(size * (2 * random_unit(seed, i) - 1));
  return x;
}

// The first element that is off by more than its bound (NaN always is), or "" when there is none.
inline std::string first_difference(const float* found, const std::vector<double>& expected,
                                    const std::vector<double>& bound) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(double(found[i]) - expected[i]) <= bound[i]))
      return "element " + std::to_string(i) + ": found " + std::to_string(found[i]) + ", expected " +
             std::to_string(expected[i]) + ", off by " + std::to_string(std::abs(found[i] - expected[i]) / bound[i]) +
             " times its bound " + std::to_string(bound[i]);
  return "";
}
inline bool same_bits(const float* a, const float* b, int64_t n) { return std::memcmp(a, b, sizeof(float) * n) == 0; }

}  // namespace tally::cpu::test
