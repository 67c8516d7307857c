// Sampling against its definition.
#include "ops/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"

namespace tally::ops {
namespace {

const std::vector<float> kLogits{1.f, 3.f, 2.f, -1.f, 3.f, 0.f};

// How often each id is drawn over many positions, as shares.
std::map<int, double> shares(const SamplingSettings& s, std::vector<int32_t> banned = {}) {
  std::map<int, double> out;
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) out[ops::sample(kLogits, {}, s, i, banned)] += 1.0 / kDraws;
  return out;
}

std::vector<double> softmax(std::vector<double> x) {
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v);
  for (double& v : x) v /= sum;
  return x;
}

TEST(Sample, GreedyTakesTheFirstOfTheBest) {
  EXPECT_EQ(ops::sample(kLogits, {}, {}, 0), 1);
  EXPECT_EQ(argmax(std::vector<float>{NAN, -INFINITY, 2.f, NAN}), 2);
  EXPECT_EQ(ops::sample(kLogits, {}, {}, 0, std::vector<int32_t>{1}), 4);
}

TEST(Sample, FollowsTheDistribution) {
  SamplingSettings s{.temperature = 1.5f};
  std::vector<double> want = softmax({1 / 1.5, 2.0, 2 / 1.5, -1 / 1.5, 2.0, 0});
  std::map<int, double> got = shares(s);
  for (int i = 0; i < 6; ++i)
    EXPECT_NEAR(got[i], want[i], 4 * std::sqrt(want[i] / 40000)) << i;  // four standard deviations
}

TEST(Sample, TopKTopPMinP) {
  SamplingSettings s{.temperature = 1.f, .top_k = 2};
  std::map<int, double> got = shares(s);
  EXPECT_EQ(got.size(), 2u);
  EXPECT_NEAR(got[1], 0.5, 0.02);
  s = {.temperature = 1.f, .top_p = 0.7f};  // the two best hold 0.39 each
  got = shares(s);
  EXPECT_EQ(got.size(), 2u);
  s = {.temperature = 1.f, .min_p = 0.3f};  // e^-1 = 0.37 stays, e^-2 goes
  got = shares(s);
  EXPECT_EQ(got.size(), 3u);
  EXPECT_TRUE(got.count(2));
  s = {.temperature = 1.f, .top_p = 0.f};  // never nothing
  EXPECT_EQ(shares(s).size(), 1u);
}

TEST(Sample, PenaltiesAndBans) {
  SamplingSettings s{.repeat_penalty = 2.f};
  EXPECT_EQ(ops::sample(kLogits, std::vector<int32_t>{1, 4}, s, 0), 2);
  s = {.presence_penalty = 1.5f};
  EXPECT_EQ(ops::sample(kLogits, std::vector<int32_t>{1, 1, 4}, s, 0), 2);
  s = {.frequency_penalty = 0.6f};
  EXPECT_EQ(ops::sample(kLogits, std::vector<int32_t>{1, 1, 4}, s, 0), 4);
  s = {.presence_penalty = 10.f, .penalty_last_n = 1};
  EXPECT_EQ(ops::sample(kLogits, std::vector<int32_t>{1, 4}, s, 0), 1) << "only the last token counts";
  EXPECT_EQ(ops::sample(kLogits, std::vector<int32_t>{-5, 99}, s, 0), 1) << "ids out of range do no harm";
  SamplingSettings t{.temperature = 1.f};
  EXPECT_EQ(shares(t, {1, 4}).count(1), 0u);
}

// Only what a row of bits allows is drawn, with the probabilities that are left.
TEST(Sample, AllowedIds) {
  const std::vector<uint64_t> row{0b101101};  // 0, 2, 3, 5
  EXPECT_EQ(ops::sample(kLogits, {}, {}, 0, {}, row), 2);
  EXPECT_EQ(ops::sample(kLogits, {}, {}, 0, std::vector<int32_t>{2}, row), 0);
  const std::vector<double> want = softmax({1, 2, -1, 0});
  for (const SamplingSettings& s :
       {SamplingSettings{.temperature = 1.f}, SamplingSettings{.temperature = 1.f, .top_k = 5},
        SamplingSettings{.temperature = 1.f, .top_p = 0.9999f}}) {
    std::map<int, double> got;
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) got[ops::sample(kLogits, {}, s, i, {}, row)] += 1.0 / kDraws;
    EXPECT_NEAR(got[0], want[0], 0.01);
    EXPECT_NEAR(got[2], want[1], 0.01);
    EXPECT_EQ(got.count(1) + got.count(4), 0u);
  }
  const std::vector<float> wide(70, 1.f);
  EXPECT_EQ(ops::sample(wide, {}, {}, 0, {}, std::vector<uint64_t>{0, 1 << 3}), 67);
  EXPECT_EQ(ops::sample(wide, {}, {}, 0, {}, std::vector<uint64_t>{1 << 5}), 5);  // ids beyond the row are not allowed
  const std::vector<float> none{-INFINITY, 2.f, NAN, -INFINITY};
  EXPECT_EQ(ops::sample(none, {}, {.temperature = 1.f}, 0, {}, std::vector<uint64_t>{0b1100}), 2);
  EXPECT_THROW(ops::sample(kLogits, {}, {}, 0, {}, std::vector<uint64_t>{0}), Error);
}

TEST(Sample, SameSeedAndPositionSameToken) {
  SamplingSettings s{.temperature = 1.f, .seed = 5};
  int same = 0, other_seed = 0;
  for (int i = 0; i < 200; ++i) {
    SamplingSettings u = s;
    u.seed = 6;
    same += ops::sample(kLogits, {}, s, i) == ops::sample(kLogits, {}, s, i);
    other_seed += ops::sample(kLogits, {}, s, i) == ops::sample(kLogits, {}, u, i);
  }
  EXPECT_EQ(same, 200);
  EXPECT_LT(other_seed, 150);
}

TEST(Sample, SettingsOutOfRange) {
  EXPECT_THROW(check_settings({.temperature = NAN}), Error);
  EXPECT_THROW(check_settings({.top_p = 1.5f}), Error);
  EXPECT_THROW(check_settings({.repeat_penalty = 0.f}), Error);
  EXPECT_NO_THROW(check_settings({}));
}

}  // namespace
}  // namespace tally::ops
