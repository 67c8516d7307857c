// Matrix products in float32 with AVX2 and FMA, for weights of any type that can be dequantized.
// Up to kMaxExactColumns columns: row by row. More: strips of 16 rows are converted into scratch, weight by weight
// (16 rows in two registers), and multiplied in tiles of 16 rows × 6 columns.
#include <immintrin.h>

#include "backend/cpu/kernels/linear_parts.h"

namespace tally::cpu {
namespace {

constexpr int kStripRows = 16;
constexpr int64_t kSlice = 512;  // weights per row converted at a time; a multiple of every type's block

struct F32Call {
  const Matrix* w;
  int64_t row_begin, row_end;
  const float* x;
  int64_t x_stride;
  const int32_t* x_index;
  int64_t n_x;
  float* out;
  int64_t out_stride;
  bool accumulate;
  float* scratch;

  const float* column(int64_t j) const { return x + (x_index ? x_index[j] : j) * x_stride; }
  const uint8_t* weights(int64_t row, int64_t k) const {
    return w->data + row * w->row_bytes + k / w->type->block_elements * w->type->block_bytes;
  }
};

// Lanes below n.
__m256i first(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n < 8 ? n : 8)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// n < 8 halves, the rest zero.
__m128i some_halves(const uint8_t* p, int64_t n) {
  alignas(16) uint16_t v[8] = {};
  __builtin_memcpy(v, p, static_cast<size_t>(2 * n));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(v));
}

// How 8 weights are read; `n` of them are there.
struct ReadF32 {
  static constexpr int kBytes = 4;
  static __m256 all(const uint8_t* p) { return _mm256_loadu_ps(reinterpret_cast<const float*>(p)); }
  static __m256 some(const uint8_t* p, int64_t n) {
    return _mm256_maskload_ps(reinterpret_cast<const float*>(p), first(n));
  }
};
struct ReadF16 {
  static constexpr int kBytes = 2;
  static __m256 all(const uint8_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static __m256 some(const uint8_t* p, int64_t n) { return _mm256_cvtph_ps(some_halves(p, n)); }
};
struct ReadBf16 {
  static constexpr int kBytes = 2;
  static __m256 widen(__m128i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16)); }
  static __m256 all(const uint8_t* p) { return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static __m256 some(const uint8_t* p, int64_t n) { return widen(some_halves(p, n)); }
};

// ---- row by row ----

constexpr int kGroupColumns = 2;  // columns at a time
constexpr int kParts = 4;         // partial sums per column: sums over i / 8 mod 4, for latency

// sums[j][p] += products of n weights, starting at a multiple of 32 within the row.
template <class Read, int kColumns>
__attribute__((always_inline)) inline void add_products(const uint8_t* w, const float* const* x, int64_t n,
                                                        __m256 (&sums)[kColumns][kParts]) {
  int64_t i = 0;
  for (; i + 8 * kParts <= n; i += 8 * kParts) {
    _mm_prefetch(reinterpret_cast<const char*>(w + i * Read::kBytes + 4096), _MM_HINT_T0);
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      const __m256 v = Read::all(w + (i + 8 * p) * Read::kBytes);
      for (int j = 0; j < kColumns; ++j) sums[j][p] = _mm256_fmadd_ps(v, _mm256_loadu_ps(x[j] + i + 8 * p), sums[j][p]);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kParts; ++p) {
    const int64_t left = n - i - 8 * p;
    if (left <= 0) break;
    const uint8_t* at = w + (i + 8 * p) * Read::kBytes;
    const __m256 v = left >= 8 ? Read::all(at) : Read::some(at, left);
    for (int j = 0; j < kColumns; ++j)
      sums[j][p] = _mm256_fmadd_ps(v, _mm256_maskload_ps(x[j] + i + 8 * p, first(left)), sums[j][p]);
  }
}

float sum_of(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

template <int kColumns>
void store_sums(const F32Call& c, int64_t row, int64_t j0, const __m256 (&sums)[kColumns][kParts]) {
  for (int j = 0; j < kColumns; ++j) {
    float* out = c.out + (j0 + j) * c.out_stride + row;
    const float sum =
        sum_of(_mm256_add_ps(_mm256_add_ps(sums[j][0], sums[j][1]), _mm256_add_ps(sums[j][2], sums[j][3])));
    *out = c.accumulate ? *out + sum : sum;
  }
}

// Weights of the row's own format, read directly.
template <class Read, int kColumns>
void multiply_row(const F32Call& c, int64_t row, int64_t j0) {
  const float* x[kColumns];
  __m256 sums[kColumns][kParts];
  for (int j = 0; j < kColumns; ++j) {
    x[j] = c.column(j0 + j);
    for (int p = 0; p < kParts; ++p) sums[j][p] = _mm256_setzero_ps();
  }
  add_products<Read, kColumns>(c.weights(row, 0), x, c.w->k, sums);
  store_sums<kColumns>(c, row, j0, sums);
}

template <class Read>
void multiply_row_columns(const F32Call& c, int64_t row) {
  int64_t j = 0;
  for (; j + kGroupColumns <= c.n_x; j += kGroupColumns) multiply_row<Read, kGroupColumns>(c, row, j);
  if (j < c.n_x) multiply_row<Read, 1>(c, row, j);
}

// Any type: the row is dequantized a slice at a time; partial sums of all columns wait in memory meanwhile.
void multiply_row_dequantized(const F32Call& c, int64_t row) {
  __m256 sums[kMaxExactColumns][1][kParts] = {};
  for (int64_t k0 = 0; k0 < c.w->k; k0 += kSlice) {
    const int64_t n_k = c.w->k - k0 < kSlice ? c.w->k - k0 : kSlice;
    c.w->type->dequantize(c.weights(row, k0), c.scratch, n_k / c.w->type->block_elements);
    for (int64_t j = 0; j < c.n_x; ++j) {
      const float* x = c.column(j) + k0;
      add_products<ReadF32, 1>(reinterpret_cast<const uint8_t*>(c.scratch), &x, n_k, sums[j]);
    }
  }
  for (int64_t j = 0; j < c.n_x; ++j) store_sums<1>(c, row, j, sums[j]);
}

// ---- strips ----

// v[i] lane l → v[l] lane i.
__attribute__((always_inline)) inline void transpose(__m256 (&v)[8]) {
  __m256 t[8];
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(v[i], v[i + 1]));
    const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(v[i], v[i + 1]));
    const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(v[i + 2], v[i + 3]));
    const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(v[i + 2], v[i + 3]));
    t[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    t[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    t[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    t[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
    v[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
  }
}

// Weights [k, k + n) of 16 rows (n ≤ 8) into strip[k .. k + n)[16].
template <class Read>
void unpack_8(const uint8_t* const (&rows)[kStripRows], int64_t k, int64_t n, float* strip) {
  for (int half = 0; half < kStripRows; half += 8) {
    __m256 v[8];
    for (int i = 0; i < 8; ++i) {
      const uint8_t* p = rows[half + i] + k * Read::kBytes;
      v[i] = n >= 8 ? Read::all(p) : Read::some(p, n);
    }
    transpose(v);
    for (int i = 0; i < 8; ++i) _mm256_store_ps(strip + (k + i) * kStripRows + half, v[i]);
  }
}

// Rows [row, row + 16), those from row_end on as copies of the last one, weights [k0, k0 + n_k).
template <class Read>
void unpack_direct(const F32Call& c, int64_t row, int64_t k0, int64_t n_k, float* strip) {
  const uint8_t* rows[kStripRows];
  for (int i = 0; i < kStripRows; ++i) rows[i] = c.weights(row + i < c.row_end ? row + i : c.row_end - 1, k0);
  for (int64_t k = 0; k < n_k; k += 8) unpack_8<Read>(rows, k, n_k - k, strip);
}

void unpack_dequantized(const F32Call& c, int64_t row, int64_t k0, int64_t n_k, float* strip, float* plain) {
  const uint8_t* rows[kStripRows];
  for (int i = 0; i < kStripRows; ++i) {
    const int64_t r = row + i < c.row_end ? row + i : c.row_end - 1;
    c.w->type->dequantize(c.weights(r, k0), plain + i * kSlice, n_k / c.w->type->block_elements);
    rows[i] = reinterpret_cast<const uint8_t*>(plain + i * kSlice);
  }
  for (int64_t k = 0; k < n_k; k += 8) unpack_8<ReadF32>(rows, k, n_k - k, strip);
}

void unpack(const F32Call& c, int64_t row, int64_t k0, int64_t n_k, float* strip, float* plain) {
  switch (c.w->type->id) {
    case quant::TypeId::F32:
      return unpack_direct<ReadF32>(c, row, k0, n_k, strip);
    case quant::TypeId::F16:
      return unpack_direct<ReadF16>(c, row, k0, n_k, strip);
    case quant::TypeId::BF16:
      return unpack_direct<ReadBf16>(c, row, k0, n_k, strip);
    default:
      return unpack_dequantized(c, row, k0, n_k, strip, plain);
  }
}

// n_k weights of the strip times kColumns columns from j0 on, added to or stored at rows from `row` on.
template <int kColumns>
void multiply_tile(const F32Call& c, const float* strip, int64_t row, int64_t j0, int64_t k0, int64_t n_k) {
  __m256 sums[2][kColumns];
  const float* x[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    x[j] = c.column(j0 + j) + k0;
    sums[0][j] = sums[1][j] = _mm256_setzero_ps();
  }
  for (int64_t k = 0; k < n_k; ++k) {
    const __m256 low = _mm256_load_ps(strip + k * 16), high = _mm256_load_ps(strip + k * 16 + 8);
    for (int j = 0; j < kColumns; ++j) {
      const __m256 v = _mm256_broadcast_ss(x[j] + k);
      sums[0][j] = _mm256_fmadd_ps(low, v, sums[0][j]);
      sums[1][j] = _mm256_fmadd_ps(high, v, sums[1][j]);
    }
  }
  for (int s = 0; s < 2; ++s) {
    const __m256i mask = first(c.row_end - row - 8 * s);
    for (int j = 0; j < kColumns; ++j) {
      float* out = c.out + (j0 + j) * c.out_stride + row + 8 * s;
      if (c.accumulate || k0 > 0) sums[s][j] = _mm256_add_ps(sums[s][j], _mm256_maskload_ps(out, mask));
      _mm256_maskstore_ps(out, mask, sums[s][j]);
    }
  }
}

void multiply_columns(const F32Call& c, const float* strip, int64_t row, int64_t k0, int64_t n_k) {
  int64_t j = 0;
  for (; j + 6 <= c.n_x; j += 6) multiply_tile<6>(c, strip, row, j, k0, n_k);
  switch (c.n_x - j) {
    case 1:
      return multiply_tile<1>(c, strip, row, j, k0, n_k);
    case 2:
      return multiply_tile<2>(c, strip, row, j, k0, n_k);
    case 3:
      return multiply_tile<3>(c, strip, row, j, k0, n_k);
    case 4:
      return multiply_tile<4>(c, strip, row, j, k0, n_k);
    case 5:
      return multiply_tile<5>(c, strip, row, j, k0, n_k);
    default:
      return;
  }
}

void multiply_many(const F32Call& c) {
  float* const strip = c.scratch;
  float* const plain = c.scratch + kSlice * kStripRows;
  static_assert(2 * kSlice * kStripRows * sizeof(float) <= kLinearScratchBytes);
  for (int64_t row = c.row_begin; row < c.row_end; row += kStripRows) {
    for (int64_t k0 = 0; k0 < c.w->k; k0 += kSlice) {
      const int64_t n_k = c.w->k - k0 < kSlice ? c.w->k - k0 : kSlice;
      unpack(c, row, k0, n_k, strip, plain);
      multiply_columns(c, strip, row, k0, n_k);
    }
  }
}

}  // namespace

void linear_f32_avx2(const Matrix& w, int64_t row_begin, int64_t row_end, const float* x, int64_t x_stride,
                     const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                     void* scratch) {
  if (n_x <= 0 || row_begin >= row_end) return;
  const F32Call c = {
      &w, row_begin, row_end, x, x_stride, x_index, n_x, out, out_stride, accumulate, static_cast<float*>(scratch)};
  if (n_x > kMaxExactColumns) return multiply_many(c);
  for (int64_t row = row_begin; row < row_end; ++row) {
    switch (w.type->id) {
      case quant::TypeId::F32:
        multiply_row_columns<ReadF32>(c, row);
        break;
      case quant::TypeId::F16:
        multiply_row_columns<ReadF16>(c, row);
        break;
      case quant::TypeId::BF16:
        multiply_row_columns<ReadBf16>(c, row);
        break;
      default:
        multiply_row_dequantized(c, row);
        break;
    }
  }
}

}  // namespace tally::cpu
