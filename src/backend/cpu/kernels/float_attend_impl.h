// Attention over pages with an online softmax (Milakov and Gimelshein 2018; blocked as in FlashAttention, Dao et al.
// 2022), written once over the vectors of simd_*.h (see float_math_impl.h).
//
// A query walks its own pages in order, with the same operations whoever its neighbours are: sums over features run in
// one chain per position, sums over positions in one chain per feature, and only positions that the query sees take
// part, so what else a page holds (even NaN) has no influence.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/float_attend_blocks_impl.h"
#include "backend/cpu/kernels/float_kernels.h"

namespace tally::cpu {
namespace {

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
  int first, n;    // queries [first, first + n)
  bool any;        // whether one of them sees something of the current page
  const float* q;  // [head_dim][n]
  float* p;        // [n][64]
  float* o;        // [n][padded]
};
struct Walk {
  const AttendTask& task;
  QueryState state[kAttendQueries];
  Range range[kAttendQueries];  // of the current page
  Block blocks[kAttendQueries];
  int n_blocks, padded;  // features rounded up to whole vectors
  bool widen;            // half pages are converted chunk by chunk
  float* chunk;          // [kChunkFloats], 64-byte aligned
};

// Splits the queries into blocks of about equal size, packs them (scaled and interleaved) and clears the sums.
inline void start(Walk& walk) {
  const AttendTask& task = walk.task;
  const int n = task.n_queries, d = task.head_dim;
  walk.chunk = task.scratch;
  float* p = walk.chunk + kChunkFloats;
  float* q = p + kAttendQueries * kPagePositions;
  float* o = q + kAttendQueries * d;
  walk.padded = (d + kLanes - 1) / kLanes * kLanes;
  walk.n_blocks = (n + kBlockQueries - 1) / kBlockQueries;
  walk.widen = n > kNarrowQueries;
  for (int b = 0; b < walk.n_blocks; ++b) {
    const int first = n * b / walk.n_blocks, count = n * (b + 1) / walk.n_blocks - first;
    float* packed = q + first * d;
    for (int j = 0; j < count; ++j) {
      const float* row = task.q + (first + j) * task.q_stride;
      for (int i = 0; i < d; ++i) packed[i * count + j] = row[i] * task.scale;
    }
    walk.blocks[b] = {first, count, false, packed, p + first * kPagePositions, o + first * walk.padded};
  }
  for (int j = 0; j < n; ++j) {
    const int position = task.positions[j];
    const int begin = task.window > 0 && position >= task.window ? position - task.window + 1 : 0;
    walk.state[j] = {begin, position + 1, -__builtin_inff(), 0.0f};
  }
  for (int i = 0; i < n * walk.padded; i += kLanes) store(o + i, zero());
}

inline void see_page(Walk& walk, int page) {
  for (int b = 0; b < walk.n_blocks; ++b) {
    Block& block = walk.blocks[b];
    block.any = false;
    for (int j = block.first; j < block.first + block.n; ++j) {
      walk.range[j] = visible(walk.state[j], page);
      block.any = block.any || walk.range[j].begin < walk.range[j].end;
    }
  }
}

template <typename T>
Ahead ahead_of(const T* next) {
  return {reinterpret_cast<const char*>(next), sizeof(T)};
}

// Calls each(chunk, offset, n, ahead) for the rows of a page in chunks of at most `rows` rows of `width` elements, as
// they are or converted to float32; `next` is what will be read after the page.
template <typename T, typename Each>
[[gnu::always_inline]] inline void for_chunks(const Walk& walk, const T* page, int n_rows, int width, int rows,
                                              const T* next, Each each) {
  for (int row = 0; row < n_rows; row += rows) {
    const int n = n_rows - row < rows ? n_rows - row : rows;
    const T* chunk = page + row * width;
    const Ahead ahead = ahead_of(row + n < n_rows ? chunk + n * width : next);
    if constexpr (sizeof(T) == sizeof(Half)) {
      if (walk.widen) {
        for (int i = 0; i < n * width; i += kLanes) store(walk.chunk + i, load(chunk + i));
        each(static_cast<const float*>(walk.chunk), row, n, ahead);
        continue;
      }
    }
    each(chunk, row, n, ahead);
  }
}

template <typename T>
void score_page(Walk& walk, const T* k, const T* next) {
  for_chunks(walk, k, walk.task.head_dim, kPagePositions, kChunkFeatures, next,
             [&]<typename C>(const C* chunk, int feature, int n, Ahead ahead) {
               for (int b = 0; b < walk.n_blocks; ++b) {
                 const Block& block = walk.blocks[b];
                 if (block.any)
                   block_kernels<C>(block.n).score(block.q + feature * block.n, chunk, n, feature == 0, block.p, ahead);
               }
             });
  for (int b = 0; b < walk.n_blocks; ++b) {
    const Block& block = walk.blocks[b];
    for (int j = 0; j < block.n; ++j)
      if (const Range range = walk.range[block.first + j]; range.begin < range.end)
        weigh(walk.state[block.first + j], range, block.p + j * kPagePositions, block.o + j * walk.padded, walk.padded);
  }
}

// Adds the weighted values of positions [u, u + n): those that all queries of the block see together, those that only
// some see one query at a time. Each query's positions stay in rising order.
template <typename T>
void value_chunk(const Walk& walk, const Block& block, const T* v, int u, int n, Ahead ahead) {
  const int d = walk.task.head_dim, padded = walk.padded;
  const float* p = block.p + u;
  auto alone = [&](int j, int begin, int end) {
    if (begin < end) value_block<1, T>(p + j * kPagePositions, v, d, begin, end, block.o + j * padded, padded, ahead);
  };
  Range ranges[kBlockQueries], common = {0, n};
  for (int j = 0; j < block.n; ++j) {
    const Range seen = walk.range[block.first + j];
    Range& range = ranges[j];
    range = {seen.begin > u ? seen.begin - u : 0, seen.end - u < n ? seen.end - u : n};
    common.begin = range.begin > common.begin ? range.begin : common.begin;
    common.end = range.end < common.end ? range.end : common.end;
  }
  if (common.begin >= common.end) {
    for (int j = 0; j < block.n; ++j) alone(j, ranges[j].begin, ranges[j].end);
    return;
  }
  for (int j = 0; j < block.n; ++j) alone(j, ranges[j].begin, common.begin);
  block_kernels<T>(block.n).value(p, v, d, common.begin, common.end, block.o, padded, ahead);
  for (int j = 0; j < block.n; ++j) alone(j, common.end, ranges[j].end);
}

template <typename T>
void value_page(Walk& walk, const T* v, const T* next) {
  const int d = walk.task.head_dim, rows = kChunkFloats / d / 2 * 2;  // even: whole vectors when d is 8 · odd
  for_chunks(walk, v, kPagePositions, d, rows, next, [&]<typename C>(const C* chunk, int u, int n, Ahead ahead) {
    for (int b = 0; b < walk.n_blocks; ++b)
      if (walk.blocks[b].any) value_chunk(walk, walk.blocks[b], chunk, u, n, ahead);
  });
}

template <typename T>
void attend(const AttendTask& task) {
  if (task.n_queries <= 0) return;
  Walk walk = {.task = task};
  start(walk);
  int first = walk.state[0].first, end = walk.state[0].end;
  for (int j = 1; j < task.n_queries; ++j) {
    first = walk.state[j].first < first ? walk.state[j].first : first;
    end = walk.state[j].end > end ? walk.state[j].end : end;
  }
  for (int page = first / kPagePositions; page * kPagePositions < end; ++page) {
    const T* k = static_cast<const T*>(task.k_pages[page]);
    const T* v = static_cast<const T*>(task.v_pages[page]);
    const bool last = (page + 1) * kPagePositions >= end;
    see_page(walk, page);
    score_page(walk, k, v);
    value_page(walk, v, last ? v : static_cast<const T*>(task.k_pages[page + 1]));
  }
  for (int b = 0; b < walk.n_blocks; ++b)
    for (int j = 0; j < walk.blocks[b].n; ++j) {
      const int query = walk.blocks[b].first + j;
      const float* o = walk.blocks[b].o + j * walk.padded;
      const F total = set(walk.state[query].total);
      map(task.head_dim, task.out + query * task.out_stride, [=](auto at) { return at(o) / total; });
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
