// Integer matrix products with AVX-512 VNNI.
// Up to kMaxExactColumns columns: row by row, each row's codes unpacked in registers and used for all columns.
// More: two strips of 16 rows are unpacked into scratch so that a register holds 4 consecutive weights of each of 16
// rows; activations are broadcast 4 at a time, so no sum across a register is needed, and tiles of 32 rows × 6 columns
// stay in registers.
#include <immintrin.h>

#include "backend/cpu/kernels/linear_parts.h"
#include "backend/cpu/kernels/q8_formats_avx512.h"
#include "backend/cpu/kernels/q8_formats_rare_avx512.h"

namespace tally::cpu {
namespace {

constexpr int64_t kUnit = 256;
constexpr int64_t kPrefetchBytes = 4096;  // how far ahead weights are asked for

// One column of activations. Factors: 16 to a unit.
struct Column {
  const int8_t* codes;
  const int8_t* zeros;
  const float* factors;
  const float* half_sums;
  const int32_t* offsets;  // per group, or per half group for formats with kHalves
};

template <class F>
Column column_of(const LinearQ8Call& c, int64_t j) {
  const int64_t at = (c.x_index ? c.x_index[j] : j) * c.x->k_padded;
  return {c.x->codes + at, c.x->zeros + at, c.x->factors + at / 16, c.x->half_sums + at / 16,
          F::kHalves ? c.x->half_offsets + at / 16 : c.x->offsets + at / 32};
}

// ---- row by row ----

// For chunk c of 64 weights: which of a unit's factors belongs to which of the 16 sums of 4 products.
template <class F>
__m512i factor_lanes(int chunk) {
  if (F::kHalves)
    return _mm512_add_epi32(_mm512_set1_epi32(4 * chunk),
                            _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
  return _mm512_add_epi32(_mm512_set1_epi32(2 * chunk), halves<0, 1>());
}

// The 16 minimums of a unit, where scales stand for half groups.
template <class F>
__m512 half_minimums_of(const uint8_t* unit, __m512 factors) {
  if constexpr (F::kHalves && F::kMinimum) return F::minimums(unit);
  return _mm512_mul_ps(factors, _mm512_set1_ps(F::kOffset));
}

// A unit's factors times those of the activations: scales come back; products of the minimums (or offsets) with the
// sums of the activations are added to sum.
template <class F>
__m512 apply_factors(__m512 factors, __m512 half_minimums, const Column& x, int64_t k, __m512& sum) {
  const __m512 of_x = _mm512_loadu_ps(x.factors + k / 16);
  if (F::kHalves) {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    sum = _mm512_fmadd_ps(half_minimums, _mm512_loadu_ps(x.half_sums + k / 16), sum);
    return _mm512_mul_ps(factors, _mm512_permutexvar_ps(twice, of_x));
  }
  const __m512 products = _mm512_mul_ps(factors, of_x);
  sum = _mm512_mask_add_ps(sum, 0xff00, sum, products);
  return products;
}

// Products of 64 weights, added to sums[j][part].
template <class F, int kColumns>
__attribute__((always_inline)) inline void add_chunk(__m512i codes, int c, int part, const Column* columns, int64_t k,
                                                     const __m512* scales, __m512 (&sums)[kColumns][2]) {
  const __m512i lanes = factor_lanes<F>(c);
  for (int j = 0; j < kColumns; ++j) {
    const __m512i x = _mm512_loadu_si512(columns[j].codes + k + 64 * c);
    const __m512i zeros = _mm512_loadu_si512(columns[j].zeros + k + 64 * c);
    const __m512i products = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, x), codes, zeros);
    sums[j][part] =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(products), _mm512_permutexvar_ps(lanes, scales[j]), sums[j][part]);
  }
}

template <class F, int kColumns>
__attribute__((always_inline)) inline void add_unit(const uint8_t* unit, const Column* columns, int64_t k,
                                                    __m512 (&sums)[kColumns][2]) {
  const __m512 factors = F::factors(unit), minimums = half_minimums_of<F>(unit, factors);
  __m512 scales[kColumns];
  for (int j = 0; j < kColumns; ++j) scales[j] = apply_factors<F>(factors, minimums, columns[j], k, sums[j][1]);
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) add_chunk<F, kColumns>(F::codes(unit, c), c, c % 2, columns, k, scales, sums);
}

