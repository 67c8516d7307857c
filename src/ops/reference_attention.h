// The definition of attention: norm and rope of q and k, append to the pages, causal softmax, optional gate.
#pragma once

#include <algorithm>
#include <limits>

#include "ops/reference.h"

namespace tally::ops {

// Angle of pair p at `position`, before the magnitude. divisors: [dim / 2] or empty.
template <typename Real>
Real rope_angle(const Rope& rope, const std::vector<Real>& divisors, int p, int position) {
  double base = std::pow(double(rope.theta), -2.0 * p / rope.dim);
  if (!divisors.empty()) base /= double(divisors[p]);
  double interpolated = double(position) * double(rope.freq_scale) * base;
  if (!rope.yarn) return Real(interpolated);
  double extrapolated = double(position) * base;
  double ramp =
      1.0 - std::clamp((p - double(rope.yarn_low)) / std::max(0.001, double(rope.yarn_high) - rope.yarn_low), 0.0, 1.0);
  return Real(interpolated * (1.0 - ramp) + extrapolated * ramp);
}

// Rotates the first rope.dim values of one head in place.
template <typename Real>
void rope_head(const Rope& rope, const std::vector<Real>& divisors, int position, Real* head) {
  if (rope.layout == RopeLayout::None) return;
  for (int p = 0; p < rope.dim / 2; ++p) {
    Real angle = rope_angle(rope, divisors, p, position);
    Real c = std::cos(angle) * Real(rope.magnitude), s = std::sin(angle) * Real(rope.magnitude);
    int i = rope.layout == RopeLayout::Interleaved ? 2 * p : p;
    int j = rope.layout == RopeLayout::Interleaved ? 2 * p + 1 : p + rope.dim / 2;
    Real x = head[i], y = head[j];
    head[i] = x * c - y * s;
    head[j] = x * s + y * c;
  }
}

// Softmax-weighted sum of v over the visible positions of one query head.
template <typename Real>
void attend_head(const Attention& o, Env<Real>& env, int segment, int position, int kv_head, const Real* q, Real* out) {
  int first = o.window > 0 ? std::max(0, position - o.window + 1) : 0;
  std::vector<Real> score(position + 1 - first), row(o.head_dim);
  Real top = -std::numeric_limits<Real>::infinity();
  for (int u = first; u <= position; ++u) {
    env.load_k(o.pages, segment, u, kv_head, row.data());
    Real s = 0;
    for (int i = 0; i < o.head_dim; ++i) s += q[i] * row[i];
    score[u - first] = s * Real(o.scale);
    top = std::max(top, score[u - first]);
  }
  Real sum = 0;
  for (Real& s : score) sum += s = std::exp(s - top);
  std::fill(out, out + o.head_dim, Real(0));
  for (int u = first; u <= position; ++u) {
    env.load_v(o.pages, segment, u, kv_head, row.data());
    for (int i = 0; i < o.head_dim; ++i) out[i] += score[u - first] / sum * row[i];
  }
}

template <typename Real>
void reference(const Attention& o, Env<Real>& env) {
  const Batch& batch = env.batch();
  int d = o.head_dim, q_stride = o.gated ? 2 * d : d;
  std::vector<Real> q_norm, k_norm, divisors, k(o.n_kv_heads * d), q(d);
  if (o.q_norm) q_norm = env.vector(o.q_norm);
  if (o.k_norm) k_norm = env.vector(o.k_norm);
  if (o.rope.divisors) divisors = env.vector(o.rope.divisors);
  for (int s = 0; s < batch.n_segments; ++s)
    for (int t = batch.segment_start[s]; t < batch.segment_start[s + 1]; ++t) {
      int position = batch.positions[t];
      const Real* k_in = env.value(o.k) + int64_t(t) * o.n_kv_heads * d;
      for (int h = 0; h < o.n_kv_heads; ++h) {
        std::copy(k_in + h * d, k_in + (h + 1) * d, &k[h * d]);
        if (o.k_norm) rms_norm_row(k_in + h * d, k_norm.data(), d, o.eps, &k[h * d]);
        rope_head(o.rope, divisors, position, &k[h * d]);
      }
      env.store_kv(o.pages, s, position, k.data(), env.value(o.v) + int64_t(t) * o.n_kv_heads * d);
      for (int h = 0; h < o.n_heads; ++h) {
        const Real* q_in = env.value(o.q) + (int64_t(t) * o.n_heads + h) * q_stride;
        Real* out = env.value(o.out) + (int64_t(t) * o.n_heads + h) * d;
        std::copy(q_in, q_in + d, q.data());
        if (o.q_norm) rms_norm_row(q_in, q_norm.data(), d, o.eps, q.data());
        rope_head(o.rope, divisors, position, q.data());
        attend_head(o, env, s, position, h / (o.n_heads / o.n_kv_heads), q.data(), out);
        if (o.gated)
          for (int i = 0; i < d; ++i) out[i] *= sigmoid(q_in[d + i]);
      }
    }
}

}  // namespace tally::ops
