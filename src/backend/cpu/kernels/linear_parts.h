// What the files of one matrix-product level share among themselves. Nothing here is inline and shared between levels:
// an inline function that two levels compile would be linked in either's instructions.
#pragma once

#include "backend/cpu/kernels/linear.h"

namespace tally::cpu {

// Weights and rows of one call, without the type's own part.
struct LinearQ8Call {
  const uint8_t* weights;      // of row 0
  const uint8_t* weights_end;  // of the last row
  int64_t k;
  int64_t row_bytes;
  int64_t row_begin, row_end;
  const QuantizedRows* x;
  const int32_t* x_index;
  int64_t n_x;
  float* out;
  int64_t out_stride;
  bool accumulate;
  void* scratch;
};

// Types that every level's linear_q8 takes.
bool q8_type_supported(const quant::QuantType& type, int64_t k);

// Ends the process: a caller did not ask supports_q8.
[[noreturn]] void unsupported_q8_type(const quant::QuantType& type);

void quantize_rows_generic(const float* x, int64_t x_stride, int64_t row_begin, int64_t row_end,
                           const QuantizedRows& out);
void quantize_rows_avx2(const float* x, int64_t x_stride, int64_t row_begin, int64_t row_end, const QuantizedRows& out);

void linear_q8_generic(const Matrix& w, int64_t row_begin, int64_t row_end, const QuantizedRows& x,
                       const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                       void* scratch);
void linear_q8_avx2(const Matrix& w, int64_t row_begin, int64_t row_end, const QuantizedRows& x, const int32_t* x_index,
                    int64_t n_x, float* out, int64_t out_stride, bool accumulate, void* scratch);
void linear_q8_avx512(const Matrix& w, int64_t row_begin, int64_t row_end, const QuantizedRows& x,
                      const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                      void* scratch);

void linear_f32_generic(const Matrix& w, int64_t row_begin, int64_t row_end, const float* x, int64_t x_stride,
                        const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                        void* scratch);
void linear_f32_avx2(const Matrix& w, int64_t row_begin, int64_t row_end, const float* x, int64_t x_stride,
                     const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                     void* scratch);
void linear_f32_avx512(const Matrix& w, int64_t row_begin, int64_t row_end, const float* x, int64_t x_stride,
                       const int32_t* x_index, int64_t n_x, float* out, int64_t out_stride, bool accumulate,
                       void* scratch);

// Scratch of every level: a strip of weights, unpacked.
inline constexpr size_t kLinearScratchBytes = 256 * 1024;

}  // namespace tally::cpu
