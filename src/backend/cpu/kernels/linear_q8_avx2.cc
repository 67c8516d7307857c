// Integer matrix products with AVX2, without dot-product instructions.
// Up to kMaxExactColumns columns: row by row, each row's codes unpacked in registers and used for four columns at once.
// More: strips of 8 rows are unpacked into scratch so that a register holds 4 consecutive weights of each of 8 rows;
// activations are broadcast 4 at a time, and products are summed in 16 bits as far as the codes' range allows.
#include <immintrin.h>

#include "backend/cpu/kernels/linear_parts.h"
#include "backend/cpu/kernels/q8_formats_avx2.h"
#include "backend/cpu/kernels/q8_formats_rare_avx2.h"

namespace tally::cpu {
namespace {

constexpr int64_t kUnit = 256;
constexpr int64_t kPrefetchBytes = 4096;  // how far ahead weights are asked for

// One column of activations. Factors and half sums: 16 to a unit.
struct Column {
  const int8_t* codes;
  const int8_t* zeros;
  const float* factors;
  const float* half_sums;
};

Column column_of(const LinearQ8Call& c, int64_t j) {
  const int64_t at = (c.x_index ? c.x_index[j] : j) * c.x->k_padded;
  return {c.x->codes + at, c.x->zeros + at, c.x->factors + at / 16, c.x->half_sums + at / 16};
}

// Sums of two neighbouring products in 16 bits.
template <class F>
__m256i pair_products(__m256i codes, __m256i x) {
  if (F::kSigned) return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
  return _mm256_maddubs_epi16(codes, x);
}

// Sums of two neighbouring codes in 16 bits.
template <class F>
__m256i sum_pairs(__m256i codes) {
  const __m256i ones = _mm256_set1_epi8(1);
  return F::kSigned ? _mm256_maddubs_epi16(ones, codes) : _mm256_maddubs_epi16(codes, ones);
}

__m256i widen_pairs(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }

// ---- row by row ----

constexpr int kGroupColumns = 4;

// The unit's scales times those of the activations, where single ones can be broadcast from.
template <class F>
void scale_products(const Factors& f, const float* scales, float* products) {
  const __m256 x = _mm256_loadu_ps(scales);
  if (F::kHalves) {
    const __m256 low = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
    const __m256 high = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7));
    _mm256_store_ps(products, _mm256_mul_ps(f.scales[0], low));
    _mm256_store_ps(products + 8, _mm256_mul_ps(f.scales[1], high));
  } else {
    _mm256_store_ps(products, _mm256_mul_ps(f.scales[0], x));
  }
}

// The factor of each of the 8 sums of 4 products of a group.
template <class F>
__m256 group_factor(const float* products, int group) {
  if (!F::kHalves) return _mm256_broadcast_ss(products + group);
  const __m256 pair = _mm256_castpd_ps(_mm256_broadcast_sd(reinterpret_cast<const double*>(products + 2 * group)));
  return _mm256_permutevar_ps(pair, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

// One column's scale products of a unit.
struct alignas(32) ScaleProducts {
  float of_group[16];
};

template <class F, int kColumns>
__attribute__((always_inline)) inline void apply_factors(const Factors& f, const Column* columns, int64_t k,
                                                         ScaleProducts* products, __m256 (&sums)[kColumns][2]) {
  for (int j = 0; j < kColumns; ++j) {
    scale_products<F>(f, columns[j].factors + k / 16, products[j].of_group);
    if (F::kSigned) continue;
    const float* x = F::kHalves ? columns[j].half_sums + k / 16 : columns[j].factors + k / 16 + 8;
    sums[j][0] = _mm256_fmadd_ps(f.minimums[0], _mm256_loadu_ps(x), sums[j][0]);
    if (F::kHalves) sums[j][1] = _mm256_fmadd_ps(f.minimums[1], _mm256_loadu_ps(x + 8), sums[j][1]);
  }
}

// Products of 32 weights, added to sums[j][part].
template <class F, int kColumns>
__attribute__((always_inline)) inline void add_group(__m256i codes, int g, int part, const Column* columns, int64_t k,
                                                     const ScaleProducts* products, __m256 (&sums)[kColumns][2]) {
  for (int j = 0; j < kColumns; ++j) {
    const __m256i of_codes = pair_products<F>(codes, load_32(columns[j].codes + k + 32 * g));
    const __m256i of_zeros = pair_products<F>(codes, load_32(columns[j].zeros + k + 32 * g));
    // Two pairs fit 16 bits only where codes are small.
    const __m256i sum = F::kAdds >= 2 ? widen_pairs(_mm256_add_epi16(of_codes, of_zeros))
                                      : _mm256_add_epi32(widen_pairs(of_codes), widen_pairs(of_zeros));
    const __m256 factor = group_factor<F>(products[j].of_group, g);
    sums[j][part] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), factor, sums[j][part]);
  }
}

