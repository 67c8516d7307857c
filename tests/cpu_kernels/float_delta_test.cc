// The gated delta rule and the short convolutions, at every level, against their definitions in double.
#include <algorithm>

#include "float_test.h"

namespace tally::cpu::test {
namespace {

// Inputs of one value head over n tokens. q, k and v rows lie apart by `stride`, as in a row of the convolution's
// output.
struct DeltaInput {
  DeltaInput(uint64_t seed, int n_tokens, int head_dim) : n(n_tokens), d(head_dim), stride(3 * head_dim + 5) {
    rows = random_floats(seed, int64_t(n) * stride, 2);
    m = random_floats(seed + 1, int64_t(d) * d);
    for (int t = 0; t < n; ++t) {
      decay.push_back(float(0.2 + 0.8 * random_unit(seed + 2, t)));
      beta.push_back(float(random_unit(seed + 3, t)));
    }
  }
  int n, d;
  int64_t stride;
  std::vector<float> rows, m, decay, beta;
};

// State after each token, outputs, and bounds of the error of float32 for both.
struct DeltaExpected {
  std::vector<std::vector<double>> m, m_bound;  // after token t: [d × d]
  std::vector<double> out, bound;               // [n × d]
};

std::vector<double> normalized(const float* x, int d, float eps, double factor) {
  double sum = eps;
  for (int i = 0; i < d; ++i) sum += double(x[i]) * x[i];
  std::vector<double> out(x, x + d);
  for (double& value : out) value *= factor / std::sqrt(sum);
  return out;
}

// Errors are carried along: a token makes new ones of about d units of what it adds up, and keeps those of the state.
DeltaExpected delta_rule(const DeltaInput& in, float eps) {
  const int d = in.d;
  const double unit = 2 * kUnit * (d + 8);
  DeltaExpected e;
  std::vector<double> m(in.m.begin(), in.m.end()), error(m.size(), 0.0);
  e.out.resize(int64_t(in.n) * d), e.bound.resize(e.out.size());
  for (int t = 0; t < in.n; ++t) {
    const float *q_in = &in.rows[t * in.stride], *k_in = q_in + d, *v = q_in + 2 * d;
    const std::vector<double> q = normalized(q_in, d, eps, 1 / std::sqrt(d)), k = normalized(k_in, d, eps, 1);
    for (int b = 0; b < d; ++b) {
      double *row = &m[int64_t(b) * d], *row_error = &error[int64_t(b) * d];
      double predicted = 0, size = 0, carried = 0;
      for (int i = 0; i < d; ++i) {
        row[i] *= in.decay[t], row_error[i] *= in.decay[t];
        predicted += row[i] * k[i], size += std::abs(row[i] * k[i]), carried += row_error[i] * std::abs(k[i]);
      }
      const double delta = in.beta[t] * (v[b] - predicted);
      const double delta_error = in.beta[t] * (carried + unit * (size + std::abs(v[b])));
      double sum = 0, sum_size = 0, sum_error = 0;
      for (int i = 0; i < d; ++i) {
        row[i] += k[i] * delta;
        row_error[i] += std::abs(k[i]) * delta_error + 8 * kUnit * (std::abs(row[i]) + std::abs(k[i] * delta));
        sum += row[i] * q[i], sum_size += std::abs(row[i] * q[i]), sum_error += row_error[i] * std::abs(q[i]);
      }
      e.out[int64_t(t) * d + b] = sum, e.bound[int64_t(t) * d + b] = sum_error + unit * sum_size;
    }
    e.m.push_back(m), e.m_bound.push_back(error);
  }
  return e;
}

struct DeltaFound {
  std::vector<float> out, m;  // [n × d], [d × d]
  std::vector<std::vector<float>> kept;
};

// Tokens [begin, end) as one task, rows [0, split) and [split, d) of the state as two.
DeltaFound run_delta(const FloatKernels& kernels, const DeltaInput& in, int begin, int end, const std::vector<float>& m,
                     int split, bool keep) {
  const int n = end - begin, d = in.d;
  Guarded<float> state(m), out(int64_t(n) * d), rows(in.rows), scratch(delta_scratch_floats(n, d), true);
  std::vector<Guarded<float>> kept(n, Guarded<float>(int64_t(d) * d));
  std::vector<float*> checkpoint(n, nullptr);
  for (int t = 0; t < n; t += 2) checkpoint[t] = kept[t].data();
  DeltaTask task;
  task.q = rows.data() + begin * in.stride, task.k = task.q + d, task.v = task.q + 2 * d;
  task.qk_stride = task.v_stride = in.stride;
  task.decay = &in.decay[begin], task.beta = &in.beta[begin], task.gate_stride = 1;
  task.n_tokens = n, task.head_dim = d, task.eps = 1e-6f, task.m = state.data();
  task.out = out.data(), task.out_stride = d, task.scratch = scratch.data();
  task.checkpoint = keep ? checkpoint.data() : nullptr;
  task.value_begin = 0, task.value_end = split;
  kernels.delta(task);
  task.value_begin = split, task.value_end = d;
  kernels.delta(task);
  EXPECT_TRUE(state.intact() && out.intact() && scratch.intact() && rows.intact()) << "wrote outside its buffers";
  DeltaFound found = {out.values(), state.values(), {}};
  for (auto& one : kept) {
    EXPECT_TRUE(one.intact());
    found.kept.push_back(one.values());
  }
  return found;
}

class Delta : public FloatKernelTest {};
constexpr int kDeltaDims[] = {8, 16, 24, 32, 40, 64, 80, 128, 200, 256};

TEST_P(Delta, MatchesDouble) {
  for (int d : kDeltaDims)
    for (int n : {1, 2, 7, 40}) {
      SCOPED_TRACE("head_dim " + std::to_string(d) + ", tokens " + std::to_string(n));
      const DeltaInput in(d * 100 + n, n, d);
      const DeltaFound found = run_delta(kernels(), in, 0, n, in.m, d / 2 + 1, true);
      const DeltaExpected e = delta_rule(in, 1e-6f);
      ASSERT_EQ(first_difference(found.out.data(), e.out, e.bound), "");
      ASSERT_EQ(first_difference(found.m.data(), e.m.back(), e.m_bound.back()), "") << "state";
    }
}

TEST_P(Delta, SameBitsInOneTaskAndInMany) {
  for (int d : kDeltaDims) {
    const int n = 13;
    const DeltaInput in(d, n, d);
    const DeltaFound whole = run_delta(kernels(), in, 0, n, in.m, d, true);
    for (int step : {1, 2, 5}) {
      std::vector<float> m = in.m;
      for (int t = 0; t < n; t += step) {
        const int end = std::min(n, t + step);
        const DeltaFound part = run_delta(kernels(), in, t, end, m, std::min(d, 3 * step + 2), false);
        ASSERT_TRUE(same_bits(part.out.data(), &whole.out[int64_t(t) * d], int64_t(end - t) * d))
            << d << " token " << t;
        m = part.m;
        if ((end - 1) % 2 == 0) {
          ASSERT_TRUE(same_bits(m.data(), whole.kept[end - 1].data(), int64_t(d) * d))
              << d << " checkpoint " << end - 1;
        }
      }
      ASSERT_TRUE(same_bits(m.data(), whole.m.data(), int64_t(d) * d)) << d << " state, step " << step;
    }
  }
}

TEST_P(Delta, ComparisonSeesFaults) {
  const int d = 64, n = 9;
  const DeltaInput in(1, n, d);
  const DeltaFound found = run_delta(kernels(), in, 0, n, in.m, d, false);
  auto differs = [&](const DeltaInput& other) {
    const DeltaExpected e = delta_rule(other, 1e-6f);
    return first_difference(found.out.data(), e.out, e.bound) != "";
  };
  EXPECT_FALSE(differs(in));
  DeltaInput other = in;
  other.decay[3] *= 1.001f;
  EXPECT_TRUE(differs(other));
  other = in;
  std::swap(other.beta[4], other.beta[5]);
  EXPECT_TRUE(differs(other));
  other = in;
  other.m[17] += 0.01f;
  EXPECT_TRUE(differs(other));
}

struct ConvCase {
  int taps, channels, begin, end, n_tokens;
  bool gated;
};

class Conv : public FloatKernelTest {
 protected:
  struct Data {
    Data(const ConvCase& c)
        : stride((c.gated ? 3 : 1) * c.channels + 2),
          x(random_floats(c.channels, int64_t(c.n_tokens) * stride, 3)),
          w(random_floats(2, int64_t(c.channels) * c.taps)),
          state(random_floats(3, int64_t(c.taps - 1) * c.channels, 3)) {}
    int64_t stride;
    std::vector<float> x, w, state;
  };
  // Tokens [begin, end) of the data with `state`, which is updated; out: [end − begin × channels].
  std::vector<float> run(const ConvCase& c, const Data& data, int begin, int end, std::vector<float>& state,
                         std::vector<std::vector<float>>* kept = nullptr) {
    const int n = end - begin;
    Guarded<float> x(data.x), w(data.w), held(state), out(int64_t(n) * c.channels);
    std::vector<Guarded<float>> keep(n, Guarded<float>(int64_t(c.taps - 1) * c.channels));
    std::vector<float*> checkpoint(n, nullptr);
    for (int t = 0; t < n; t += 2) checkpoint[t] = keep[t].data();
    (c.gated ? kernels().conv_gated : kernels().conv_silu)(x.data() + begin * data.stride, data.stride, w.data(),
                                                           c.taps, c.channels, c.begin, c.end, n, held.data(),
                                                           kept ? checkpoint.data() : nullptr, out.data(), c.channels);
    EXPECT_TRUE(x.intact() && w.intact() && held.intact() && out.intact()) << "wrote outside its buffers";
    for (auto& one : keep) EXPECT_TRUE(one.intact());
    if (kept)
      for (auto& one : keep) kept->push_back(one.values());
    state = held.values();
    return out.values();
  }
};

std::vector<ConvCase> conv_cases() {
  std::vector<ConvCase> all;
  for (bool gated : {false, true})
    for (int taps : {2, 3, 4, 5, 17})
      for (int n : {1, 2, 3, 9}) {
        all.push_back({taps, 150, 0, 150, n, gated});
        all.push_back({taps, 40, 7, 33, n, gated});
      }
  return all;
}

TEST_P(Conv, MatchesDouble) {
  for (const ConvCase& c : conv_cases()) {
    SCOPED_TRACE("taps " + std::to_string(c.taps) + ", tokens " + std::to_string(c.n_tokens) +
                 (c.gated ? ", gated" : ""));
    const Data data(c);
    std::vector<float> state = data.state;
    std::vector<std::vector<float>> kept;
    const std::vector<float> out = run(c, data, 0, c.n_tokens, state, &kept);
    for (int i = 0; i < c.channels; ++i) {
      std::vector<double> in;  // history, then the task's inputs
      for (int s = 0; s < c.taps - 1; ++s) in.push_back(data.state[s * c.channels + i]);
      for (int t = 0; t < c.n_tokens; ++t) {
        const float* x = &data.x[t * data.stride];
        in.push_back(c.gated ? double(x[i] * x[2 * c.channels + i]) : x[i]);
        const float found = out[t * c.channels + i];
        if (i < c.begin || i >= c.end) {
          ASSERT_TRUE(std::isnan(found)) << "wrote channel " << i;
          continue;
        }
        double sum = 0, size = 0;
        for (int k = 0; k < c.taps; ++k) {
          const double term = data.w[i * c.taps + k] * in[t + k];
          sum += term, size += std::abs(term);
        }
        const double gate = c.gated ? x[c.channels + i] : 1 / (1 + std::exp(-sum));
        ASSERT_NEAR(found, gate * sum, (2 * c.taps + 12) * kUnit * size * 1.1 * std::max(1.0, std::abs(gate))) << i;
        for (int s = 0; t % 2 == 0 && s < c.taps - 1; ++s)
          ASSERT_EQ(kept[t][s * c.channels + i], float(in[t + 1 + s])) << i;
      }
      for (int s = 0; s < c.taps - 1; ++s) {
        const bool inside = i >= c.begin && i < c.end;
        ASSERT_EQ(state[s * c.channels + i], inside ? float(in[c.n_tokens + s]) : data.state[s * c.channels + i]) << i;
      }
    }
  }
}

TEST_P(Conv, SameBitsInOneTaskAndInMany) {
  for (const ConvCase& c : conv_cases()) {
    const Data data(c);
    std::vector<float> state = data.state, step_state = data.state;
    const std::vector<float> whole = run(c, data, 0, c.n_tokens, state);
    for (int t = 0; t < c.n_tokens; ++t) {
      const std::vector<float> one = run(c, data, t, t + 1, step_state);
      ASSERT_TRUE(same_bits(one.data(), &whole[t * c.channels], c.channels)) << "token " << t;
    }
    ASSERT_TRUE(same_bits(state.data(), step_state.data(), int64_t(state.size())));
  }
}

TALLY_EVERY_ISA(Delta);
TALLY_EVERY_ISA(Conv);

}  // namespace
}  // namespace tally::cpu::test
