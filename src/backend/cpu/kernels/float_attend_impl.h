// Attention over pages with an online softmax (Milakov and Gimelshein 2018; blocked as in FlashAttention, Dao et al.
// 2022), written once over the vectors of simd_*.h (see float_math_impl.h).
//
// A query walks its own pages in order, with the same operations whoever its neighbours are: sums over features run in
// one chain per position, sums over positions in one chain per feature, and only positions that the query sees take
// part, so what else a page holds (even NaN) has no influence.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/float_kernels.h"

namespace tally::cpu {
namespace {

constexpr int kPagePositions = 64;

// s[j][u] = Σ_i q[i][j] · k[i][u] for kQ queries and the 64 positions of a page; q is interleaved [d][kQ].
template <int kQ, typename T>
void score_block(const float* q, const T* k, int d, float* s) {
  constexpr int kV = score_vectors(kQ);
  for (int u = 0; u < kPagePositions; u += kV * kLanes) {
    F total[kQ][kV];
#pragma GCC unroll 16
    for (int j = 0; j < kQ; ++j)
#pragma GCC unroll 16
      for (int v = 0; v < kV; ++v) total[j][v] = zero();
    for (int i = 0; i < d; ++i) {
      const T* row = k + int64_t(i) * kPagePositions + u;
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
                                                 int64_t o_stride, int n) {
  F total[kQ][kV];
#pragma GCC unroll 16
  for (int j = 0; j < kQ; ++j)
#pragma GCC unroll 16
    for (int c = 0; c < kV; ++c) total[j][c] = load(o + j * o_stride + c * kLanes);
  for (int u = begin; u < end; ++u) {
    const T* row = v + int64_t(u) * d;
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

// o[j] += Σ_u p[j][u] · v[u] over positions [begin, end) of a page; rows of o are padded to whole vectors.
template <int kQ, typename T>
void value_block(const float* p, const T* v, int d, int begin, int end, float* o, int64_t o_stride) {
  constexpr int kV = value_vectors(kQ);
  int c = 0;
  for (; c + kV * kLanes <= d; c += kV * kLanes)
    value_columns<kQ, kV, false>(p, v + c, d, begin, end, o + c, o_stride, 0);
  for (; c + kLanes <= d; c += kLanes) value_columns<kQ, 1, false>(p, v + c, d, begin, end, o + c, o_stride, 0);
  if (c < d) value_columns<kQ, 1, true>(p, v + c, d, begin, end, o + c, o_stride, d - c);
}

// The kernels for blocks of n queries, 1 <= n <= kBlockQueries.
template <typename T>
struct BlockKernels {
  void (*score)(const float* q, const T* k, int d, float* s);
  void (*value)(const float* p, const T* v, int d, int begin, int end, float* o, int64_t o_stride);
};
template <typename T, int kQ = kBlockQueries>
BlockKernels<T> block_kernels(int n) {
  if constexpr (kQ > 1) {
    if (n < kQ) return block_kernels<T, kQ - 1>(n);
  }
  return {score_block<kQ, T>, value_block<kQ, T>};
}

// What is known of a query while it walks its pages.
struct QueryState {
  int first, end;    // visible positions [first, end)
  float top, total;  // largest score so far, sum of exp(score − top)
};
struct Range {
  int begin, end;
};
// Positions of page `page` that the query sees, counted from the page's start; begin >= end: none.
inline Range visible(const QueryState& query, int page) {
  const int begin = query.first - page * kPagePositions, end = query.end - page * kPagePositions;
  return {begin > 0 ? begin : 0, end < kPagePositions ? end : kPagePositions};
}

// Turns the scores of one query and page into weights exp(score − top), zero where it does not see, and rescales what
// it has summed so far (o: padded to whole vectors) when the largest score rises.
inline void weigh(QueryState& query, Range range, float* s, float* o, int d) {
  const F hidden = set(-__builtin_inff());
  F top = hidden;
  for (int u = 0; u < kPagePositions; u += kLanes) {
    const F scores = keep_lanes(load(s + u), range.begin - u, range.end - u, hidden);
    store(s + u, scores);
    top = larger(top, scores);
  }
  if (const float page_top = largest(top); page_top > query.top) {
    const F factor = exp_lanes(set(query.top - page_top));
    for (int i = 0; i < d; i += kLanes) store(o + i, load(o + i) * factor);
    float factors[kLanes];
    store(factors, factor);
    query.total *= factors[0];
    query.top = page_top;
  }
  F total = zero();
  const F shift = set(query.top);
  for (int u = 0; u < kPagePositions; u += kLanes) {
    const F weights = exp_lanes(load(s + u) - shift);
    store(s + u, weights);
    total = total + weights;
  }
  query.total += sum(total);
}

// A group of neighbouring queries that are multiplied together, and its share of the scratch memory.
struct Block {
  int first, n;  // queries [first, first + n)
  const float* q;
  float* p;  // [n][64]
  float* o;  // [n][padded]
};
struct Walk {
  const AttendTask& task;
  QueryState state[kAttendQueries];
  Block blocks[kAttendQueries];
  int n_blocks, padded;  // features rounded up to whole vectors
};

template <typename T>
void score_page(Walk& walk, int page, const T* k) {
  for (int b = 0; b < walk.n_blocks; ++b) {
    const Block& block = walk.blocks[b];
    bool any = false;
    for (int j = 0; j < block.n; ++j) {
      const Range range = visible(walk.state[block.first + j], page);
      any = any || range.begin < range.end;
    }
    if (!any) continue;
    block_kernels<T>(block.n).score(block.q, k, walk.task.head_dim, block.p);
    for (int j = 0; j < block.n; ++j) {
      QueryState& query = walk.state[block.first + j];
      const Range range = visible(query, page);
      if (range.begin < range.end)
        weigh(query, range, block.p + j * kPagePositions, block.o + int64_t(j) * walk.padded, walk.padded);
    }
  }
}

// Adds the weighted values of a page: the positions that all queries of a block see together, those that only some see
// one query at a time. Each query's positions stay in rising order.
template <typename T>
void value_page(Walk& walk, int page, const T* v) {
  const int d = walk.task.head_dim, padded = walk.padded;
  for (int b = 0; b < walk.n_blocks; ++b) {
    const Block& block = walk.blocks[b];
    auto alone = [&](int j, int begin, int end) {
      if (begin < end)
        value_block<1, T>(block.p + j * kPagePositions, v, d, begin, end, block.o + int64_t(j) * padded, padded);
    };
    Range ranges[kBlockQueries], common = {0, kPagePositions};
    for (int j = 0; j < block.n; ++j) {
      ranges[j] = visible(walk.state[block.first + j], page);
      common.begin = ranges[j].begin > common.begin ? ranges[j].begin : common.begin;
      common.end = ranges[j].end < common.end ? ranges[j].end : common.end;
    }
    if (common.begin >= common.end) {
      for (int j = 0; j < block.n; ++j) alone(j, ranges[j].begin, ranges[j].end);
      continue;
    }
    for (int j = 0; j < block.n; ++j) alone(j, ranges[j].begin, common.begin);
    block_kernels<T>(block.n).value(block.p, v, d, common.begin, common.end, block.o, padded);
    for (int j = 0; j < block.n; ++j) alone(j, common.end, ranges[j].end);
  }
}

// Splits the queries into blocks of about equal size, packs them (scaled and interleaved) and clears the sums. Returns
// the scratch memory left: room for one page of K or V as float32.
inline float* start(Walk& walk) {
  const AttendTask& task = walk.task;
  const int n = task.n_queries, d = task.head_dim;
  float* q = task.scratch;
  float* p = q + int64_t(kAttendQueries) * d;
  float* o = p + int64_t(kAttendQueries) * kPagePositions;
  walk.padded = (d + kLanes - 1) / kLanes * kLanes;
  walk.n_blocks = (n + kBlockQueries - 1) / kBlockQueries;
  for (int b = 0; b < walk.n_blocks; ++b) {
    const int first = n * b / walk.n_blocks, count = n * (b + 1) / walk.n_blocks - first;
    float* packed = q + int64_t(first) * d;
    for (int j = 0; j < count; ++j) {
      const float* row = task.q + (first + j) * task.q_stride;
      for (int i = 0; i < d; ++i) packed[int64_t(i) * count + j] = row[i] * task.scale;
    }
    walk.blocks[b] = {first, count, packed, p + first * kPagePositions, o + int64_t(first) * walk.padded};
  }
  for (int j = 0; j < n; ++j) {
    const int position = task.positions[j];
    const int begin = task.window > 0 && position >= task.window ? position - task.window + 1 : 0;
    walk.state[j] = {begin, position + 1, -__builtin_inff(), 0.0f};
  }
  for (int64_t i = 0; i < int64_t(n) * walk.padded; i += kLanes) store(o + i, zero());
  return o + int64_t(kAttendQueries) * ((d + 15) / 16 * 16);
}

inline void widen(const Half* page, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kLanes) store(out + i, load(page + i));
}

template <typename T>
void attend(const AttendTask& task) {
  if (task.n_queries <= 0) return;
  Walk walk = {task, {}, {}, 0, 0};
  float* wide = start(walk);
  int first = walk.state[0].first, end = walk.state[0].end;
  for (int j = 1; j < task.n_queries; ++j) {
    first = walk.state[j].first < first ? walk.state[j].first : first;
    end = walk.state[j].end > end ? walk.state[j].end : end;
  }
  const int64_t page_size = int64_t(kPagePositions) * task.head_dim;
  for (int page = first / kPagePositions; page * kPagePositions < end; ++page) {
    const T* k = static_cast<const T*>(task.k_pages[page]);
    const T* v = static_cast<const T*>(task.v_pages[page]);
    if constexpr (sizeof(T) == sizeof(Half)) {
      if (walk.n_blocks > kNarrowBlocks) {  // worth one conversion for all blocks
        widen(k, page_size, wide);
        score_page<float>(walk, page, wide);
        widen(v, page_size, wide);
        value_page<float>(walk, page, wide);
        continue;
      }
    }
    score_page<T>(walk, page, k);
    value_page<T>(walk, page, v);
  }
  for (int j = 0; j < task.n_queries; ++j) {
    const float* o =
        task.scratch + int64_t(kAttendQueries) * (task.head_dim + kPagePositions) + int64_t(j) * walk.padded;
    const F total = set(walk.state[j].total);
    map(task.head_dim, task.out + j * task.out_stride, [=](auto at) { return at(o) / total; });
  }
}

// k: lane i of [d][64]; v: row i of [64][d].
void store_kv_f16(const float* k, const float* v, int head_dim, int i, void* k_page, void* v_page) {
  Half* keys = static_cast<Half*>(k_page) + i;
  Half* values = static_cast<Half*>(v_page) + int64_t(i) * head_dim;
  for (int c = 0; c < head_dim; c += kLanes) {
    const int n = head_dim - c < kLanes ? head_dim - c : kLanes;
    Half k_half[kLanes], v_half[kLanes];
    store(k_half, n == kLanes ? load(k + c) : load(k + c, n));
    store(v_half, n == kLanes ? load(v + c) : load(v + c, n));
    for (int lane = 0; lane < n; ++lane) {
      keys[int64_t(c + lane) * kPagePositions] = k_half[lane];
      values[c + lane] = v_half[lane];
    }
  }
}
void store_kv_f32(const float* k, const float* v, int head_dim, int i, void* k_page, void* v_page) {
  float* keys = static_cast<float*>(k_page) + i;
  float* values = static_cast<float*>(v_page) + int64_t(i) * head_dim;
  for (int c = 0; c < head_dim; ++c) keys[int64_t(c) * kPagePositions] = k[c];
  for (int c = 0; c < head_dim; ++c) values[c] = v[c];
}

}  // namespace
}  // namespace tally::cpu