// A unit of which only n_blocks blocks belong to the row. What follows them may be other rows, and counts as zero; past
// the end of the weights nothing may be read, so there a copy stands in.
template <class F>
struct PartialUnit {
  PartialUnit(const uint8_t* unit, int64_t n_blocks, const uint8_t* end) : data(unit) {
    if (end - unit >= 8 * F::kBytes) return;
    __builtin_memcpy(copy, unit, static_cast<size_t>(n_blocks * F::kBytes));
    data = copy;
  }
  const uint8_t* data;
  uint8_t copy[8 * F::kBytes];
};

template <class F, int kColumns>
__attribute__((always_inline)) inline void add_rest(const uint8_t* unit, int64_t n_blocks, const uint8_t* end,
                                                    const Column* columns, int64_t k, __m512 (&sums)[kColumns][2]) {
  const PartialUnit<F> part(unit, n_blocks, end);
  const __mmask16 there = static_cast<__mmask16>(((1 << n_blocks) - 1) * 0x101);
  const __m512 factors = _mm512_maskz_mov_ps(there, F::factors(part.data));
  __m512 scales[kColumns];
  for (int j = 0; j < kColumns; ++j) scales[j] = apply_factors<F>(factors, factors, columns[j], k, sums[j][1]);
  for (int c = 0; 2 * c < n_blocks; ++c) add_chunk<F, kColumns>(F::codes(part.data, c), c, 0, columns, k, scales, sums);
}

template <class F, int kColumns>
void multiply_rows(const LinearQ8Call& call, int64_t j0) {
  constexpr int64_t kUnitBytes = kUnit / F::kBlock * F::kBytes;
  Column columns[kColumns];
  for (int j = 0; j < kColumns; ++j) columns[j] = column_of<F>(call, j0 + j);
  const int64_t k_whole = call.k / kUnit * kUnit;
  for (int64_t r = call.row_begin; r < call.row_end; ++r) {
    const uint8_t* unit = call.weights + r * call.row_bytes;
    __m512 sums[kColumns][2];
    for (int j = 0; j < kColumns; ++j) sums[j][0] = sums[j][1] = _mm512_setzero_ps();
    for (int64_t k = 0; k < k_whole; k += kUnit, unit += kUnitBytes) {
      for (int64_t b = 0; b < kUnitBytes; b += 64)
        _mm_prefetch(reinterpret_cast<const char*>(unit + b + kPrefetchBytes), _MM_HINT_T0);
      add_unit<F, kColumns>(unit, columns, k, sums);
    }
    if (F::kBlock == 32 && k_whole < call.k)
      add_rest<F, kColumns>(unit, (call.k - k_whole) / 32, call.weights_end, columns, k_whole, sums);
    for (int j = 0; j < kColumns; ++j) {
      float* out = call.out + (j0 + j) * call.out_stride + r;
      const float sum = _mm512_reduce_add_ps(_mm512_add_ps(sums[j][0], sums[j][1]));
      *out = call.accumulate ? *out + sum : sum;
    }
  }
}

template <class F>
void multiply_few(const LinearQ8Call& call) {
  switch (call.n_x) {
    case 1:
      return multiply_rows<F, 1>(call, 0);
    case 2:
      return multiply_rows<F, 2>(call, 0);
    case 3:
      return multiply_rows<F, 3>(call, 0);
    case 4:
      return multiply_rows<F, 4>(call, 0);
    case 5:
      return multiply_rows<F, 5>(call, 0);
    case 6:
      return multiply_rows<F, 6>(call, 0);
    case 7:
      return multiply_rows<F, 7>(call, 0);
    default:
      return multiply_rows<F, 8>(call, 0);
  }
}

// ---- strips ----

constexpr int kStripRows = 16;
constexpr int64_t kSlice = 1024;  // weights per row unpacked at a time
constexpr int64_t kStripCodes = kSlice * kStripRows;

// One strip in scratch.
struct Strip {
  uint8_t* codes;   // [slice / 4][16 rows][4]
  float* scales;    // [groups][16 rows]
  float* minimums;  // the same
  int32_t* sums;    // the same: Σ codes
};

