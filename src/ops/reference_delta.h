// The definitions of the recurrent ops: short convolution and gated delta rule, token by token, and the chunk-parallel
// form of the latter (equal to rounding; a test holds them together).
#pragma once

#include "ops/reference.h"

namespace tally::ops {

// Applies the taps to one channel: history oldest first, then the current input.
template <typename Real>
void reference(const ShortConv& o, Env<Real>& env) {
  const Batch& batch = env.batch();
  int n = o.channels, x_cols = env.cols(o.x), history = o.taps - 1;
  std::vector<Real> w = env.vector(o.w), state, in(n);
  for (int s = 0; s < batch.n_segments; ++s) {
    Real* slot = env.slot(o.state, batch.slot[s]);
    state.assign(slot, slot + int64_t(history) * n);
    for (int t = batch.segment_start[s]; t < batch.segment_start[s + 1]; ++t) {
      const Real* x = env.value(o.x) + int64_t(t) * x_cols;
      Real* out = env.value(o.out) + int64_t(t) * n;
      for (int c = 0; c < n; ++c) {
        in[c] = o.kind == ConvKind::Gated ? x[c] * x[2 * n + c] : x[c];
        Real sum = w[c * o.taps + history] * in[c];
        for (int k = 0; k < history; ++k) sum += w[c * o.taps + k] * state[k * n + c];
        out[c] = o.kind == ConvKind::Gated ? x[n + c] * sum : silu(sum);
      }
      state.erase(state.begin(), state.begin() + n);
      state.insert(state.end(), in.begin(), in.end());
      if (int keep = batch.checkpoint(t); keep >= 0) std::copy(state.begin(), state.end(), env.slot(o.state, keep));
    }
    std::copy(state.begin(), state.end(), env.slot(o.state, batch.slot[s]));
  }
}

// One token's inputs of one value head.
template <typename Real>
struct DeltaInputs {
  std::vector<Real> q, k, v;  // [head_dim]; q and k normalised, q scaled
  Real log_decay, beta;
};

template <typename Real>
DeltaInputs<Real> delta_inputs(const GatedDelta& o, Env<Real>& env, const std::vector<Real>& a,
                               const std::vector<Real>& dt, int token, int head) {
  int d = o.head_dim, kh = head % o.n_k_heads;
  const Real* row = env.value(o.qkv) + int64_t(token) * env.cols(o.qkv);
  const Real *q = row + kh * d, *k = row + (o.n_k_heads + kh) * d, *v = row + (2 * o.n_k_heads + head) * d;
  DeltaInputs<Real> in{{q, q + d}, {k, k + d}, {v, v + d}, 0, 0};
  double qq = 0, kk = 0;
  for (int i = 0; i < d; ++i) qq += double(q[i]) * q[i], kk += double(k[i]) * k[i];
  Real q_scale = Real(1.0 / std::sqrt(qq + o.eps) / std::sqrt(double(d))), k_scale = Real(1.0 / std::sqrt(kk + o.eps));
  for (int i = 0; i < d; ++i) in.q[i] *= q_scale, in.k[i] *= k_scale;
  in.beta = sigmoid(env.value(o.beta)[int64_t(token) * o.n_v_heads + head]);
  in.log_decay = a[head] * softplus(env.value(o.alpha)[int64_t(token) * o.n_v_heads + head] + dt[head]);
  return in;
}

// One step of the recurrence on state m[value][key]: decay, correct by delta, read with q.
template <typename Real>
void delta_step(const DeltaInputs<Real>& in, int d, Real* m, Real* out) {
  Real decay = std::exp(in.log_decay);
  for (int b = 0; b < d; ++b) {
    Real* row = m + b * d;
    Real predicted = 0;
    for (int i = 0; i < d; ++i) predicted += (row[i] *= decay) * in.k[i];
    Real delta = in.beta * (in.v[b] - predicted);
    Real sum = 0;
    for (int i = 0; i < d; ++i) sum += (row[i] += in.k[i] * delta) * in.q[i];
    out[b] = sum;
  }
}

template <typename Real>
void reference(const GatedDelta& o, Env<Real>& env) {
  const Batch& batch = env.batch();
  int d = o.head_dim;
  int64_t size = int64_t(o.n_v_heads) * d * d;
  std::vector<Real> a = env.vector(o.a), dt = env.vector(o.dt_bias), m;
  for (int s = 0; s < batch.n_segments; ++s) {
    Real* slot = env.slot(o.state, batch.slot[s]);
    m.assign(slot, slot + size);
    for (int t = batch.segment_start[s]; t < batch.segment_start[s + 1]; ++t) {
      for (int h = 0; h < o.n_v_heads; ++h)
        delta_step(delta_inputs(o, env, a, dt, t, h), d, &m[int64_t(h) * d * d],
                   env.value(o.out) + (int64_t(t) * o.n_v_heads + h) * d);
      if (int keep = batch.checkpoint(t); keep >= 0) std::copy(m.begin(), m.end(), env.slot(o.state, keep));
    }
    std::copy(m.begin(), m.end(), env.slot(o.state, batch.slot[s]));
  }
}

// The chunk-parallel form for one head: n tokens at once from state m[value][key], outputs out[n × d]. With cumulative
// log-decays G: (I + A) Δ = β(V − e^G K S₀), A[i][j] = β_i (k_i·k_j) e^{G_i − G_j} for j < i;
// O = e^G Q S₀ + P Δ, P[i][j] = (q_i·k_j) e^{G_i − G_j} for j ≤ i; S₁ = e^{G_n} S₀ + Σ e^{G_n − G_j} k_j δ_jᵀ.
template <typename Real>
void delta_chunk(const std::vector<DeltaInputs<Real>>& in, int d, Real* m, Real* out) {
  int n = static_cast<int>(in.size());
  auto dot = [d](const Real* x, const Real* y) {
    Real sum = 0;
    for (int i = 0; i < d; ++i) sum += x[i] * y[i];
    return sum;
  };
  std::vector<Real> g(n), delta(int64_t(n) * d);
  for (int i = 0; i < n; ++i) g[i] = (i ? g[i - 1] : Real(0)) + in[i].log_decay;
  for (int i = 0; i < n; ++i) {
    Real* row = &delta[int64_t(i) * d];
    for (int b = 0; b < d; ++b) row[b] = in[i].beta * (in[i].v[b] - std::exp(g[i]) * dot(m + b * d, in[i].k.data()));
    for (int j = 0; j < i; ++j) {
      Real f = in[i].beta * dot(in[i].k.data(), in[j].k.data()) * std::exp(g[i] - g[j]);
      for (int b = 0; b < d; ++b) row[b] -= f * delta[int64_t(j) * d + b];
    }
  }
  for (int i = 0; i < n; ++i)
    for (int b = 0; b < d; ++b) out[int64_t(i) * d + b] = std::exp(g[i]) * dot(m + b * d, in[i].q.data());
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      Real p = dot(in[i].q.data(), in[j].k.data()) * std::exp(g[i] - g[j]);
      for (int b = 0; b < d; ++b) out[int64_t(i) * d + b] += p * delta[int64_t(j) * d + b];
    }
  for (int b = 0; b < d; ++b)
    for (int a = 0; a < d; ++a) {
      Real sum = std::exp(g[n - 1]) * m[b * d + a];
      for (int j = 0; j < n; ++j) sum += std::exp(g[n - 1] - g[j]) * in[j].k[a] * delta[int64_t(j) * d + b];
      m[b * d + a] = sum;
    }
}

}  // namespace tally::ops
