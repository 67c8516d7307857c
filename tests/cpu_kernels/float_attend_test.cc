// Attention over pages and appending to them, at every level, against plain sums in double.
#include <algorithm>

#include "float_test.h"
#include "quant/half.h"

namespace tally::cpu::test {
namespace {

constexpr int kPage = 64;

// A sequence of n tokens of one KV head in pages of T (uint16_t: half), what lies behind its end is NaN.
template <typename T>
struct Cache {
  Cache(const FloatKernels& kernels, uint64_t seed, int n_tokens, int head_dim) : n(n_tokens), d(head_dim) {
    k = random_floats(seed + 1, int64_t(n) * d), v = random_floats(seed + 2, int64_t(n) * d);
    for (int page = 0; page * kPage < n; ++page) {
      k_store.emplace_back(int64_t(kPage) * d), v_store.emplace_back(int64_t(kPage) * d);
      const int here = std::min(kPage, n - page * kPage);
      for (int i = 0; i < here; ++i) {
        const int64_t at = (int64_t(page) * kPage + i) * d;
        (sizeof(T) == 2 ? kernels.store_kv_f16 : kernels.store_kv_f32)(&k[at], &v[at], d, i, k_store.back().data(),
                                                                       v_store.back().data());
      }
    }
    for (size_t p = 0; p < k_store.size(); ++p)
      k_pages.push_back(k_store[p].data()), v_pages.push_back(v_store[p].data());
    if (sizeof(T) == 2)
      for (auto* x : {&k, &v})
        for (float& value : *x) value = quant::half_to_float(quant::float_to_half(value));
  }
  bool intact() const {
    auto good = [](const auto& page) { return page.intact(); };
    return std::all_of(k_store.begin(), k_store.end(), good) && std::all_of(v_store.begin(), v_store.end(), good);
  }
  int n, d;
  std::vector<float> k, v;  // as stored, in the order of tokens
  std::vector<Guarded<T>> k_store, v_store;
  std::vector<const void*> k_pages, v_pages;
};

struct Case {
  int n_tokens, head_dim, window;
  std::vector<int32_t> positions;
};
struct Expected {
  std::vector<double> out, bound;  // [n_queries × head_dim]
};

// Softmax attention in double, and a bound of the error of float32: a score is a sum of d products, a result one of n.
template <typename T>
Expected attention(const Cache<T>& cache, const Case& c, const std::vector<float>& q, float scale) {
  const int d = c.head_dim;
  Expected e;
  for (size_t j = 0; j < c.positions.size(); ++j) {
    const int end = c.positions[j] + 1, begin = c.window > 0 ? std::max(0, end - c.window) : 0;
    std::vector<double> p(end - begin);
    double top = -INFINITY, total = 0, score_error = 0;
    for (int u = begin; u < end; ++u) {
      double sum = 0, size = 0;
      for (int i = 0; i < d; ++i) {
        const double term = double(scale) * q[j * d + i] * cache.k[int64_t(u) * d + i];
        sum += term, size += std::abs(term);
      }
      score_error = std::max(score_error, (d + 2) * 2 * kUnit * size);
      p[u - begin] = sum, top = std::max(top, sum);
    }
    for (double& x : p) total += x = std::exp(x - top);
    const double relative = 2 * score_error + 2 * kUnit * (end - begin + 16 * ((end - begin) / kPage + 2));
    for (int i = 0; i < d; ++i) {
      double sum = 0, size = 0;
      for (int u = begin; u < end; ++u) {
        const double term = p[u - begin] / total * cache.v[int64_t(u) * d + i];
        sum += term, size += std::abs(term);
      }
      e.out.push_back(sum), e.bound.push_back(relative * size + 1e-30);
    }
  }
  return e;
}

template <typename T>
std::vector<float> run(const FloatKernels& kernels, Cache<T>& cache, const Case& c, const std::vector<float>& q,
                       float scale) {
  const int d = c.head_dim, n = int(c.positions.size());
  const int64_t stride = d + 3;  // rows need not be dense
  Guarded<float> q_rows(n * stride), out(n * stride), scratch(attend_scratch_floats(d), true);
  for (int j = 0; j < n; ++j) std::copy_n(&q[j * d], d, q_rows.data() + j * stride);
  AttendTask task;
  task.q = q_rows.data(), task.q_stride = stride, task.n_queries = n, task.positions = c.positions.data();
  task.k_pages = cache.k_pages.data(), task.v_pages = cache.v_pages.data();
  task.head_dim = d, task.window = c.window, task.scale = scale;
  task.out = out.data(), task.out_stride = stride, task.scratch = scratch.data();
  (sizeof(T) == 2 ? kernels.attend_f16 : kernels.attend_f32)(task);
  EXPECT_TRUE(out.intact() && scratch.intact() && cache.intact()) << "wrote outside its buffers";
  std::vector<float> dense(int64_t(n) * d);
  for (int j = 0; j < n; ++j) {
    std::copy_n(out.data() + j * stride, d, &dense[j * d]);
    for (int i = d; i < stride; ++i) EXPECT_TRUE(std::isnan(out.data()[j * stride + i])) << "wrote between rows";
  }
  return dense;
}

std::vector<int32_t> positions_from(int first, int n_tokens, int n_heads) {
  std::vector<int32_t> positions;
  for (int t = 0; t < n_tokens; ++t) positions.insert(positions.end(), n_heads, first + t);
  return positions;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int d : {8, 16, 24, 32, 48, 64, 72, 80, 96, 128, 256, 512})
    all.push_back({131, d, 0, positions_from(127, 4, 3)});
  for (int heads = 1; heads <= 16; ++heads) all.push_back({200, 64, 0, positions_from(199, 1, heads)});  // decode
  for (int first : {0, 1, 62, 63, 64, 100, 128}) {
    all.push_back({192, 80, 0, positions_from(first, 32, 1)});
    all.push_back({192, 64, 0, positions_from(first, 4, 8)});
    for (int window : {1, 5, 63, 64, 65, 100, 4096}) all.push_back({192, 40, window, positions_from(first, 32, 1)});
  }
  all.push_back({1000, 32, 0, {999, 0, 500, 64, 63, 128, 127, 1, 998}});  // in no order
  all.push_back({1000, 32, 130, {999, 0, 500, 64, 63, 128, 127, 1, 998}});
  return all;
}

class Attend : public FloatKernelTest {
 protected:
  template <typename T>
  void matches() {
    uint64_t seed = 10;
    for (const Case& c : cases()) {
      SCOPED_TRACE("head_dim " + std::to_string(c.head_dim) + ", window " + std::to_string(c.window) + ", " +
                   std::to_string(c.positions.size()) + " queries from " + std::to_string(c.positions[0]));
      Cache<T> cache(kernels(), seed += 10, c.n_tokens, c.head_dim);
      const std::vector<float> q = random_floats(seed + 3, int64_t(c.positions.size()) * c.head_dim, 4);
      const float scale = 1 / std::sqrt(float(c.head_dim));
      const std::vector<float> found = run(kernels(), cache, c, q, scale);
      const Expected e = attention(cache, c, q, scale);
      ASSERT_EQ(first_difference(found.data(), e.out, e.bound), "");
    }
  }
  // A query alone gives the same bits as all of them together (every third one, starting elsewhere each time).
  template <typename T>
  void alone() {
    uint64_t seed = 7;
    for (const Case& c : cases()) {
      Cache<T> cache(kernels(), seed += 10, c.n_tokens, c.head_dim);
      const int d = c.head_dim;
      const std::vector<float> q = random_floats(seed + 3, int64_t(c.positions.size()) * d, 4);
      const std::vector<float> together = run(kernels(), cache, c, q, 0.3f);
      for (size_t j = seed / 10 % 3; j < c.positions.size(); j += 3) {
        const std::vector<float> one(&q[j * d], &q[j * d] + d);
        const std::vector<float> found = run(kernels(), cache, {c.n_tokens, d, c.window, {c.positions[j]}}, one, 0.3f);
        ASSERT_TRUE(same_bits(found.data(), &together[j * d], d))
            << "query " << j << " at position " << c.positions[j] << ", head_dim " << d << ", window " << c.window;
      }
    }
  }
};

TEST_P(Attend, HalfPagesMatchDouble) { matches<uint16_t>(); }
TEST_P(Attend, FloatPagesMatchDouble) { matches<float>(); }
TEST_P(Attend, HalfPagesGiveTheSameBitsAlone) { alone<uint16_t>(); }
TEST_P(Attend, FloatPagesGiveTheSameBitsAlone) { alone<float>(); }

// One token too many or too few, or one changed value, must not pass.
TEST_P(Attend, ComparisonSeesFaults) {
  const Case c = {200, 64, 100, positions_from(150, 8, 4)};
  Cache<float> cache(kernels(), 3, c.n_tokens, c.head_dim);
  const std::vector<float> q = random_floats(4, int64_t(c.positions.size()) * c.head_dim);
  const std::vector<float> found = run(kernels(), cache, c, q, 0.125f);
  auto differs = [&](const Case& other, const Cache<float>& data) {
    const Expected e = attention(data, other, q, 0.125f);
    return first_difference(found.data(), e.out, e.bound) != "";
  };
  EXPECT_FALSE(differs(c, cache));
  Case later = c, wider = c;
  for (int32_t& p : later.positions) ++p;
  wider.window += 1;
  Cache<float> changed = cache;
  changed.v[120 * 64 + 5] *= 1.02f;
  EXPECT_TRUE(differs(later, cache));
  EXPECT_TRUE(differs(wider, cache));
  EXPECT_TRUE(differs(c, changed));
}

// Scores far apart: weights that vanish, and a largest score that rises from page to page.
TEST_P(Attend, ExtremeScores) {
  const int d = 16;
  const Case c = {300, d, 0, {299}};
  Cache<float> cache(kernels(), 5, c.n_tokens, d);
  for (double size : {1.0, 100.0, 10000.0}) {
    const std::vector<float> q = random_floats(6, d, size);
    const std::vector<float> found = run(kernels(), cache, c, q, 1);
    const Expected e = attention(cache, c, q, 1);
    EXPECT_EQ(first_difference(found.data(), e.out, e.bound), "") << size;
  }
}

TEST_P(Attend, StoreRoundsToNearestEven) {
  const int d = 24;
  std::vector<float> k = random_floats(1, d, 70000), v = random_floats(2, d, 1e-6);
  k[0] = 2049.0f, k[1] = 2051.0f, k[2] = INFINITY, k[3] = -0.0f, k[4] = 65519.9f, k[5] = 65520.0f;
  Guarded<uint16_t> k_page(64 * d), v_page(64 * d);
  kernels().store_kv_f16(k.data(), v.data(), d, 37, k_page.data(), v_page.data());
  EXPECT_TRUE(k_page.intact() && v_page.intact());
  for (int i = 0; i < 64 * d; ++i) {
    EXPECT_EQ(k_page.data()[i], i % 64 == 37 ? quant::float_to_half(k[i / 64]) : 0xFFFF) << i;
    EXPECT_EQ(v_page.data()[i], i / d == 37 ? quant::float_to_half(v[i % d]) : 0xFFFF) << i;
  }
}

TALLY_EVERY_ISA(Attend);

}  // namespace
}  // namespace tally::cpu::test
