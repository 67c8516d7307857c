// Matrix products in float32 with AVX-512, for weights of any type that can be dequantized.
// Up to kMaxExactColumns columns: row by row. More: strips of 16 rows are converted into scratch, weight by weight
// (16 rows in one register), and multiplied in tiles of 32 rows × 12 columns.
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

__mmask16 first(int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << n) - 1); }

// How 16 weights are read; `n` of them are there.
struct ReadF32 {
  static constexpr int kBytes = 4;
  static __m512 all(const uint8_t* p) { return _mm512_loadu_ps(p); }
  static __m512 some(const uint8_t* p, int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
};
struct ReadF16 {
  static constexpr int kBytes = 2;
  static __m512 all(const uint8_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static __m512 some(const uint8_t* p, int64_t n) { return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(n), p)); }
};
struct ReadBf16 {
  static constexpr int kBytes = 2;
  static __m512 widen(__m256i v) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16)); }
  static __m512 all(const uint8_t* p) { return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static __m512 some(const uint8_t* p, int64_t n) { return widen(_mm256_maskz_loadu_epi16(first(n), p)); }
};

// ---- row by row ----

constexpr int kGroupColumns = 4;  // columns at a time
constexpr int kParts = 4;         // partial sums per column: sums over i / 16 mod 4, for latency

// sums[j][p] += products of n weights, starting at a multiple of 64 within the row.
template <class Read, int kColumns>
__attribute__((always_inline)) inline void add_products(const uint8_t* w, const float* const* x, int64_t n,
                                                        __m512 (&sums)[kColumns][kParts]) {
  int64_t i = 0;
  for (; i + 16 * kParts <= n; i += 16 * kParts) {
    _mm_prefetch(reinterpret_cast<const char*>(w + i * Read::kBytes + 4096), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(w + i * Read::kBytes + 4096 + 64), _MM_HINT_T0);
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      const __m512 v = Read::all(w + (i + 16 * p) * Read::kBytes);
      for (int j = 0; j < kColumns; ++j)
        sums[j][p] = _mm512_fmadd_ps(v, _mm512_loadu_ps(x[j] + i + 16 * p), sums[j][p]);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kParts; ++p) {
    const int64_t left = n - i - 16 * p;
    if (left <= 0) break;
    const __m512 v = Read::some(w + (i + 16 * p) * Read::kBytes, left);
    for (int j = 0; j < kColumns; ++j)
      sums[j][p] = _mm512_fmadd_ps(v, _mm512_maskz_loadu_ps(first(left), x[j] + i + 16 * p), sums[j][p]);
  }
}

template <int kColumns>
void store_sums(const F32Call& c, int64_t row, int64_t j0, const __m512 (&sums)[kColumns][kParts]) {
  for (int j = 0; j < kColumns; ++j) {
    float* out = c.out + (j0 + j) * c.out_stride + row;
    const float sum = _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(sums[j][0], sums[j][1]), _mm512_add_ps(sums[j][2], sums[j][3])));
    *out = c.accumulate ? *out + sum : sum;
  }
}

// Weights of the row's own format, read directly.
template <class Read, int kColumns>
void multiply_row(const F32Call& c, int64_t row, int64_t j0) {
  const float* x[kColumns];
  __m512 sums[kColumns][kParts];
  for (int j = 0; j < kColumns; ++j) {
    x[j] = c.column(j0 + j);
    for (int p = 0; p < kParts; ++p) sums[j][p] = _mm512_setzero_ps();
  }
  add_products<Read, kColumns>(c.weights(row, 0), x, c.w->k, sums);
  store_sums<kColumns>(c, row, j0, sums);
}

template <class Read>
void multiply_row_columns(const F32Call& c, int64_t row) {
  for (int64_t j = 0; j < c.n_x; j += kGroupColumns) {
    switch (c.n_x - j) {
      case 1:
        multiply_row<Read, 1>(c, row, j);
        break;
      case 2:
        multiply_row<Read, 2>(c, row, j);
        break;
      case 3:
        multiply_row<Read, 3>(c, row, j);
        break;
      default:
        multiply_row<Read, 4>(c, row, j);
        break;
    }
  }
}

