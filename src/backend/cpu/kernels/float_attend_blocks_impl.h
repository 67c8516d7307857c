// The register-blocked inner products of attention, written once over the vectors of simd_*.h (see
// float_attend_impl.h). A page of 64 positions is worked through in chunks that stay in the first-level cache; while
// one chunk is multiplied, the same places of the next one are prefetched.
#pragma once

#include <cstdint>

namespace tally::cpu {
namespace {

constexpr int kPagePositions = 64;
constexpr int kChunkFloats = 4096;  // a chunk as float32: 16 KiB
constexpr int kChunkFeatures = kChunkFloats / kPagePositions;

// The next chunk in memory, and the bytes of its elements.
struct Ahead {
  const char* at;
  int element_bytes;
};
template <int kElements>
[[gnu::always_inline]] inline void prefetch(Ahead ahead, int64_t element) {
  for (int e = 0; e < kElements; e += 32) __builtin_prefetch(ahead.at + (element + e) * ahead.element_bytes);
}

// s[j][u] += Σ_i q[i][j] · k[i][u] (= where `first`) for kQ queries, n features and the 64 positions of a page; q is
// interleaved [n][kQ].
template <int kQ, typename T>
void score_block(const float* q, const T* k, int n, bool first, float* s, Ahead ahead) {
  constexpr int kV = score_vectors(kQ);
  for (int u = 0; u < kPagePositions; u += kV * kLanes) {
    F total[kQ][kV];
#pragma GCC unroll 16
    for (int j = 0; j < kQ; ++j)
#pragma GCC unroll 16
      for (int v = 0; v < kV; ++v) total[j][v] = first ? zero() : load(s + j * kPagePositions + u + v * kLanes);
    for (int i = 0; i < n; ++i) {
      const T* row = k + i * kPagePositions + u;
      prefetch<kV * kLanes>(ahead, i * kPagePositions + u);
      F keys[kV];
#pragma GCC unroll 16
      for (int v = 0; v < kV; ++v) keys[v] = load(row + v * kLanes);
#pragma GCC unroll 16
      for (int j = 0; j < kQ; ++j) {
        const F factor = set(q[i * kQ + j]);
#pragma GCC unroll 16
        for (int v = 0; v < kV; ++v) total[j][v] = fma(factor, keys[v], total[j][v]);
      }
    }
#pragma GCC unroll 16
    for (int j = 0; j < kQ; ++j)
#pragma GCC unroll 16
      for (int v = 0; v < kV; ++v) store(s + j * kPagePositions + u + v * kLanes, total[j][v]);
  }
}

// o[j][c..] += Σ_u p[j][u] · v[u][c..] for kV vectors of features (kTail: one vector with n features).
template <int kQ, int kV, bool kTail, typename T>
[[gnu::always_inline]] inline void value_columns(const float* p, const T* v, int d, int begin, int end, float* o,
                                                 int64_t o_stride, int n, Ahead ahead) {
  F total[kQ][kV];
#pragma GCC unroll 16
  for (int j = 0; j < kQ; ++j)
#pragma GCC unroll 16
    for (int c = 0; c < kV; ++c) total[j][c] = load(o + j * o_stride + c * kLanes);
  for (int u = begin; u < end; ++u) {
    const T* row = v + u * d;
    prefetch<kV * kLanes>(ahead, u * d);
    F values[kV];
#pragma GCC unroll 16
    for (int c = 0; c < kV; ++c) values[c] = kTail ? load(row, n) : load(row + c * kLanes);
#pragma GCC unroll 16
    for (int j = 0; j < kQ; ++j) {
      const F factor = set(p[j * kPagePositions + u]);
#pragma GCC unroll 16
      for (int c = 0; c < kV; ++c) total[j][c] = fma(factor, values[c], total[j][c]);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < kQ; ++j)
#pragma GCC unroll 16
    for (int c = 0; c < kV; ++c) store(o + j * o_stride + c * kLanes, total[j][c]);
}

// o[j] += Σ_u p[j][u] · v[u] over positions [begin, end) of a chunk; rows of o are padded to whole vectors.
template <int kQ, typename T>
void value_block(const float* p, const T* v, int d, int begin, int end, float* o, int64_t o_stride, Ahead ahead) {
  constexpr int kV = value_vectors(kQ);
  auto past = [ahead](int c) { return Ahead{ahead.at + c * ahead.element_bytes, ahead.element_bytes}; };
  int c = 0;
  for (; c + kV * kLanes <= d; c += kV * kLanes)
    value_columns<kQ, kV, false>(p, v + c, d, begin, end, o + c, o_stride, 0, past(c));
  for (; c + kLanes <= d; c += kLanes)
    value_columns<kQ, 1, false>(p, v + c, d, begin, end, o + c, o_stride, 0, past(c));
  if (c < d) value_columns<kQ, 1, true>(p, v + c, d, begin, end, o + c, o_stride, d - c, past(c));
}

// The kernels for blocks of n queries, 1 <= n <= kBlockQueries.
template <typename T>
struct BlockKernels {
  void (*score)(const float* q, const T* k, int n, bool first, float* s, Ahead ahead);
  void (*value)(const float* p, const T* v, int d, int begin, int end, float* o, int64_t o_stride, Ahead ahead);
};
template <typename T, int kQ = kBlockQueries>
BlockKernels<T> block_kernels(int n) {
  if constexpr (kQ > 1) {
    if (n < kQ) return block_kernels<T, kQ - 1>(n);
  }
  return {score_block<kQ, T>, value_block<kQ, T>};
}

}  // namespace
}  // namespace tally::cpu
