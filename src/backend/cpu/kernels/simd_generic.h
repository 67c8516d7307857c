// Vectors of 4 floats in plain C++ (with the compilers' vector types). Same names and meanings as in simd_avx512.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "quant/half.h"

namespace tally::cpu {
namespace {

struct Half {
  uint16_t bits;
};
using F [[gnu::vector_size(16)]] = float;
using F4 = F;
using Int4 [[gnu::vector_size(16)]] = int32_t;
constexpr int kLanes = 4;

constexpr int kBlockQueries = 4;
constexpr int score_vectors(int n_queries) { return n_queries <= 2 ? 4 : 2; }
constexpr int value_vectors(int n_queries) { return n_queries <= 2 ? 4 : 2; }
constexpr int kNarrowQueries = 1;

inline F zero() { return F{}; }
inline F set(float x) { return F{x, x, x, x}; }
inline F load(const float* p) {
  F x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline F load(const Half* p) {
  return F{quant::half_to_float(p[0].bits), quant::half_to_float(p[1].bits), quant::half_to_float(p[2].bits),
           quant::half_to_float(p[3].bits)};
}
inline F load(const float* p, int n) {
  F x = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return x;
}
inline F load(const Half* p, int n) {
  F x = {};
  for (int i = 0; i < n; ++i) x[i] = quant::half_to_float(p[i].bits);
  return x;
}
inline void store(float* p, F x) { std::memcpy(p, &x, sizeof x); }
inline void store(float* p, F x, int n) {
  for (int i = 0; i < n; ++i) p[i] = x[i];
}
inline void store(Half* p, F x) {
  for (int i = 0; i < kLanes; ++i) p[i].bits = quant::float_to_half(x[i]);
}
inline F gather(const float* p, int stride) {
  return F{p[0], p[stride], p[2 * int64_t(stride)], p[3 * int64_t(stride)]};
}

inline F fma(F a, F b, F c) { return a * b + c; }
inline F larger(F a, F b) { return a > b ? a : b; }
inline F smaller(F a, F b) { return a < b ? a : b; }
// Adding and subtracting 1.5 · 2^23 leaves no bits below one; |x| < 2^22.
inline F nearest(F x) { return (x + 0x1.8p23f) - 0x1.8p23f; }
inline F scale_by_power(F x, F n) {
  const Int4 whole = __builtin_convertvector(n, Int4), half = whole >> 1;
  const Int4 low = (half + 127) << 23, high = (whole - half + 127) << 23;
  F first, second;
  std::memcpy(&first, &low, sizeof first);
  std::memcpy(&second, &high, sizeof second);
  return x * first * second;
}
inline F keep_lanes(F x, int begin, int end, F other) {
  const Int4 lane = {0, 1, 2, 3};
  const Int4 inside = (lane >= begin) & (lane < end);
  return inside ? x : other;
}

inline F load_twice(const float* p) { return F{p[0], p[0], p[1], p[1]}; }
inline F swap_pairs(F x) { return F{x[1], x[0], x[3], x[2]}; }
inline F subtract_add(F a, F b) { return F{a[0] - b[0], a[1] + b[1], a[2] - b[2], a[3] + b[3]}; }

inline float sum(F x) { return (x[0] + x[1]) + (x[2] + x[3]); }
inline F4 sum_each(F a, F b, F c, F d) { return F4{sum(a), sum(b), sum(c), sum(d)}; }
inline float largest(F x) {
  const float low = x[0] > x[1] ? x[0] : x[1], high = x[2] > x[3] ? x[2] : x[3];
  return low > high ? low : high;
}

struct Wide {
  double lane[kLanes];
};
inline Wide wide_zero() { return {}; }
inline Wide wide_fma(F a, F b, Wide c) {
  for (int i = 0; i < kLanes; ++i) c.lane[i] += double(a[i]) * double(b[i]);
  return c;
}
inline double sum(Wide x) { return (x.lane[0] + x.lane[1]) + (x.lane[2] + x.lane[3]); }

}  // namespace
}  // namespace tally::cpu
