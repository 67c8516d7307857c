// How a sequence is cut into steps, and who shares a step with it, must not matter.
#include "runtime/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "runtime/models.h"

namespace tally {
namespace {

using runtime::Engine;
using runtime::EngineOptions;
using runtime::Segment;
using runtime::Sequence;

float largest(const std::vector<float>& x) {
  float top = 0;
  for (float v : x) top = std::max(top, std::abs(v));
  return top;
}

// Largest difference; infinite when the sizes differ or a value is not finite.
float distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  float top = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    float d = std::abs(a[i] - b[i]);
    if (!(d <= top)) top = std::isfinite(d) ? d : INFINITY;
  }
  return top;
}

class EveryModel : public testing::TestWithParam<std::string> {};

// Float32 throughout: chunks and single tokens agree to rounding. The bound is that of sums of a few hundred terms
// through some ten layers, far below any change of meaning.
TEST_P(EveryModel, ChunksDoNotMatter) {
  EngineOptions whole{.chunk = 512, .exact = true}, sevens{.chunk = 7, .exact = true}, ones{.chunk = 1, .exact = true};
  test::Opened a(GetParam(), whole), b(GetParam(), sevens), c(GetParam(), ones);
  std::vector<int32_t> tokens = test::random_tokens(150, a.engine->vocab_size(), 1);
  std::vector<float> want = test::all_logits(*a.engine, tokens);
  float bound = 2e-5f * largest(want) + 1e-4f;
  EXPECT_LT(distance(test::all_logits(*b.engine, tokens), want), bound);
  EXPECT_LT(distance(test::all_logits(*c.engine, tokens), want), bound);
}

// With the default kernels segments of up to 8 tokens give the bits of single tokens: what drafting relies on.
TEST_P(EveryModel, ShortSegmentsAreBitIdentical) {
  test::Opened five(GetParam(), {.chunk = 5}), one(GetParam(), {.chunk = 1});
  std::vector<int32_t> tokens = test::random_tokens(80, one.engine->vocab_size(), 2);
  std::vector<float> a = test::all_logits(*one.engine, tokens), b = test::all_logits(*five.engine, tokens);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

// Three sequences in one step, of different lengths, one of them longer than a page.
TEST_P(EveryModel, NeighboursDoNotMatter) {
  test::Opened m(GetParam(), {.n_sequences = 3, .exact = true});
  Engine& e = *m.engine;
  std::vector<std::vector<int32_t>> tokens;
  for (int i = 0; i < 3; ++i)
    tokens.push_back(test::random_tokens(i == 0 ? 1 : i == 1 ? 100 : 9, e.vocab_size(), 10 + i));
  std::vector<Sequence> alone(3), together(3);
  std::vector<std::vector<float>> want(3);
  for (int i = 0; i < 3; ++i) {
    Sequence s = e.open();
    int last = static_cast<int>(tokens[i].size()) - 1;
    e.consume(s, tokens[i], {&last, 1},
              [&](int, std::span<const float> row) { want[i].assign(row.begin(), row.end()); });
    std::span<const float> next = e.decode(s, 5);
    want[i].insert(want[i].end(), next.begin(), next.end());
    e.close(s);
  }
  std::vector<Segment> segments;
  for (int i = 0; i < 3; ++i) {
    together[i] = e.open();
    segments.push_back({&together[i], tokens[i], {static_cast<int>(tokens[i].size()) - 1}, {}});
  }
  std::vector<std::vector<float>> got(3);
  runtime::Rows rows = e.step(segments);
  for (int i = 0; i < 3; ++i) got[i].assign(rows.row(i).begin(), rows.row(i).end());
  const int32_t five = 5;
  for (int i = 0; i < 3; ++i) segments[i] = {&together[i], {&five, 1}, {0}, {}};
  rows = e.step(segments);
  for (int i = 0; i < 3; ++i) {
    got[i].insert(got[i].end(), rows.row(i).begin(), rows.row(i).end());
    EXPECT_LT(distance(got[i], want[i]), 2e-5f * largest(want[i]) + 1e-4f) << "sequence " << i;
  }
}

TEST_P(EveryModel, DispatchesDoNotGrowWithTokens) {
  test::Opened m(GetParam(), {.context_length = 4096, .chunk = 4096});
  Engine& e = *m.engine;
  std::vector<uint64_t> counts;
  for (int n : {16, 256, 1024}) {
    Sequence s = e.open();
    uint64_t before = e.n_dispatches();
    int last = n - 1;
    e.consume(s, test::random_tokens(n, e.vocab_size(), 3), {&last, 1}, [](int, std::span<const float>) {});
    counts.push_back(e.n_dispatches() - before);
    e.close(s);
  }
  std::printf("%s: dispatches of a prompt of 16, 256, 1024 tokens: %d, %d, %d (slope %g)\n",
              std::filesystem::path(GetParam()).stem().c_str(), int(counts[0]), int(counts[1]), int(counts[2]),
              double(counts[2] - counts[0]) / (1024 - 16));
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_EQ(counts[0], counts[2]);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(test::all_models()), [](const auto& model) {
  std::string name = std::filesystem::path(model.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(Engine, RefusesWhatCannotBe) {
  test::Opened m(test::bundled(), {.context_length = 64});
  Engine& e = *m.engine;
  Sequence s = e.open();
  EXPECT_THROW(e.open(), Error) << "one sequence only";
  const int32_t outside = e.vocab_size();
  EXPECT_THROW(e.decode(s, outside), Error);
  EXPECT_THROW(e.decode(s, -1), Error);
  std::vector<int32_t> tokens = test::random_tokens(64, e.vocab_size(), 4);
  e.consume(s, tokens, {}, nullptr);
  EXPECT_THROW(e.decode(s, 1), Error) << "the context is full";
  e.close(s);
  Sequence again = e.open();
  EXPECT_EQ(e.decode(again, 1).size(), size_t(e.vocab_size())) << "one bad request hurts no later one";
  e.close(again);
}

}  // namespace
}  // namespace tally