template <class F, int kColumns>
__attribute__((always_inline)) inline void add_unit(const uint8_t* unit, const Column* columns, int64_t k,
                                                    __m256 (&sums)[kColumns][2]) {
  ScaleProducts products[kColumns];
  apply_factors<F, kColumns>(F::factors(unit), columns, k, products, sums);
#pragma GCC unroll 8
  for (int g = 0; g < 8; ++g) add_group<F, kColumns>(F::codes(unit, g), g, g % 2, columns, k, products, sums);
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

__m256i first_lanes(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n < 8 ? n : 8)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

template <class F, int kColumns>
__attribute__((always_inline)) inline void add_rest(const uint8_t* unit, int64_t n_blocks, const uint8_t* end,
                                                    const Column* columns, int64_t k, __m256 (&sums)[kColumns][2]) {
  const PartialUnit<F> part(unit, n_blocks, end);
  const __m256 there = _mm256_castsi256_ps(first_lanes(n_blocks));
  Factors factors = F::factors(part.data);
  factors.scales[0] = _mm256_and_ps(factors.scales[0], there);
  factors.minimums[0] = _mm256_and_ps(factors.minimums[0], there);
  ScaleProducts products[kColumns];
  apply_factors<F, kColumns>(factors, columns, k, products, sums);
  for (int g = 0; g < n_blocks; ++g) add_group<F, kColumns>(F::codes(part.data, g), g, 0, columns, k, products, sums);
}

float sum_of(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

template <class F, int kColumns>
void multiply_row(const LinearQ8Call& call, int64_t r, int64_t j0, const Column* columns) {
  constexpr int64_t kUnitBytes = kUnit / F::kBlock * F::kBytes;
  const uint8_t* unit = call.weights + r * call.row_bytes;
  __m256 sums[kColumns][2];
  for (int j = 0; j < kColumns; ++j) sums[j][0] = sums[j][1] = _mm256_setzero_ps();
  int64_t k = 0;
  for (; k + kUnit <= call.k; k += kUnit, unit += kUnitBytes) {
    for (int64_t b = 0; b < kUnitBytes; b += 64)
      _mm_prefetch(reinterpret_cast<const char*>(unit + b + kPrefetchBytes), _MM_HINT_T0);
    add_unit<F, kColumns>(unit, columns, k, sums);
  }
  if (F::kBlock == 32 && k < call.k) add_rest<F, kColumns>(unit, (call.k - k) / 32, call.weights_end, columns, k, sums);
  for (int j = 0; j < kColumns; ++j) {
    float* out = call.out + (j0 + j) * call.out_stride + r;
    const float sum = sum_of(_mm256_add_ps(sums[j][0], sums[j][1]));
    *out = call.accumulate ? *out + sum : sum;
  }
}

template <class F>
void multiply_few(const LinearQ8Call& call) {
  Column columns[kMaxExactColumns];
  for (int64_t j = 0; j < call.n_x; ++j) columns[j] = column_of(call, j);
  for (int64_t r = call.row_begin; r < call.row_end; ++r) {
    for (int64_t j = 0; j < call.n_x; j += kGroupColumns) {
      switch (call.n_x - j) {
        case 1:
          multiply_row<F, 1>(call, r, j, columns + j);
          break;
        case 2:
          multiply_row<F, 2>(call, r, j, columns + j);
          break;
        case 3:
          multiply_row<F, 3>(call, r, j, columns + j);
          break;
        default:
          multiply_row<F, 4>(call, r, j, columns + j);
          break;
      }
    }
  }
}

// ---- strips ----

constexpr int kStripRows = 8;
constexpr int64_t kSlice = 2048;  // weights per row unpacked at a time

// One strip in scratch.
struct Strip {
  uint8_t* codes;   // [slice / 4][8 rows][4]
  float* scales;    // [groups][8 rows]
  float* minimums;  // the same
  int32_t* sums;    // the same: Σ codes
};

Strip strip_at(void* scratch) {
  uint8_t* codes = static_cast<uint8_t*>(scratch);
  float* factors = reinterpret_cast<float*>(codes + kSlice * kStripRows);
  static_assert(kSlice * kStripRows + 3 * (kSlice / 16) * kStripRows * 4 <= static_cast<int64_t>(kLinearScratchBytes));
  constexpr int64_t kFactors = kSlice / 16 * kStripRows;
  return {codes, factors, factors + kFactors, reinterpret_cast<int32_t*>(factors + 2 * kFactors)};
}

// v[i] lane l → v[l] lane i.
__attribute__((always_inline)) inline void transpose(__m256i (&v)[8]) {
  __m256i t[8];
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    const __m256i a = _mm256_unpacklo_epi32(v[i], v[i + 1]), b = _mm256_unpackhi_epi32(v[i], v[i + 1]);
    const __m256i c = _mm256_unpacklo_epi32(v[i + 2], v[i + 3]), d = _mm256_unpackhi_epi32(v[i + 2], v[i + 3]);
    t[i] = _mm256_unpacklo_epi64(a, c);
    t[i + 1] = _mm256_unpackhi_epi64(a, c);
    t[i + 2] = _mm256_unpacklo_epi64(b, d);
    t[i + 3] = _mm256_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2x128_si256(t[i], t[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(t[i], t[i + 4], 0x31);
  }
}

// Eight factors of each of 8 rows to [8 groups][8 rows].
void store_factors(const Factors* factors, int half, bool minimums, float* to) {
  __m256i v[8];
  for (int i = 0; i < 8; ++i)
    v[i] = _mm256_castps_si256(minimums ? factors[i].minimums[half] : factors[i].scales[half]);
  transpose(v);
  for (int i = 0; i < 8; ++i) _mm256_store_si256(reinterpret_cast<__m256i*>(to + 8 * i), v[i]);
}

// 32 · n_groups weights of 8 rows into the strip at weight k of the slice. units[i]: the rows' units.
template <class F>
void unpack_unit(const uint8_t* const (&units)[kStripRows], int n_groups, int64_t k, const Strip& strip) {
  __m256i v[8];
#pragma GCC unroll 8
  for (int g = 0; g < 8; ++g) {
    if (g >= n_groups) break;
    for (int i = 0; i < 8; ++i) v[i] = F::codes(units[i], g);
    transpose(v);
    for (int i = 0; i < 8; ++i)
      _mm256_store_si256(reinterpret_cast<__m256i*>(strip.codes + (k / 4 + 8 * g + i) * 32), v[i]);
    constexpr int kGroup = F::kHalves ? 16 : 32;
    for (int h = 0; h < 32 / kGroup; ++h) {
      __m256i sum = _mm256_setzero_si256();
      for (int i = 0; i < kGroup / 4; ++i)
        sum = _mm256_add_epi32(sum, widen_pairs(sum_pairs<F>(v[h * (kGroup / 4) + i])));
      _mm256_store_si256(reinterpret_cast<__m256i*>(strip.sums + ((k + 32 * g) / kGroup + h) * 8), sum);
    }
  }
  Factors factors[kStripRows];
  for (int i = 0; i < 8; ++i) factors[i] = F::factors(units[i]);
  for (int h = 0; h < (F::kHalves ? 2 : 1); ++h) {
    const int64_t at = (k / (F::kHalves ? 16 : 32) + 8 * h) * kStripRows;
    store_factors(factors, h, false, strip.scales + at);
    if (!F::kSigned) store_factors(factors, h, true, strip.minimums + at);
  }
}

// Rows [row, row + 8), those from row_end on as copies of the last one, weights [k0, k0 + n_k).
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
    unpack_unit<F>(units, 8, k, strip);
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
  unpack_unit<F>(units, static_cast<int>(n_blocks), k, strip);
}

// Integer products of one group (or half group), summed over its weights: 8 rows × kColumns.
template <class F, int kColumns, int kGroup>
__attribute__((always_inline)) inline void multiply_group(const uint8_t* codes, const Column* columns, int64_t k,
                                                          __m256i (&products)[kColumns]) {
#pragma GCC unroll 8
  for (int i0 = 0; i0 < kGroup / 4; i0 += F::kAdds) {
    __m256i pairs[kColumns];
#pragma GCC unroll 8
    for (int i = i0; i < i0 + F::kAdds; ++i) {
      const __m256i w = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + i * 32));
      for (int j = 0; j < kColumns; ++j) {
        const __m256i x = _mm256_set1_epi32(static_cast<int>(load_u32(columns[j].codes + k + 4 * i)));
        const __m256i p = pair_products<F>(w, x);
        pairs[j] = i == i0 ? p : _mm256_add_epi16(pairs[j], p);
      }
    }
    for (int j = 0; j < kColumns; ++j) {
      const __m256i p = widen_pairs(pairs[j]);
      products[j] = i0 == 0 ? p : _mm256_add_epi32(products[j], p);
    }
  }
}

