// The definition of every op: slow, obvious, in any real type. With double it is the oracle that kernels are judged by;
// with float it is the CPU's generic kernel. Rows and cols are those of the op's records (op.h).
#pragma once

#include <cmath>
#include <vector>

#include "ops/batch.h"
#include "ops/op.h"

namespace tally::ops {

// What an op sees of the world: values, weights and state as plain arrays, whatever stores them.
template <typename Real>
class Env {
 public:
  virtual ~Env() = default;
  virtual const Program& program() const = 0;
  virtual const Batch& batch() const = 0;
  virtual Real* value(Value v) = 0;                                                  // [rows × cols]
  virtual void weight_row(WeightRef w, int64_t expert, int64_t row, Real* out) = 0;  // out[in], dequantised
  virtual Real* slot(StateRef s, int slot) = 0;                                      // [elements]
  // K and V of one position of the sequence of a segment; heads × head_dim values, or one head's head_dim.
  virtual void store_kv(StateRef s, int segment, int position, const Real* k, const Real* v) = 0;
  virtual void load_k(StateRef s, int segment, int position, int kv_head, Real* out) = 0;
  virtual void load_v(StateRef s, int segment, int position, int kv_head, Real* out) = 0;

  int cols(Value v) const { return program().info(v).cols; }
  int rows(Value v) const { return program().info(v).rows == Rows::Tokens ? batch().n_tokens : batch().n_outputs; }
  std::vector<Real> vector(WeightRef w) {  // all rows of a small weight
    const WeightInfo& info = program().info(w);
    std::vector<Real> out(info.in * info.out);
    for (int64_t r = 0; r < info.out; ++r) weight_row(w, 0, r, &out[r * info.in]);
    return out;
  }
};

template <typename Real>
Real sigmoid(Real x) {
  return Real(1) / (Real(1) + std::exp(-x));
}
template <typename Real>
Real silu(Real x) {
  return x * sigmoid(x);
}
template <typename Real>
Real softplus(Real x) {
  return x > Real(20) ? x : std::log1p(std::exp(x));
}
template <typename Real>
Real gelu_tanh(Real x) {
  return Real(0.5) * x * (Real(1) + std::tanh(Real(0.7978845608028654) * x * (Real(1) + Real(0.044715) * x * x)));
}
template <typename Real>
Real activate(Activation act, Real x) {
  return act == Activation::Silu ? silu(x) : gelu_tanh(x);
}

// x / sqrt(mean(x²) + eps) · w over n values.
template <typename Real>
void rms_norm_row(const Real* x, const Real* w, int n, double eps, Real* out) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += double(x[i]) * double(x[i]);
  Real s = Real(1.0 / std::sqrt(sum / n + eps));
  for (int i = 0; i < n; ++i) out[i] = x[i] * s * w[i];
}

// y[r] = Σ_i W[expert][r][i] · x[i]
template <typename Real>
void matrix_vector(Env<Real>& env, WeightRef w, int64_t expert, const Real* x, Real* y) {
  const WeightInfo& info = env.program().info(w);
  std::vector<Real> row(info.in);
  for (int64_t r = 0; r < info.out; ++r) {
    env.weight_row(w, expert, r, row.data());
    Real sum = 0;
    for (int64_t i = 0; i < info.in; ++i) sum += row[i] * x[i];
    y[r] = sum;
  }
}

template <typename Real>
void reference(const Embed& o, Env<Real>& env) {
  int n = env.cols(o.out);
  for (int t = 0; t < env.batch().n_tokens; ++t) {
    Real* out = env.value(o.out) + int64_t(t) * n;
    env.weight_row(o.w, 0, env.batch().tokens[t], out);
    for (int i = 0; i < n; ++i) out[i] *= Real(o.scale);
  }
}

