// Every matrix-product kernel against a product in double of the dequantized weights.
#include "backend/cpu/kernels/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cpu_kernels/linear_data.h"

namespace tally::cpu {
namespace {

using test::GuardedMemory;

struct Shape {
  int64_t k, n, n_x;
  bool index, accumulate;
};

// One product with all its memory guarded.
class Case {
 public:
  Case(const LinearKernels& kernels, const quant::QuantType& type, bool q8, const Shape& shape, uint32_t seed)
      : kernels_(kernels),
        type_(type),
        q8_(q8),
        shape_(shape),
        row_bytes_(shape.k / type.block_elements * type.block_bytes),
        n_rows_x_(shape.index ? shape.n_x + 3 : shape.n_x),
        weights_(static_cast<size_t>(row_bytes_ * shape.n)),
        x_(static_cast<size_t>(n_rows_x_ * shape.k) * 4),
        quantized_(q8 ? quantized_rows_bytes(n_rows_x_, shape.k) : 64),
        scratch_((kernels.scratch_bytes + 63) / 64 * 64),
        start_(test::random_floats(shape.n * shape.n_x, seed + 2)) {
    test::fill_weights(type, shape.n * shape.k / type.block_elements, seed, weights_.as<uint8_t>());
    const std::vector<float> x = test::random_floats(n_rows_x_ * shape.k, seed + 1);
    std::memcpy(x_.as<float>(), x.data(), x.size() * 4);
    std::memset(scratch_.as<uint8_t>(), 0xff, scratch_.bytes());
    std::memset(quantized_.as<uint8_t>(), 0xff, quantized_.bytes());
    for (int64_t j = 0; j < shape.n_x; ++j)
      index_.push_back(shape.index ? static_cast<int32_t>((j * 7 + 2) % n_rows_x_) : static_cast<int32_t>(j));
    if (q8) {
      rows_ = quantized_rows_at(quantized_.as<void>(), n_rows_x_, shape.k);
      kernels.quantize_rows(x_.as<float>(), shape.k, 0, n_rows_x_, rows_);
    }
  }

  // Columns of the result: out[j · n + r]. n_x columns from j0 on, rows in parts that end at `cuts`.
  std::vector<float> run(int64_t j0, int64_t n_x, const std::vector<int64_t>& cuts) {
    GuardedMemory out(static_cast<size_t>(shape_.n * n_x) * 4);
    const float poison = std::numeric_limits<float>::quiet_NaN();
    for (int64_t i = 0; i < shape_.n * n_x; ++i)
      out.as<float>()[i] = shape_.accumulate ? start_[static_cast<size_t>(j0 * shape_.n + i)] : poison;
    const Matrix w = {weights_.as<uint8_t>(), &type_, shape_.k, shape_.n, row_bytes_};
    const bool indexed = shape_.index || j0 > 0;
    const int32_t* index = indexed ? index_.data() + j0 : nullptr;
    int64_t begin = 0;
    for (const int64_t end : cuts) {
      if (q8_)
        kernels_.linear_q8(w, begin, end, rows_, index, n_x, out.as<float>(), shape_.n, shape_.accumulate,
                           scratch_.as<void>());
      else
        kernels_.linear_f32(w, begin, end, x_.as<float>(), shape_.k, index, n_x, out.as<float>(), shape_.n,
                            shape_.accumulate, scratch_.as<void>());
      begin = end;
    }
    EXPECT_TRUE(out.front_intact() && weights_.front_intact() && x_.front_intact() && quantized_.front_intact() &&
                scratch_.front_intact());
    return std::vector<float>(out.as<float>(), out.as<float>() + shape_.n * n_x);
  }
  std::vector<float> run() { return run(0, shape_.n_x, {shape_.n}); }

  // Index of the first result outside its error bound, or -1.
  int64_t first_wrong(const std::vector<float>& got) {
    std::vector<float> w(static_cast<size_t>(shape_.k));
    for (int64_t r = 0; r < shape_.n; ++r) {
      type_.dequantize(weights_.as<uint8_t>() + r * row_bytes_, w.data(), shape_.k / type_.block_elements);
      for (int64_t j = 0; j < shape_.n_x; ++j) {
        const int64_t at = j * shape_.n + r;
        if (!within_bound(w, index_[static_cast<size_t>(j)], at, got[static_cast<size_t>(at)])) return at;
      }
    }
    return -1;
  }

