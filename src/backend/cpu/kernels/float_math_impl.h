// Elementwise kernels, norms, softmax and rope, written once over the vectors of simd_*.h, which the including file
// chooses before. Local to that file (see simd_avx512.h).
#pragma once

#include <cstdint>

namespace tally::cpu {
namespace {

// e^x to 1–2 units in the last place; 0 from about −104 down (also −∞), +∞ above 88.72; NaN stays NaN.
// x = n · ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts; e^r = 1 + r + r² · P(r), P of degree 4 fitted by least
// squares at Chebyshev nodes (relative error 4e-9).
[[gnu::always_inline]] inline F exp_lanes(F x) {
  x = smaller(set(89.0f), larger(set(-110.0f), x));
  const F n = nearest(x * set(0x1.715476p+0f));
  const F r = fma(n, set(-1.4286068202862268e-06f), fma(n, set(-0.693145751953125f), x));
  F p = set(0x1.687b46p-10f);
  p = fma(p, r, set(0x1.123bdcp-7f));
  p = fma(p, r, set(0x1.555b5cp-5f));
  p = fma(p, r, set(0x1.55548ep-3f));
  p = fma(p, r, set(0x1.fffff8p-2f));
  return scale_by_power(fma(p, r * r, r) + set(1.0f), n);
}
[[gnu::always_inline]] inline F sigmoid_lanes(F x) { return set(1.0f) / (set(1.0f) + exp_lanes(zero() - x)); }
[[gnu::always_inline]] inline F silu_lanes(F x) { return x / (set(1.0f) + exp_lanes(zero() - x)); }
// x · (1 + tanh y) / 2 = x · sigmoid(2y), y = sqrt(2/π) · (x + 0.044715 x³): no cancellation for negative x.
[[gnu::always_inline]] inline F gelu_lanes(F x) {
  return x * sigmoid_lanes(x * fma(x * x, set(2 * 0.7978845608f * 0.044715f), set(2 * 0.7978845608f)));
}

// out[i] = f(i, n): one vector at a time through `each(i, load_at)`, where load_at(p) reads the lanes at p + i.
template <typename Each>
[[gnu::always_inline]] inline void map(int64_t n, float* out, Each each) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, each([i](const float* p) { return load(p + i); }));
  if (const int rest = static_cast<int>(n - i); rest > 0)
    store(out + i, each([i, rest](const float* p) { return load(p + i, rest); }), rest);
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) {
  map(n, out, [=](auto at) { return silu_lanes(at(gate)) * at(up); });
}
void gelu_mul(const float* gate, const float* up, int64_t n, float* out) {
  map(n, out, [=](auto at) { return gelu_lanes(at(gate)) * at(up); });
}
void sigmoid_mul(const float* gate, int64_t n, float* x) {
  map(n, x, [=](auto at) { return at(x) * sigmoid_lanes(at(gate)); });
}
void add_scaled(const float* x, float factor, int64_t n, float* out) {
  map(n, out, [=](auto at) { return fma(set(factor), at(x), at(out)); });
}

double dot(const float* a, const float* b, int64_t n) {
  Wide even = wide_zero(), odd = wide_zero();
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    even = wide_fma(load(a + i), load(b + i), even);
    odd = wide_fma(load(a + i + kLanes), load(b + i + kLanes), odd);
  }
  for (; i + kLanes <= n; i += kLanes) even = wide_fma(load(a + i), load(b + i), even);
  if (const int rest = static_cast<int>(n - i); rest > 0) odd = wide_fma(load(a + i, rest), load(b + i, rest), odd);
  return sum(even) + sum(odd);
}

// 1 / sqrt(mean(x²) + eps)
inline float rms_factor(const float* x, int n, float eps) {
  return static_cast<float>(1.0 / __builtin_sqrt(dot(x, x, n) / n + double(eps)));
}
void rms_norm(const float* x, const float* w, int n, float eps, float* out) {
  const F factor = set(rms_factor(x, n, eps));
  map(n, out, [=](auto at) { return at(x) * factor * at(w); });
}
void rms_norm_add(const float* x, const float* w, int n, float eps, float* out) {
  const F factor = set(rms_factor(x, n, eps));
  map(n, out, [=](auto at) { return at(out) + at(x) * factor * at(w); });
}
void rms_norm_silu(const float* x, const float* w, const float* z, int n, float eps, float* out) {
  const F factor = set(rms_factor(x, n, eps));
  map(n, out, [=](auto at) { return at(x) * factor * at(w) * silu_lanes(at(z)); });
}

float max(const float* x, int64_t n) {
  float top = x[0];
  int64_t i = 0;
  if (n >= kLanes) {
    F lanes = load(x);
    for (i = kLanes; i + kLanes <= n; i += kLanes) lanes = larger(lanes, load(x + i));
    top = largest(lanes);
  }
  for (; i < n; ++i) top = top > x[i] ? top : x[i];
  return top;
}

void softmax(float* x, int n) {
  const F top = set(max(x, n));
  map(n, x, [=](auto at) { return exp_lanes(at(x) - top); });
  Wide total = wide_zero();
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) total = wide_fma(load(x + i), set(1.0f), total);
  if (i < n) total = wide_fma(load(x + i, n - i), set(1.0f), total);
  const F factor = set(static_cast<float>(1.0 / sum(total)));
  map(n, x, [=](auto at) { return at(x) * factor; });
}

// The whole vectors first, then pair by pair (with the same roundings: no fused multiply-add).
void rope_interleaved(const float* cos, const float* sin, int dim, float* head) {
  int i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    const F x = load(head + i);
    store(head + i, subtract_add(x * load_twice(cos + i / 2), swap_pairs(x) * load_twice(sin + i / 2)));
  }
  for (; i < dim; i += 2) {
    const float x = head[i], y = head[i + 1], c = cos[i / 2], s = sin[i / 2];
    head[i] = x * c - y * s;
    head[i + 1] = y * c + x * s;
  }
}
void rope_half_split(const float* cos, const float* sin, int dim, float* head) {
  float* second = head + dim / 2;
  int p = 0;
  for (; p + kLanes <= dim / 2; p += kLanes) {
    const F x = load(head + p), y = load(second + p), c = load(cos + p), s = load(sin + p);
    store(head + p, x * c - y * s);
    store(second + p, y * c + x * s);
  }
  for (; p < dim / 2; ++p) {
    const float x = head[p], y = second[p], c = cos[p], s = sin[p];
    head[p] = x * c - y * s;
    second[p] = y * c + x * s;
  }
}

}  // namespace
}  // namespace tally::cpu