template <typename Real>
void reference(const Input& o, Env<Real>& env) {
  int64_t n = int64_t(env.batch().n_tokens) * env.cols(o.out);
  Real* out = env.value(o.out);
  for (int64_t i = 0; i < n; ++i) out[i] = Real(env.batch().input[i]);
}

template <typename Real>
void reference(const RmsNorm& o, Env<Real>& env) {
  int n = env.cols(o.x);
  std::vector<Real> w = env.vector(o.w), y(n);
  for (int t = 0; t < env.rows(o.x); ++t) {
    Real* out = env.value(o.out) + int64_t(t) * n;
    rms_norm_row(env.value(o.x) + int64_t(t) * n, w.data(), n, o.eps, y.data());
    for (int i = 0; i < n; ++i) out[i] = o.accumulate ? out[i] + y[i] : y[i];
  }
}

template <typename Real>
void reference(const Linear& o, Env<Real>& env) {
  const WeightInfo& info = env.program().info(o.w);
  std::vector<Real> row(info.in), bias(info.out);
  if (o.bias) bias = env.vector(o.bias);
  int n_rows = env.rows(o.x);
  for (int64_t r = 0; r < info.out; ++r) {  // a weight row is expanded once for all tokens
    env.weight_row(o.w, 0, r, row.data());
    for (int t = 0; t < n_rows; ++t) {
      const Real* x = env.value(o.x) + int64_t(t) * info.in;
      Real sum = 0;
      for (int64_t i = 0; i < info.in; ++i) sum += row[i] * x[i];
      Real& out = env.value(o.out)[int64_t(t) * info.out + r];
      out = (o.accumulate ? out : Real(0)) + sum + bias[r];
    }
  }
}

template <typename Real>
void reference(const GatedNorm& o, Env<Real>& env) {
  int n = env.cols(o.x);
  std::vector<Real> w = env.vector(o.w);
  for (int t = 0; t < env.rows(o.x); ++t)
    for (int h = 0; h < n; h += o.head_dim) {
      Real* out = env.value(o.out) + int64_t(t) * n + h;
      const Real* z = env.value(o.z) + int64_t(t) * n + h;
      rms_norm_row(env.value(o.x) + int64_t(t) * n + h, w.data(), o.head_dim, o.eps, out);
      for (int i = 0; i < o.head_dim; ++i) out[i] *= silu(z[i]);
    }
}

template <typename Real>
void reference(const Swiglu& o, Env<Real>& env) {
  int64_t n = int64_t(env.rows(o.gate)) * env.cols(o.gate);
  const Real *gate = env.value(o.gate), *up = env.value(o.up);
  Real* out = env.value(o.out);
  for (int64_t i = 0; i < n; ++i) out[i] = activate(o.act, gate[i]) * up[i];
}

template <typename Real>
void reference(const Concat& o, Env<Real>& env) {
  int na = env.cols(o.a), nb = env.cols(o.b);
  for (int t = 0; t < env.rows(o.a); ++t) {
    Real* out = env.value(o.out) + int64_t(t) * (na + nb);
    for (int i = 0; i < na; ++i) out[i] = env.value(o.a)[int64_t(t) * na + i];
    for (int i = 0; i < nb; ++i) out[na + i] = env.value(o.b)[int64_t(t) * nb + i];
  }
}

template <typename Real>
void reference(const Select& o, Env<Real>& env) {
  int n = env.cols(o.x);
  for (int m = 0; m < env.batch().n_outputs; ++m)
    for (int i = 0; i < n; ++i)
      env.value(o.out)[int64_t(m) * n + i] = env.value(o.x)[int64_t(env.batch().output_row[m]) * n + i];
}

template <typename Real>
void reference(const Softcap& o, Env<Real>& env) {
  int64_t n = int64_t(env.rows(o.x)) * env.cols(o.x);
  Real* x = env.value(o.x);
  for (int64_t i = 0; i < n; ++i) x[i] = Real(o.cap) * std::tanh(x[i] / Real(o.cap));
}

}  // namespace tally::ops
