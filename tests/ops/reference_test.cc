// The definitions held against other ways to compute the same.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "ops/reference_attention.h"
#include "ops/reference_delta.h"
#include "ops/reference_moe.h"

namespace tally::ops {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  double operator()(double min, double max) { return min + (max - min) * random_unit(seed_, n_++); }
  std::vector<double> vector(int n, double min = -1, double max = 1) {
    std::vector<double> out(n);
    for (double& x : out) x = (*this)(min, max);
    return out;
  }

 private:
  uint64_t seed_, n_ = 0;
};

DeltaInputs<double> random_inputs(Random& random, int d) {
  DeltaInputs<double> in{random.vector(d), random.vector(d), random.vector(d), random(-3, 0), random(0, 1)};
  double norm = 0;
  for (double k : in.k) norm += k * k;
  for (double& k : in.k) k /= std::sqrt(norm);
  return in;
}

TEST(GatedDelta, ChunkParallelFormEqualsTheRecurrence) {
  Random random(1);
  const int d = 16;
  for (int n : {1, 2, 7, 64}) {
    std::vector<double> state = random.vector(d * d), chunk_state = state, out(n * d), chunk_out(n * d);
    std::vector<DeltaInputs<double>> inputs;
    for (int t = 0; t < n; ++t) inputs.push_back(random_inputs(random, d));
    for (int t = 0; t < n; ++t) delta_step(inputs[t], d, state.data(), &out[t * d]);
    delta_chunk(inputs, d, chunk_state.data(), chunk_out.data());
    for (int i = 0; i < n * d; ++i) EXPECT_NEAR(chunk_out[i], out[i], 1e-12) << n << " tokens, output " << i;
    for (int i = 0; i < d * d; ++i) EXPECT_NEAR(chunk_state[i], state[i], 1e-12) << n << " tokens, state " << i;
  }
}

TEST(GatedDelta, FullForgettingLeavesOnlyTheLastToken) {
  const int d = 2;
  DeltaInputs<double> in{{1, 2}, {1, 0}, {5, 7}, -1e6, 1};  // decay 0, β 1: the state becomes v kᵀ
  std::vector<double> state{9, 9, 9, 9}, out(d);
  delta_step(in, d, state.data(), out.data());
  EXPECT_EQ(state, (std::vector<double>{5, 0, 7, 0}));
  EXPECT_EQ(out, (std::vector<double>{5, 7}));
}

struct Chosen {
  std::vector<int> ids;
  std::vector<double> weights;
};
Chosen choose(const Route& o, std::vector<double> score, std::vector<double> bias = {}) {
  Chosen c{std::vector<int>(o.n_used), std::vector<double>(o.n_used)};
  choose_experts(o, score, bias, c.ids.data(), c.weights.data());
  return c;
}

TEST(Route, TopKNormalisedAndScaled) {
  Route o{.n_experts = 4, .n_used = 2, .scale = 2.f};
  Chosen c = choose(o, {0.1, 0.5, 0.3, 0.1});
  EXPECT_EQ(c.ids, (std::vector<int>{1, 2}));
  EXPECT_NEAR(c.weights[0], 2 * 0.5 / 0.8, 1e-15);
  EXPECT_NEAR(c.weights[1], 2 * 0.3 / 0.8, 1e-15);
  o.normalize = false;
  EXPECT_NEAR(choose(o, {0.1, 0.5, 0.3, 0.1}).weights[0], 1.0, 1e-15);
}

TEST(Route, TiesGoToTheLowerIndex) {
  Route o{.n_experts = 5, .n_used = 3};
  EXPECT_EQ(choose(o, {0.2, 0.2, 0.2, 0.2, 0.2}).ids, (std::vector<int>{0, 1, 2}));
}

TEST(Route, BiasChoosesButDoesNotWeigh) {
  Route o{.n_experts = 3, .n_used = 1};
  o.normalize = false;
  Chosen c = choose(o, {0.9, 0.5, 0.1}, {0, 0, 1});
  EXPECT_EQ(c.ids, (std::vector<int>{2}));
  EXPECT_EQ(c.weights[0], 0.1);
}

TEST(Route, GroupsByTheirTwoBest) {
  // Groups {0,1,2} {3,4,5} {6,7,8}: the best expert is 0, but its group's two best sum least.
  Route o{.n_experts = 9, .n_used = 3, .n_groups = 3, .n_groups_used = 2};
  Chosen c = choose(o, {0.9, 0, 0, 0.5, 0.6, 0.1, 0.7, 0.2, 0.65});
  EXPECT_EQ(c.ids, (std::vector<int>{6, 8, 4}));
}