  // Changes a good part of one block's codes.
  void damage_block(int64_t row, int64_t block) {
    uint8_t* p = weights_.as<uint8_t>() + row * row_bytes_ + block * type_.block_bytes;
    if (type_.block_elements == 1) {
      p[type_.block_bytes - 1] ^= 0x80;
      return;
    }
    const int middle = type_.block_bytes / 2;  // large blocks may end with their factors
    const int end = type_.block_bytes > 64 ? middle + type_.block_bytes / 4 : type_.block_bytes;
    for (int i = middle; i < end; ++i) p[i] = static_cast<uint8_t>(~p[i]);
  }

 private:
  // The value of activation i of row `row` as the kernel sees it.
  double activation(int64_t row, int64_t i) {
    if (!q8_) return x_.as<float>()[row * shape_.k + i];
    const int64_t at = row * rows_.k_padded + i;
    return static_cast<double>(rows_.codes[at] + rows_.zeros[at]) *
           static_cast<double>(rows_.factors[at / 256 * 16 + at % 256 / 32]);
  }

  // Roundings that any product passes on its way to the sum: additions into its partial sum and a few for its factors
  // and the last additions. Row by row there are 8 partial sums or more (of groups of 32, in the integer kernels);
  // strips of at most 512 (integer kernels: 2,048, in groups of at least 16 with two additions each) are summed one
  // after the other.
  double n_roundings() const {
    const double k = static_cast<double>(shape_.k);
    if (kernels_.isa == Isa::Generic) return k / 8 + 24;
    const bool few = shape_.n_x <= kMaxExactColumns;
    if (q8_) return (few ? k / 32 : k / 8) + 24;
    return (few ? k / 8 : std::min(k, 512.0) + k / 512) + 24;
  }

  // Bound: roundings are relative to sums of at most `size`. Integer kernels multiply weights with an offset or minimum
  // in two parts, each at most 3 times the largest weight of the group (codes are random, so a group's weights span the
  // range of its codes).
  bool within_bound(const std::vector<float>& w, int64_t row, int64_t at, float got) {
    double sum = shape_.accumulate ? static_cast<double>(start_[static_cast<size_t>(at)]) : 0;
    double size = std::abs(sum);
    const bool in_parts = q8_ && kernels_.isa != Isa::Generic;
    for (int64_t g = 0; g < shape_.k; g += 16) {
      double largest = 0, x_sum = 0;
      const int64_t end = std::min(g + 16, shape_.k);
      for (int64_t i = g; i < end; ++i) {
        const double x = activation(row, i);
        const double v = static_cast<double>(w[static_cast<size_t>(i)]);
        sum += v * x;
        largest = std::max(largest, std::abs(v));
        x_sum += std::abs(x);
        if (!in_parts) size += std::abs(v * x);
      }
      if (in_parts) size += 3 * largest * x_sum;
    }
    return std::abs(static_cast<double>(got) - sum) <= n_roundings() * 0x1p-24 * size;
  }

  const LinearKernels& kernels_;
  const quant::QuantType& type_;
  bool q8_;
  Shape shape_;
  int64_t row_bytes_, n_rows_x_;
  GuardedMemory weights_, x_, quantized_, scratch_;
  std::vector<float> start_;
  std::vector<int32_t> index_;
  QuantizedRows rows_ = {};
};

struct Setting {
  Isa isa;
  const char* type;
  bool q8;
};

class Linear : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (GetParam().isa > best_isa()) GTEST_SKIP() << "this machine has no " << isa_name(GetParam().isa);
    kernels_ = &linear_kernels(GetParam().isa);
    type_ = quant::find_type(std::string_view(GetParam().type));
    ASSERT_NE(type_, nullptr);
  }
  bool fits(int64_t k) const {
    return k % type_->block_elements == 0 && (!GetParam().q8 || kernels_->supports_q8(*type_, k));
  }
  std::unique_ptr<Case> make(const Shape& shape, uint32_t seed) {
    return std::make_unique<Case>(*kernels_, *type_, GetParam().q8, shape, seed);
  }
  const LinearKernels* kernels_ = nullptr;
  const quant::QuantType* type_ = nullptr;
};