// Where a tile's sums go: 8 rows from `out` on, of which `rows` are there.
struct TileOut {
  float* out;
  int64_t stride;
  int64_t rows;
  bool accumulate;
};

// n_k weights of 8 rows times kColumns columns.
template <class F, int kColumns>
void multiply_tile(const Strip& strip, int64_t n_k, const Column* columns, int64_t k0, const TileOut& tile) {
  constexpr int kGroup = F::kHalves ? 16 : 32;
  __m256 sums[kColumns];
  for (int j = 0; j < kColumns; ++j) sums[j] = _mm256_setzero_ps();
  for (int64_t k = 0; k < n_k; k += kGroup) {
    __m256i products[kColumns];
    multiply_group<F, kColumns, kGroup>(strip.codes + k * kStripRows, columns, k0 + k, products);
    const __m256 scale = _mm256_load_ps(strip.scales + k / kGroup * 8);
    const __m256i code_sums = _mm256_load_si256(reinterpret_cast<const __m256i*>(strip.sums + k / kGroup * 8));
    const int64_t factor = (k0 + k) / kUnit * 16 + (k0 + k) % kUnit / 32;
    for (int j = 0; j < kColumns; ++j) {
      // zero point · Σ codes: the lower halves multiply as 16 bits (sums are within ±2^13), the upper ones by 0.
      const __m256i zero = _mm256_set1_epi32(static_cast<uint16_t>(columns[j].zeros[k0 + k]));
      products[j] = _mm256_add_epi32(products[j], _mm256_madd_epi16(code_sums, zero));
      const __m256 both = _mm256_mul_ps(scale, _mm256_broadcast_ss(columns[j].factors + factor));
      sums[j] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(products[j]), both, sums[j]);
      if (F::kSigned) continue;
      const float* sum = F::kHalves ? columns[j].half_sums + (k0 + k) / 16 : columns[j].factors + factor + 8;
      sums[j] = _mm256_fmadd_ps(_mm256_load_ps(strip.minimums + k / kGroup * 8), _mm256_broadcast_ss(sum), sums[j]);
    }
  }
  const __m256i mask = first_lanes(tile.rows);
  for (int j = 0; j < kColumns; ++j) {
    float* out = tile.out + j * tile.stride;
    if (tile.accumulate) sums[j] = _mm256_add_ps(sums[j], _mm256_maskload_ps(out, mask));
    _mm256_maskstore_ps(out, mask, sums[j]);
  }
}