TEST(Route, TinyScoresDivideByTheFloor) {
  Route o{.score = RouteScore::Sigmoid, .n_experts = 2, .n_used = 1};
  EXPECT_NEAR(choose(o, {1e-6, 0}).weights[0], 1e-6 / 6.103515625e-5, 1e-12);
}

TEST(Route, SoftmaxScoresSumToOne) {
  std::vector<double> x{1000, 1001, 998};
  route_scores(RouteScore::Softmax, x);
  EXPECT_NEAR(x[0] + x[1] + x[2], 1, 1e-15);
  EXPECT_NEAR(x[1] / x[0], std::exp(1.0), 1e-12);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TEST(RopeTest, ScoresDependOnDistanceOnly) {
  Random random(2);
  for (RopeLayout layout : {RopeLayout::Interleaved, RopeLayout::HalfSplit}) {
    Rope rope{.layout = layout, .dim = 8, .theta = 100.f};
    std::vector<double> q = random.vector(12), k = random.vector(12);
    auto score = [&](int at_q, int at_k) {
      std::vector<double> a = q, b = k;
      rope_head(rope, {}, at_q, a.data()), rope_head(rope, {}, at_k, b.data());
      return dot(a, b);
    };
    EXPECT_NEAR(score(5, 3), score(105, 103), 1e-12);
    EXPECT_GT(std::abs(score(5, 3) - score(6, 3)), 1e-3);
  }
}

TEST(RopeTest, LayoutsDifferByAPermutation) {
  Random random(3);
  Rope interleaved{.layout = RopeLayout::Interleaved, .dim = 8}, half{.layout = RopeLayout::HalfSplit, .dim = 8};
  std::vector<double> a = random.vector(8), b(8);
  for (int p = 0; p < 4; ++p) b[p] = a[2 * p], b[p + 4] = a[2 * p + 1];
  rope_head(interleaved, {}, 17, a.data()), rope_head(half, {}, 17, b.data());
  for (int p = 0; p < 4; ++p) {
    EXPECT_EQ(b[p], a[2 * p]);
    EXPECT_EQ(b[p + 4], a[2 * p + 1]);
  }
}

TEST(RopeTest, RestOfTheHeadIsUntouchedAndPositionZeroIsTheIdentity) {
  Random random(4);
  Rope rope{.layout = RopeLayout::HalfSplit, .dim = 4};
  std::vector<double> x = random.vector(8), y = x;
  rope_head(rope, {}, 0, y.data());
  EXPECT_EQ(x, y);
  rope_head(rope, {}, 3, y.data());
  for (int i = 4; i < 8; ++i) EXPECT_EQ(x[i], y[i]);
  EXPECT_NE(x[0], y[0]);
}

TEST(RopeTest, AnglesByHand) {
  Rope rope{.layout = RopeLayout::HalfSplit, .dim = 4, .theta = 100.f, .freq_scale = 0.5f};
  EXPECT_NEAR(rope_angle<double>(rope, {}, 0, 6), 3.0, 1e-12);
  EXPECT_NEAR(rope_angle<double>(rope, {}, 1, 6), 0.3, 1e-7);
  EXPECT_NEAR(rope_angle<double>(rope, {2.0, 3.0}, 1, 6), 0.1, 1e-7);
  // YaRN: fast pairs keep their angle, slow ones are interpolated, those between are mixed.
  Rope yarn{.layout = RopeLayout::HalfSplit, .dim = 8, .theta = 1.0001f, .freq_scale = 0.25f, .yarn_low = 1};
  yarn.yarn_high = 3, yarn.yarn = true;
  EXPECT_NEAR(rope_angle<double>(yarn, {}, 0, 8), 8, 1e-2);
  EXPECT_NEAR(rope_angle<double>(yarn, {}, 1, 8), 8, 1e-2);
  EXPECT_NEAR(rope_angle<double>(yarn, {}, 2, 8), 5, 1e-2);
  EXPECT_NEAR(rope_angle<double>(yarn, {}, 3, 8), 2, 1e-2);
}

TEST(RmsNormRow, ByHand) {
  const double x[2] = {3, 4}, w[2] = {1, 2};
  double out[2];
  rms_norm_row(x, w, 2, 0.0, out);
  EXPECT_NEAR(out[0], 3 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(out[1], 8 / std::sqrt(12.5), 1e-15);
}

}  // namespace
}  // namespace tally::ops