constexpr int64_t kWidths[] = {32, 96, 160, 224, 256, 512, 576, 640, 1536, 2304, 48, 100, 7};
constexpr int64_t kHeights[] = {1, 7, 16, 17, 33, 70, 40};
constexpr int64_t kColumns[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 33, 70};

TEST_P(Linear, MatchesDouble) {
  uint32_t i = 0;
  int n_cases = 0;
  for (const int64_t k : kWidths) {
    if (!fits(k)) continue;
    for (const int64_t n_x : kColumns) {
      const Shape shape = {k, kHeights[i % std::size(kHeights)], n_x, i % 2 == 1, i % 3 == 2};
      const auto one = make(shape, 1000 + i++);
      const std::vector<float> got = one->run();
      const int64_t wrong = one->first_wrong(got);
      ASSERT_EQ(wrong, -1) << "k " << k << ", n " << shape.n << ", n_x " << n_x << ", index " << shape.index
                           << ", accumulate " << shape.accumulate << ": row " << wrong % shape.n << ", column "
                           << wrong / shape.n << " is " << got[static_cast<size_t>(wrong)];
      ++n_cases;
    }
  }
  EXPECT_GT(n_cases, 30);
}

TEST_P(Linear, FewColumnsAreExactlyEqual) {
  for (const int64_t k : {int64_t{96}, int64_t{576}, int64_t{768}, int64_t{2304}}) {
    if (!fits(k)) continue;
    const int64_t n = 37;
    const auto all = make({k, n, kMaxExactColumns, true, k == 576}, 7);
    const std::vector<float> full = all->run();
    for (int64_t n_x = 1; n_x <= kMaxExactColumns; ++n_x) {
      for (int64_t j0 = 0; j0 + n_x <= kMaxExactColumns; j0 += 3) {
        const std::vector<float> part = all->run(j0, n_x, {5, 6, 22, n});
        ASSERT_EQ(std::memcmp(part.data(), full.data() + j0 * n, part.size() * 4), 0)
            << "k " << k << ": columns " << j0 << " to " << j0 + n_x << " differ from those of one call for all";
      }
    }
  }
}

TEST_P(Linear, PartitionOfRowsDoesNotMatter) {
  for (const int64_t n_x : {9, 70}) {
    const int64_t k = fits(576) ? 576 : 768;
    const auto one = make({k, 70, n_x, false, true}, 11);
    const std::vector<float> whole = one->run(), parts = one->run(0, n_x, {1, 18, 49, 64, 70});
    ASSERT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * 4), 0) << n_x << " columns";
  }
}

// The comparison itself: one damaged block must be seen.
TEST_P(Linear, DamageIsSeen) {
  for (const int64_t n_x : {int64_t{1}, int64_t{8}, int64_t{33}}) {
    const int64_t k = 2304;
    const auto one = make({k, 20, n_x, false, false}, 13);
    const std::vector<float> good = one->run();
    ASSERT_EQ(one->first_wrong(good), -1);
    one->damage_block(3, k / type_->block_elements / 2);
    EXPECT_EQ(one->first_wrong(good) % 20, 3) << n_x << " columns";
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512}) {
    for (const char* type :
         {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "q4_k", "q5_k", "q6_k", "q2_k", "q3_k", "iq4_xs", "mxfp4"})
      all.push_back({isa, type, true});
    for (const char* type :
         {"f32", "f16", "bf16", "q4_k", "q6_k", "q8_0", "q5_1", "nvfp4", "q2_k", "iq3_s", "tq2_0", "q1_0"})
      all.push_back({isa, type, false});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Linear, testing::ValuesIn(settings()), [](const auto& row) {
  return std::string(isa_name(row.param.isa)) + (row.param.q8 ? "_q8_" : "_f32_") + row.param.type;
});

class QuantizeRows : public testing::TestWithParam<Isa> {};

