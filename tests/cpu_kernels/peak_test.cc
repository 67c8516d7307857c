// The loops that measure limits do the work they claim.
#include "backend/cpu/kernels/peak.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace tally::cpu {
namespace {

TEST(Peak, ReadsEveryWordAndMultipliesToFiniteNumbers) {
  for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512}) {
    if (isa > best_isa()) {
      std::printf("note: this processor has no %s\n", isa_name(isa));
      continue;
    }
    const PeakKernels& k = peak_kernels(isa);
    std::vector<uint64_t> words(64 * 5 + 1);
    uint64_t want = 0;
    for (size_t i = 0; i < words.size(); ++i) words[i] = i * 0x9e3779b97f4a7c15ull;
    for (size_t i = 1; i < words.size(); ++i) want += words[i];
    EXPECT_EQ(k.read(&words[1], (words.size() - 1) * 8), want) << isa_name(isa);
    for (size_t i : {size_t{1}, size_t{77}, words.size() - 1}) {
      words[i] += 1;
      EXPECT_EQ(k.read(&words[1], (words.size() - 1) * 8), want + 1) << "word " << i << " is read, " << isa_name(isa);
      words[i] -= 1;
    }
    EXPECT_TRUE(std::isfinite(k.multiply_f32(1000)));
    EXPECT_NE(k.multiply_int8(1), k.multiply_int8(2)) << "each round adds";
    EXPECT_GT(k.f32_ops, 0);
    EXPECT_GT(k.int8_ops, 0);
  }
}

}  // namespace
}  // namespace tally::cpu