// Any type: the row is dequantized a slice at a time; partial sums of all columns wait in memory meanwhile.
void multiply_row_dequantized(const F32Call& c, int64_t row) {
  __m512 sums[kMaxExactColumns][1][kParts] = {};
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
__attribute__((always_inline)) inline void transpose(__m512 (&v)[16]) {
  __m512 t[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(v[i], v[i + 1]));
    const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(v[i], v[i + 1]));
    const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(v[i + 2], v[i + 3]));
    const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(v[i + 2], v[i + 3]));
    t[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    t[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    t[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    t[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
    const __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
    const __m512 d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
    v[i] = _mm512_shuffle_f32x4(a, c, 0x88);
    v[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
    v[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
    v[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}

// Weights [k, k + n) of 16 rows (n ≤ 16) into strip[k .. k + n)[16].
template <class Read>
void unpack_16(const uint8_t* const (&rows)[kStripRows], int64_t k, int64_t n, float* strip) {
  __m512 v[16];
  for (int i = 0; i < 16; ++i) {
    const uint8_t* p = rows[i] + k * Read::kBytes;
    v[i] = n >= 16 ? Read::all(p) : Read::some(p, n);
  }
  transpose(v);
  for (int i = 0; i < 16; ++i) _mm512_store_ps(strip + (k + i) * 16, v[i]);
}

// Rows [row, row + 16), those from row_end on as copies of the last one, weights [k0, k0 + n_k).
template <class Read>
void unpack_direct(const F32Call& c, int64_t row, int64_t k0, int64_t n_k, float* strip) {
  const uint8_t* rows[kStripRows];
  for (int i = 0; i < kStripRows; ++i) rows[i] = c.weights(row + i < c.row_end ? row + i : c.row_end - 1, k0);
  for (int64_t k = 0; k < n_k; k += 16) unpack_16<Read>(rows, k, n_k - k, strip);
}

void unpack_dequantized(const F32Call& c, int64_t row, int64_t k0, int64_t n_k, float* strip, float* plain) {
  const uint8_t* rows[kStripRows];
  for (int i = 0; i < kStripRows; ++i) {
    const int64_t r = row + i < c.row_end ? row + i : c.row_end - 1;
    c.w->type->dequantize(c.weights(r, k0), plain + i * kSlice, n_k / c.w->type->block_elements);
    rows[i] = reinterpret_cast<const uint8_t*>(plain + i * kSlice);
  }
  for (int64_t k = 0; k < n_k; k += 16) unpack_16<ReadF32>(rows, k, n_k - k, strip);
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

// n_k weights of the strips times kColumns columns from j on, added to or stored at rows from `row` on.
template <int kStrips, int kColumns>
void multiply_tile(const F32Call& c, const float* const* strips, int64_t row, int64_t j0, int64_t k0, int64_t n_k) {
  __m512 sums[kStrips][kColumns];
  const float* x[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    x[j] = c.column(j0 + j) + k0;
    for (int s = 0; s < kStrips; ++s) sums[s][j] = _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < n_k; ++k) {
    __m512 w[kStrips];
    for (int s = 0; s < kStrips; ++s) w[s] = _mm512_load_ps(strips[s] + k * 16);
    for (int j = 0; j < kColumns; ++j) {
      const __m512 v = _mm512_set1_ps(x[j][k]);
      for (int s = 0; s < kStrips; ++s) sums[s][j] = _mm512_fmadd_ps(w[s], v, sums[s][j]);
    }
  }
  for (int s = 0; s < kStrips; ++s) {
    const __mmask16 mask = first(c.row_end - row - 16 * s);
    for (int j = 0; j < kColumns; ++j) {
      float* out = c.out + (j0 + j) * c.out_stride + row + 16 * s;
      if (c.accumulate || k0 > 0) sums[s][j] = _mm512_add_ps(sums[s][j], _mm512_maskz_loadu_ps(mask, out));
      _mm512_mask_storeu_ps(out, mask, sums[s][j]);
    }
  }
}

template <int kStrips>
void multiply_columns(const F32Call& c, const float* const* strips, int64_t row, int64_t k0, int64_t n_k) {
  int64_t j = 0;
  for (; j + 12 <= c.n_x; j += 12) multiply_tile<kStrips, 12>(c, strips, row, j, k0, n_k);
  for (; j + 4 <= c.n_x; j += 4) multiply_tile<kStrips, 4>(c, strips, row, j, k0, n_k);
  switch (c.n_x - j) {
    case 1:
      return multiply_tile<kStrips, 1>(c, strips, row, j, k0, n_k);
    case 2:
      return multiply_tile<kStrips, 2>(c, strips, row, j, k0, n_k);
    case 3:
      return multiply_tile<kStrips, 3>(c, strips, row, j, k0, n_k);
    default:
      return;
  }
}

void multiply_many(const F32Call& c) {
  float* const strips[2] = {c.scratch, c.scratch + kSlice * kStripRows};
  float* const plain = c.scratch + 2 * kSlice * kStripRows;
  static_assert(3 * kSlice * kStripRows * sizeof(float) <= kLinearScratchBytes);
  for (int64_t row = c.row_begin; row < c.row_end; row += 2 * kStripRows) {
    const bool both = c.row_end - row > kStripRows;
    for (int64_t k0 = 0; k0 < c.w->k; k0 += kSlice) {
      const int64_t n_k = c.w->k - k0 < kSlice ? c.w->k - k0 : kSlice;
      unpack(c, row, k0, n_k, strips[0], plain);
      if (both) {
        unpack(c, row + kStripRows, k0, n_k, strips[1], plain);
        multiply_columns<2>(c, strips, row, k0, n_k);
      } else {
        multiply_columns<1>(c, strips, row, k0, n_k);
      }
    }
  }
}

}  // namespace

void linear_f32_avx512(const Matrix& w, int64_t row_begin, int64_t row_end, const float* x, int64_t x_stride,
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