Strip strip_at(void* scratch, int i) {
  constexpr int64_t kBytes = kStripCodes + 3 * (kSlice / 16) * kStripRows * 4;
  static_assert(2 * kBytes <= static_cast<int64_t>(kLinearScratchBytes));
  uint8_t* p = static_cast<uint8_t*>(scratch) + i * kBytes;
  float* factors = reinterpret_cast<float*>(p + kStripCodes);
  constexpr int64_t kFactors = kSlice / 16 * kStripRows;
  return {p, factors, factors + kFactors, reinterpret_cast<int32_t*>(factors + 2 * kFactors)};
}

// v[i] lane l → v[l] lane i.
__attribute__((always_inline)) inline void transpose(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512i a = _mm512_unpacklo_epi32(v[i], v[i + 1]), b = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    const __m512i c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]), d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm512_unpacklo_epi64(a, c);
    t[i + 1] = _mm512_unpackhi_epi64(a, c);
    t[i + 2] = _mm512_unpacklo_epi64(b, d);
    t[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
    v[i] = _mm512_shuffle_i32x4(a, c, 0x88);
    v[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
    v[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
    v[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

// 64 · n_chunks weights of 16 rows into the strip at weight k of the slice. units[i]: the rows' units.
template <class F>
void unpack_unit(const uint8_t* const (&units)[kStripRows], int n_chunks, int64_t k, const Strip& strip) {
  __m512i v[16];
#pragma GCC unroll 1
  for (int c = 0; c < n_chunks; ++c) {
    for (int i = 0; i < 16; ++i) {
      v[i] = F::codes(units[i], c);
      if (!F::kMinimum && F::kOffset != 128) v[i] = _mm512_add_epi8(v[i], _mm512_set1_epi8(128 - F::kOffset));
    }
    transpose(v);
    for (int i = 0; i < 16; ++i) _mm512_store_si512(strip.codes + (k / 4 + 16 * c + i) * 64, v[i]);
    constexpr int kGroup = F::kHalves ? 16 : 32;
    for (int g = 0; g < 64 / kGroup; ++g) {
      __m512i sum = _mm512_setzero_si512();
      for (int i = 0; i < kGroup / 4; ++i) sum = _mm512_dpbusd_epi32(sum, v[g * (kGroup / 4) + i], _mm512_set1_epi8(1));
      _mm512_store_si512(strip.sums + ((k + 64 * c) / kGroup + g) * 16, sum);
    }
  }
  for (int i = 0; i < 16; ++i) v[i] = _mm512_castps_si512(F::factors(units[i]));
  transpose(v);
  if (F::kHalves) {
    for (int i = 0; i < 16; ++i) _mm512_store_si512(strip.scales + (k / 16 + i) * 16, v[i]);
    if (!F::kMinimum) return;
    for (int i = 0; i < 16; ++i) v[i] = _mm512_castps_si512(half_minimums_of<F>(units[i], _mm512_setzero_ps()));
    transpose(v);
    for (int i = 0; i < 16; ++i) _mm512_store_si512(strip.minimums + (k / 16 + i) * 16, v[i]);
  } else {
    for (int i = 0; i < 8; ++i) _mm512_store_si512(strip.scales + (k / 32 + i) * 16, v[i]);
    for (int i = 0; i < 8; ++i) _mm512_store_si512(strip.minimums + (k / 32 + i) * 16, v[i + 8]);
  }
}

// Rows [row, row + 16), those from row_end on as copies of the last one, weights [k0, k0 + n_k).
template <class F>
void unpack_strip(const LinearQ8Call& call, int64_t row, int64_t k0, int64_t n_k, const Strip& strip) {
  constexpr int64_t kUnitBytes = kUnit / F::kBlock * F::kBytes;
  const uint8_t* units[kStripRows];
  for (int i = 0; i < kStripRows; ++i) {
    const int64_t r = row + i < call.row_end ? row + i : call.row_end - 1;
    units[i] = call.weights + r * call.row_bytes + k0 / F::kBlock * F::kBytes;
  }
  int64_t k = 0;
  for (; k + kUnit <= n_k; k += kUnit) {
    unpack_unit<F>(units, 4, k, strip);
    for (auto& unit : units) unit += kUnitBytes;
  }
  if (F::kBlock == 256 || k == n_k) return;
  const int64_t n_blocks = (n_k - k) / F::kBlock;
  uint8_t copies[kStripRows][8 * F::kBytes];
  for (int i = 0; i < kStripRows; ++i) {
    if (call.weights_end - units[i] >= 8 * F::kBytes) continue;
    __builtin_memcpy(copies[i], units[i], static_cast<size_t>(n_blocks * F::kBytes));
    units[i] = copies[i];
  }
  unpack_unit<F>(units, static_cast<int>(n_blocks + 1) / 2, k, strip);
}

// Where a tile's sums go: 16 · kStrips rows from `out` on, of which `rows` are there; kColumns columns.
struct TileOut {
  float* out;
  int64_t stride;
  int64_t rows;
  bool accumulate;
};

// n_k weights of 16 · kStrips rows times kColumns columns.
template <class F, int kStrips, int kColumns>
void multiply_tile(const Strip* strips, int64_t n_k, const Column* columns, int64_t k0, const TileOut& tile) {
  constexpr int kGroup = F::kHalves ? 16 : 32;
  __m512 sums[kStrips][kColumns];
  for (int s = 0; s < kStrips; ++s)
    for (int j = 0; j < kColumns; ++j) sums[s][j] = _mm512_setzero_ps();
  for (int64_t k = 0; k < n_k; k += kGroup) {
    __m512i products[kStrips][kColumns];
    for (int j = 0; j < kColumns; ++j) {  // zero point · Σ codes, a product of 16 bits (sums are below 2^13)
      const __m512i zero = _mm512_set1_epi32(static_cast<uint16_t>(columns[j].zeros[k0 + k]));
      for (int s = 0; s < kStrips; ++s) {
        products[s][j] = _mm512_madd_epi16(_mm512_load_si512(strips[s].sums + k / kGroup * 16), zero);
        if (!F::kMinimum)
          products[s][j] = _mm512_add_epi32(products[s][j], _mm512_set1_epi32(columns[j].offsets[(k0 + k) / kGroup]));
      }
    }
#pragma GCC unroll 8
    for (int64_t i = 0; i < kGroup; i += 4) {
      __m512i w[kStrips];
      for (int s = 0; s < kStrips; ++s) w[s] = _mm512_load_si512(strips[s].codes + (k + i) * 16);
      for (int j = 0; j < kColumns; ++j) {
        const __m512i x = _mm512_set1_epi32(static_cast<int>(load_u32(columns[j].codes + k0 + k + i)));
        for (int s = 0; s < kStrips; ++s) products[s][j] = _mm512_dpbusd_epi32(products[s][j], w[s], x);
      }
    }
    const int64_t factor = (k0 + k) / kUnit * 16 + (k0 + k) % kUnit / 32;
    for (int s = 0; s < kStrips; ++s) {
      const __m512 scale = _mm512_load_ps(strips[s].scales + k / kGroup * 16);
      for (int j = 0; j < kColumns; ++j) {
        const __m512 both = _mm512_mul_ps(scale, _mm512_set1_ps(columns[j].factors[factor]));
        sums[s][j] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[s][j]), both, sums[s][j]);
        if (!F::kMinimum) continue;
        const float* sum = F::kHalves ? columns[j].half_sums + (k0 + k) / 16 : columns[j].factors + factor + 8;
        sums[s][j] =
            _mm512_fmadd_ps(_mm512_load_ps(strips[s].minimums + k / kGroup * 16), _mm512_set1_ps(*sum), sums[s][j]);
      }
    }
  }
  for (int s = 0; s < kStrips; ++s) {
    const int64_t rows = tile.rows - 16 * s;
    const __mmask16 mask = static_cast<__mmask16>(rows >= 16 ? 0xffff : (1u << rows) - 1);
    for (int j = 0; j < kColumns; ++j) {
      float* out = tile.out + j * tile.stride + 16 * s;
      if (tile.accumulate) sums[s][j] = _mm512_add_ps(sums[s][j], _mm512_maskz_loadu_ps(mask, out));
      _mm512_mask_storeu_ps(out, mask, sums[s][j]);
    }
  }
}

template <class F, int kStrips>
void multiply_columns(const LinearQ8Call& call, const Strip* strips, int64_t row, int64_t k0, int64_t n_k) {
  constexpr int kTile = 6;
  const TileOut at = {call.out + row, call.out_stride, call.row_end - row, call.accumulate || k0 > 0};
  for (int64_t j = 0; j < call.n_x; j += kTile) {
    const int64_t n = call.n_x - j < kTile ? call.n_x - j : kTile;
    Column columns[kTile];
    for (int i = 0; i < kTile; ++i) columns[i] = column_of<F>(call, i < n ? j + i : j);
    TileOut tile = at;
    tile.out += j * call.out_stride;
    switch (n) {
      case 1:
        multiply_tile<F, kStrips, 1>(strips, n_k, columns, k0, tile);
        break;
      case 2:
        multiply_tile<F, kStrips, 2>(strips, n_k, columns, k0, tile);
        break;
      case 3:
        multiply_tile<F, kStrips, 3>(strips, n_k, columns, k0, tile);
        break;
      case 4:
        multiply_tile<F, kStrips, 4>(strips, n_k, columns, k0, tile);
        break;
      case 5:
        multiply_tile<F, kStrips, 5>(strips, n_k, columns, k0, tile);
        break;
      default:
        multiply_tile<F, kStrips, 6>(strips, n_k, columns, k0, tile);
        break;
    }
  }
}

template <class F>
void multiply_many(const LinearQ8Call& call) {
  const Strip strips[2] = {strip_at(call.scratch, 0), strip_at(call.scratch, 1)};
  for (int64_t row = call.row_begin; row < call.row_end; row += 2 * kStripRows) {
    const bool both = call.row_end - row > kStripRows;
    for (int64_t k0 = 0; k0 < call.k; k0 += kSlice) {
      const int64_t n_k = call.k - k0 < kSlice ? call.k - k0 : kSlice;
      unpack_strip<F>(call, row, k0, n_k, strips[0]);
      if (both) {
        unpack_strip<F>(call, row + kStripRows, k0, n_k, strips[1]);
        multiply_columns<F, 2>(call, strips, row, k0, n_k);
      } else {
        multiply_columns<F, 1>(call, strips, row, k0, n_k);
      }
    }
  }
}

template <class F>
void multiply(const LinearQ8Call& call) {
  if (call.n_x <= kMaxExactColumns) return multiply_few<F>(call);
  multiply_many<F>(call);
}

}  // namespace

void linear_q8_avx512(const Matrix& w, int64_t row_begin, int64_t row_end, const QuantizedRows& x,
                      const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                      void* scratch) {
  if (n_x <= 0 || row_begin >= row_end) return;
  const uint8_t* end = w.data + (w.n - 1) * w.row_bytes + w.k / w.type->block_elements * w.type->block_bytes;
  const LinearQ8Call call = {w.data,  end, w.k, w.row_bytes, row_begin,  row_end, &x,
                             x_index, n_x, out, out_stride,  accumulate, scratch};
  using quant::TypeId;
  switch (w.type->id) {
    case TypeId::Q4_K:
      return multiply<Q4K>(call);
    case TypeId::Q5_K:
      return multiply<Q5K>(call);
    case TypeId::Q6_K:
      return multiply<Q6K>(call);
    case TypeId::Q8_0:
      return multiply<Q80>(call);
    case TypeId::Q4_0:
      return multiply<Q40>(call);
    case TypeId::Q4_1:
      return multiply<Q41>(call);
    case TypeId::Q5_0:
      return multiply<Q50>(call);
    case TypeId::Q5_1:
      return multiply<Q51>(call);
    case TypeId::IQ4_NL:
      return multiply<IQ4NL>(call);
    case TypeId::IQ4_XS:
      return multiply<IQ4XS>(call);
    case TypeId::MXFP4:
      return multiply<MxFp4>(call);
    case TypeId::Q2_K:
      return multiply<Q2K>(call);
    case TypeId::Q3_K:
      return multiply<Q3K>(call);
    default:
      unsupported_q8_type(*w.type);
  }
}

}  // namespace tally::cpu
