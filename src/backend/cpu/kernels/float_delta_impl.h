// The gated delta rule, token by token, written once over the vectors of simd_*.h (see float_math_impl.h).
//
// Rows of the state (one per value index) are independent. A block of rows stays in the first-level cache while all
// tokens of the task pass over it; four rows go together, so that their horizontal sums and what follows are vectors
// too, and one pass over a row applies token t, reads it with q(t) and prepares its product with k(t + 1).
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/float_kernels.h"

namespace tally::cpu {
namespace {

constexpr int kRowGroup = 4;
constexpr int kRowBlock = 16;

inline int delta_padded(int d) { return (d + 15) / 16 * 16; }

// x · factor / sqrt(Σ x² + eps), padded with zeros.
inline void delta_normalize(const float* x, int d, float eps, double factor, float* out) {
  const F scale = set(static_cast<float>(factor / __builtin_sqrt(dot(x, x, d) + double(eps))));
  for (int i = d / 8 * 8; i < delta_padded(d); ++i) out[i] = 0;
  map(d, out, [=](auto at) { return at(x) * scale; });
}

// Row sums of m · k for kRows rows (the others are zero).
template <int kRows>
F4 delta_product(const float* m, int d, const float* k) {
  F total[kRowGroup];
#pragma GCC unroll 4
  for (int r = 0; r < kRowGroup; ++r) total[r] = zero();
  int i = 0;
  for (; i + kLanes <= d; i += kLanes)
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) total[r] = fma(load(m + r * d + i), load(k + i), total[r]);
  if (i < d)
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) total[r] = fma(load(m + r * d + i, d - i), load(k + i), total[r]);
  return sum_each(total[0], total[1], total[2], total[3]);
}

struct DeltaSums {
  F4 out, product;  // m · q and m · k_next, after the update
};
// m ← decay · m + k · deltaᵀ for kRows rows.
template <int kRows>
DeltaSums delta_update(float* m, int d, const float* q, const float* k, const float* k_next, float decay, F4 delta) {
  F out[kRowGroup], product[kRowGroup], factor[kRowGroup];
  const F keep = set(decay);
#pragma GCC unroll 4
  for (int r = 0; r < kRowGroup; ++r) out[r] = zero(), product[r] = zero(), factor[r] = set(delta[r]);
  int i = 0;
  for (; i + kLanes <= d; i += kLanes) {
    const F key = load(k + i), query = load(q + i), next = load(k_next + i);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F row = fma(key, factor[r], load(m + r * d + i) * keep);
      store(m + r * d + i, row);
      out[r] = fma(row, query, out[r]);
      product[r] = fma(row, next, product[r]);
    }
  }
  if (i < d) {
    const F key = load(k + i), query = load(q + i), next = load(k_next + i);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const F row = fma(key, factor[r], load(m + r * d + i, d - i) * keep);
      store(m + r * d + i, row, d - i);
      out[r] = fma(row, query, out[r]);
      product[r] = fma(row, next, product[r]);
    }
  }
  return {sum_each(out[0], out[1], out[2], out[3]), sum_each(product[0], product[1], product[2], product[3])};
}

[[gnu::always_inline]] inline F4 load_rows(const float* p, int n) {
  F4 x = {};
  if (n == kRowGroup)
    __builtin_memcpy(&x, p, sizeof x);
  else
    for (int r = 0; r < n; ++r) x[r] = p[r];
  return x;
}

// Rows [begin, end) of the state, at most kRowBlock. qk: q and k of each token, normalised, [n_tokens][2][padded].
inline void delta_rows(const DeltaTask& task, const float* qk, int begin, int end) {
  const int d = task.head_dim;
  const int64_t padded = delta_padded(d);
  F4 product[kRowBlock / kRowGroup];
  auto q_at = [=](int t) { return qk + 2 * t * padded; };
  auto k_at = [=](int t) { return qk + (2 * t + 1) * padded; };
  for (int b = begin; b < end; b += kRowGroup) {
    const float* m = task.m + int64_t(b) * d;
    F4& to = product[(b - begin) / kRowGroup];
    if (end - b >= kRowGroup) {
      to = delta_product<kRowGroup>(m, d, k_at(0));
    } else {
      to = F4{};
      for (int r = 0; r < end - b; ++r) to[r] = delta_product<1>(m + int64_t(r) * d, d, k_at(0))[0];
    }
  }
  for (int t = 0; t < task.n_tokens; ++t) {
    const float decay = task.decay[t * task.gate_stride], beta = task.beta[t * task.gate_stride];
    const float *q = q_at(t), *k = k_at(t), *k_next = k_at(t + 1 < task.n_tokens ? t + 1 : t);
    const float* v = task.v + t * task.v_stride;
    float* out = task.out + t * task.out_stride;
    for (int b = begin; b < end; b += kRowGroup) {
      float* m = task.m + int64_t(b) * d;
      F4& state = product[(b - begin) / kRowGroup];
      const int n = end - b < kRowGroup ? end - b : kRowGroup;
      const F4 delta = (load_rows(v + b, n) - state * decay) * beta;
      if (n == kRowGroup) {
        const DeltaSums sums = delta_update<kRowGroup>(m, d, q, k, k_next, decay, delta);
        __builtin_memcpy(out + b, &sums.out, sizeof sums.out);
        state = sums.product;
        continue;
      }
      for (int r = 0; r < n; ++r) {
        const F4 one = {delta[r], 0, 0, 0};
        const DeltaSums sums = delta_update<1>(m + int64_t(r) * d, d, q, k, k_next, decay, one);
        out[b + r] = sums.out[0];
        state[r] = sums.product[0];
      }
    }
    if (task.checkpoint != nullptr && task.checkpoint[t] != nullptr)
      __builtin_memcpy(task.checkpoint[t] + int64_t(begin) * d, task.m + int64_t(begin) * d,
                       sizeof(float) * size_t(end - begin) * size_t(d));
  }
}

void delta(const DeltaTask& task) {
  if (task.n_tokens <= 0) return;
  const int d = task.head_dim;
  const int64_t padded = delta_padded(d);
  for (int t = 0; t < task.n_tokens; ++t) {
    float* to = task.scratch + 2 * t * padded;
    delta_normalize(task.q + t * task.qk_stride, d, task.eps, 1.0 / __builtin_sqrt(double(d)), to);
    delta_normalize(task.k + t * task.qk_stride, d, task.eps, 1.0, to + padded);
  }
  for (int b = task.value_begin; b < task.value_end; b += kRowBlock)
    delta_rows(task, task.scratch, b, b + kRowBlock < task.value_end ? b + kRowBlock : task.value_end);
}

}  // namespace
}  // namespace tally::cpu
