// Elementwise kernels, norms, softmax, rope, dot and max, at every level, against their formulas in double.
#include <algorithm>

#include "float_test.h"

namespace tally::cpu::test {
namespace {

constexpr int64_t kLengths[] = {1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 255, 1000, 2048};

class Elementwise : public FloatKernelTest {
 protected:
  // Runs `kernel(n, out)` on poisoned memory and compares with formula(i), whose float32 error is `units` units in the
  // last place of size(i).
  template <typename Kernel, typename Formula, typename Size>
  void compare(int64_t n, const std::vector<float>& start, Kernel kernel, Formula formula, Size size, double units) {
    Guarded<float> out(start);
    kernel(n, out.data());
    EXPECT_TRUE(out.intact()) << "wrote outside its buffer";
    std::vector<double> expected, bound;
    for (int64_t i = 0; i < n; ++i) {
      expected.push_back(formula(i));
      bound.push_back(2 * kUnit * units * std::abs(size(i)) + 2e-36);  // silu and sigmoid below −88.7 are zero
    }
    ASSERT_EQ(first_difference(out.data(), expected, bound), "") << "n " << n;
  }
};

// Values of all sizes, with those where functions turn.
std::vector<float> inputs(uint64_t seed, int64_t n) {
  std::vector<float> x = random_floats(seed, n, 12);
  const float special[] = {0.0f,   -0.0f,  100.0f, -100.0f, 1e-30f, -1e-30f, 88.8f,
                           -88.8f, -87.4f, 20.0f,  -20.0f,  1e4f,   -1e4f};
  for (int64_t i = 0; i < n; i += 5) x[i] = special[(i / 5 + seed) % std::size(special)];
  return x;
}

double silu(double x) { return x / (1 + std::exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }
// How much an error of one unit in y changes sigmoid(y), relative: |y| · sigmoid(−y).
double gelu_condition(double x) {
  const double y = 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return 1 + std::abs(y) * sigmoid(-y);
}

TEST_P(Elementwise, Products) {
  for (int64_t n : kLengths) {
    const std::vector<float> gate = inputs(n, n), up = random_floats(n + 1, n, 3), poison(n, kNan);
    Guarded<float> g(gate), u(up);
    compare(
        n, poison, [&](int64_t m, float* out) { kernels().silu_mul(g.data(), u.data(), m, out); },
        [&](int64_t i) { return silu(gate[i]) * up[i]; }, [&](int64_t i) { return silu(gate[i]) * up[i]; }, 5);
    compare(
        n, gate, [&](int64_t m, float* out) { kernels().silu_mul(out, u.data(), m, out); },
        [&](int64_t i) { return silu(gate[i]) * up[i]; }, [&](int64_t i) { return silu(gate[i]) * up[i]; }, 5);
    compare(
        n, up, [&](int64_t m, float* out) { kernels().silu_mul(g.data(), out, m, out); },
        [&](int64_t i) { return silu(gate[i]) * up[i]; }, [&](int64_t i) { return silu(gate[i]) * up[i]; }, 5);
    compare(
        n, poison, [&](int64_t m, float* out) { kernels().gelu_mul(g.data(), u.data(), m, out); },
        [&](int64_t i) { return gelu(gate[i]) * up[i]; },
        [&](int64_t i) { return gelu(gate[i]) * up[i] * gelu_condition(gate[i]); }, 6);
    compare(
        n, up, [&](int64_t m, float* out) { kernels().sigmoid_mul(g.data(), m, out); },
        [&](int64_t i) { return sigmoid(gate[i]) * up[i]; }, [&](int64_t i) { return sigmoid(gate[i]) * up[i]; }, 5);
    compare(
        n, up, [&](int64_t m, float* out) { kernels().add_scaled(g.data(), 0.37f, m, out); },
        [&](int64_t i) { return up[i] + double(0.37f) * gate[i]; },
        [&](int64_t i) { return std::abs(up[i]) + std::abs(0.37 * gate[i]); }, 1);
    EXPECT_TRUE(g.intact() && u.intact());
  }
}

TEST_P(Elementwise, Norms) {
  const float eps = 1e-6f;
  for (int64_t n : kLengths)
    for (double size : {1e-4, 1.0, 1e4}) {
      const std::vector<float> x = random_floats(n, n, size), w = random_floats(n + 1, n), z = inputs(n + 2, n);
      const std::vector<float> poison(n, kNan), old = random_floats(n + 3, n);
      double sum = 0;
      for (float v : x) sum += double(v) * v;
      const double factor = 1 / std::sqrt(sum / n + eps);
      auto norm = [&](int64_t i) { return x[i] * factor * w[i]; };
      Guarded<float> gx(x), gw(w), gz(z);
      const int m = int(n);
      compare(
          n, poison, [&](int64_t, float* out) { kernels().rms_norm(gx.data(), gw.data(), m, eps, out); }, norm, norm,
          2);
      compare(
          n, x, [&](int64_t, float* out) { kernels().rms_norm(out, gw.data(), m, eps, out); }, norm, norm, 2);
      compare(
          n, old, [&](int64_t, float* out) { kernels().rms_norm_add(gx.data(), gw.data(), m, eps, out); },
          [&](int64_t i) { return old[i] + norm(i); }, [&](int64_t i) { return std::abs(old[i]) + std::abs(norm(i)); },
          2);
      compare(
          n, poison,
          [&](int64_t, float* out) { kernels().rms_norm_silu(gx.data(), gw.data(), gz.data(), m, eps, out); },
          [&](int64_t i) { return norm(i) * silu(z[i]); }, [&](int64_t i) { return norm(i) * silu(z[i]); }, 7);
      EXPECT_TRUE(gx.intact() && gw.intact() && gz.intact());
    }
}

TEST_P(Elementwise, Softmax) {
  for (int64_t n : kLengths)
    for (double size : {1.0, 10.0, 300.0}) {
      const std::vector<float> x = random_floats(n, n, size);
      const double top = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (float v : x) sum += std::exp(v - top);
      auto formula = [&](int64_t i) { return std::exp(x[i] - top) / sum; };
      // The difference to the largest is rounded to half a unit of itself, which the exponential turns into a factor.
      compare(
          n, x, [&](int64_t, float* out) { kernels().softmax(out, int(n)); }, formula,
          [&](int64_t i) { return formula(i) * (4 + (top - x[i]) / 2); }, 1);
    }
  std::vector<float> masked(37, -INFINITY);
  masked[5] = 3, masked[36] = 3;
  kernels().softmax(masked.data(), 37);
  for (int i = 0; i < 37; ++i) EXPECT_EQ(masked[i], i == 5 || i == 36 ? 0.5f : 0.0f) << i;
}

TEST_P(Elementwise, ComparisonSeesFaults) {
  const std::vector<float> gate = random_floats(1, 40, 3);
  std::vector<float> out(40), ones(40, 1);
  kernels().silu_mul(gate.data(), ones.data(), 40, out.data());
  std::vector<double> expected, bound;
  for (float x : gate) expected.push_back(silu(x)), bound.push_back(2 * kUnit * 5 * std::abs(silu(x)));
  EXPECT_EQ(first_difference(out.data(), expected, bound), "");
  out[17] *= 1 + 4e-6f;
  EXPECT_NE(first_difference(out.data(), expected, bound), "");
  out[17] = kNan;
  EXPECT_NE(first_difference(out.data(), expected, bound), "");
}

// Every float exponent and both signs through softmax of two: e^x relative to 1, to three units in the last place.
TEST_P(Elementwise, ExponentialIsAccurate) {
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    const float x = float(-100 * random_unit(9, i));
    float pair[2] = {0, x};
    kernels().softmax(pair, 2);
    const double ratio = std::exp(double(x)) / (1 + std::exp(double(x)));
    if (ratio > 1e-37) worst = std::max(worst, std::abs(pair[1] / ratio - 1));
  }
  EXPECT_LT(worst, 3 * 2 * kUnit);
}

TEST_P(Elementwise, Rope) {
  for (int dim : {2, 4, 6, 16, 30, 64, 128}) {
    const std::vector<float> head = random_floats(dim, dim), cos = random_floats(1, dim / 2),
                             sin = random_floats(2, dim / 2);
    Guarded<float> c(cos), s(sin);
    for (bool halves : {false, true}) {
      auto rotated = [&](int64_t i) {
        const int p = int(halves ? i % (dim / 2) : i / 2);
        const bool second = halves ? i >= dim / 2 : i % 2 == 1;
        const double x = head[halves ? p : 2 * p], y = head[halves ? p + dim / 2 : 2 * p + 1];
        return second ? x * sin[p] + y * cos[p] : x * cos[p] - y * sin[p];
      };
      compare(
          dim, head,
          [&](int64_t, float* out) {
            (halves ? kernels().rope_half_split : kernels().rope_interleaved)(c.data(), s.data(), dim, out);
          },
          rotated, [](int64_t) { return 1.0; }, 2);
    }
  }
}

TEST_P(Elementwise, DotAndMax) {
  for (int64_t n : kLengths) {
    const std::vector<float> a = random_floats(n, n, 100), b = random_floats(n + 1, n);
    Guarded<float> ga(a), gb(b);
    double sum = 0, size = 0;
    for (int64_t i = 0; i < n; ++i) sum += double(a[i]) * b[i], size += std::abs(double(a[i]) * b[i]);
    EXPECT_NEAR(kernels().dot(ga.data(), gb.data(), n), sum, n * 0x1p-52 * size);
    EXPECT_EQ(kernels().max(ga.data(), n), *std::max_element(a.begin(), a.end()));
    for (int64_t at : {int64_t(0), n / 2, n - 1}) {
      ga.data()[at] = 1000;
      EXPECT_EQ(kernels().max(ga.data(), n), 1000.0f);
      ga.data()[at] = a[at];
    }
  }
}

TALLY_EVERY_ISA(Elementwise);

}  // namespace
}  // namespace tally::cpu::test