template <class F>
void multiply_many(const LinearQ8Call& call) {
  constexpr int kTile = 4;
  const Strip strip = strip_at(call.scratch);
  for (int64_t row = call.row_begin; row < call.row_end; row += kStripRows) {
    for (int64_t k0 = 0; k0 < call.k; k0 += kSlice) {
      const int64_t n_k = call.k - k0 < kSlice ? call.k - k0 : kSlice;
      unpack_strip<F>(call, row, k0, n_k, strip);
      TileOut tile = {call.out + row, call.out_stride, call.row_end - row, call.accumulate || k0 > 0};
      for (int64_t j = 0; j < call.n_x; j += kTile, tile.out += kTile * call.out_stride) {
        Column columns[kTile];
        for (int i = 0; i < kTile; ++i) columns[i] = column_of(call, j + i < call.n_x ? j + i : call.n_x - 1);
        switch (call.n_x - j) {
          case 1:
            multiply_tile<F, 1>(strip, n_k, columns, k0, tile);
            break;
          case 2:
            multiply_tile<F, 2>(strip, n_k, columns, k0, tile);
            break;
          case 3:
            multiply_tile<F, 3>(strip, n_k, columns, k0, tile);
            break;
          default:
            multiply_tile<F, 4>(strip, n_k, columns, k0, tile);
            break;
        }
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

void linear_q8_avx2(const Matrix& w, int64_t row_begin, int64_t row_end, const QuantizedRows& x, const int32_t* x_index,
                    int64_t n_x, float* out, int64_t out_stride, bool accumulate, void* scratch) {
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