TEST_P(QuantizeRows, RoundsToNearestAndAgreesWithGeneric) {
  if (GetParam() > best_isa()) GTEST_SKIP() << "this machine has no " << isa_name(GetParam());
  const int64_t n = 5, k = 352, stride = 360;
  std::vector<float> x = test::random_floats(n * stride, 3);
  for (int64_t i = 0; i < 32; ++i) x[static_cast<size_t>(64 + i)] = 0;                        // a group of zeros
  for (int64_t i = 0; i < 32; ++i) x[static_cast<size_t>(stride + i)] *= 1e-40f;              // too small
  for (int64_t i = 0; i < 32; ++i) x[static_cast<size_t>(stride + 32 + i)] *= 1e37f;          // large
  for (int64_t i = 0; i < 32; ++i) x[static_cast<size_t>(2 * stride + i)] = i < 16 ? -1 : 1;  // extremes
  for (int64_t i = 1; i < 32; ++i) x[static_cast<size_t>(3 * stride + i)] = static_cast<float>(i) - 15.5f;
  x[static_cast<size_t>(3 * stride)] = 126.5f;  // with −126.5: scale 1, zero point 0; halves are rounded to even
  x[static_cast<size_t>(3 * stride + 1)] = -126.5f;
  for (int64_t i = 32; i < 64; ++i)
    x[static_cast<size_t>(3 * stride + i)] = 5 + 0.01f * static_cast<float>(i);                    // far from 0
  for (int64_t i = 64; i < 96; ++i) x[static_cast<size_t>(3 * stride + i)] = i == 70 ? 50 : 0.1f;  // an outlier
  x[static_cast<size_t>(4 * stride + 40)] = std::numeric_limits<float>::infinity();
  x[static_cast<size_t>(4 * stride + 70)] = std::numeric_limits<float>::quiet_NaN();
  const size_t bytes = quantized_rows_bytes(n, k);
  GuardedMemory got_memory(bytes), want_memory(bytes);
  std::memset(got_memory.as<void>(), 0xff, bytes);
  std::memset(want_memory.as<void>(), 0xee, bytes);
  const QuantizedRows got = quantized_rows_at(got_memory.as<void>(), n, k);
  const QuantizedRows want = quantized_rows_at(want_memory.as<void>(), n, k);
  linear_kernels(GetParam()).quantize_rows(x.data(), stride, 0, 2, got);
  linear_kernels(GetParam()).quantize_rows(x.data(), stride, 2, n, got);
  linear_kernels(Isa::Generic).quantize_rows(x.data(), stride, 0, n, want);
  const int64_t total = n * got.k_padded;
  EXPECT_EQ(std::memcmp(got.codes, want.codes, static_cast<size_t>(total)), 0);
  EXPECT_EQ(std::memcmp(got.offsets, want.offsets, static_cast<size_t>(total / 32 * 4)), 0);
  EXPECT_EQ(std::memcmp(got.half_offsets, want.half_offsets, static_cast<size_t>(total / 16 * 4)), 0);
  const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (int64_t i = 0; i < total / 16; ++i) EXPECT_TRUE(same(got.factors[i], want.factors[i])) << i;
  for (int64_t i = 0; i < total / 16; ++i) EXPECT_TRUE(same(got.half_sums[i], want.half_sums[i])) << i;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = row * got.k_padded + i;
      const float scale = got.factors[at / 256 * 16 + at % 256 / 32], value = x[static_cast<size_t>(row * stride + i)];
      const bool finite = row < 4 || i < 32 || i >= 96;
      if (!finite) {
        EXPECT_TRUE(std::isnan(scale)) << "infinity and NaN must show";
      } else {
        EXPECT_LE(std::abs(static_cast<float>(got.codes[at] + got.zeros[at]) * scale - value), 0.5001f * scale + 1e-36f)
            << row << " " << i;
      }
    }
  }
  EXPECT_EQ(std::memcmp(got.zeros, want.zeros, static_cast<size_t>(total)), 0);
  EXPECT_EQ(got.zeros[3 * got.k_padded], 0);
  EXPECT_GT(got.zeros[3 * got.k_padded + 64], 120) << "values on one side have all codes";
  EXPECT_EQ(got.codes[3 * got.k_padded + 3], -12);  // −12.5
  EXPECT_EQ(got.codes[3 * got.k_padded + 17], 2);   // 1.5
  EXPECT_TRUE(got_memory.front_intact());
}

INSTANTIATE_TEST_SUITE_P(Levels, QuantizeRows, testing::Values(Isa::Generic, Isa::Avx2, Isa::Avx512),
                         [](const auto& row) { return std::string(isa_name(row.param)); });

}  // namespace
}  // namespace tally::cpu
