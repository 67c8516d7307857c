// The rows that matrix products read: an optional norm or activation first, then rounding to 8 bit where a product
// wants it. With fewer rows than workers every worker prepares all rows for itself, which is cheaper than a barrier.
#pragma once

#include <vector>

#include "backend/cpu/step.h"

namespace tally::cpu {

class Activations {
 public:
  struct Prepared {
    const float* x = nullptr;  // [n × stride]
    int64_t stride = 0;
    QuantizedRows q{};  // when asked for
    int64_t n = 0;
  };

  // Rows of a value as they are.
  Activations(const PlanContext& c, ops::Value x, bool quantized);
  // Rows after a norm (not accumulating) or after gate and up; the op's own output value is filled too.
  Activations(const PlanContext& c, const ops::RmsNorm& norm, bool quantized);
  Activations(const PlanContext& c, const ops::Swiglu& act, bool quantized);

  // Called by every worker. May contain a barrier.
  Prepared prepare(const RunContext& r) const;
  uint64_t shared_scratch() const { return bytes_; }
  uint64_t own_scratch() const { return small_bytes_; }
  int64_t cols() const { return cols_; }
  ops::Rows rows() const { return rows_; }

 private:
  Activations(const PlanContext& c, ops::Value x, ops::Value out, bool quantized);
  void make_rows(int64_t begin, int64_t end, float* to) const;  // to: row `begin` … of the result

  const LinearKernels& linear_;
  const FloatKernels& floats_;
  const float* x_;
  const float* up_ = nullptr;
  float* out_ = nullptr;  // where the made rows belong; null: rows are used as they are
  std::vector<float> norm_;
  float eps_ = 0;
  ops::Activation act_ = ops::Activation::Silu;
  ops::Rows rows_;
  int64_t cols_ = 0;
  bool quantized_ = false;
  uint64_t bytes_ = 0, small_bytes_ = 0,
           own_quantized_ = 0;  // scratch: shared, own, and where 8-bit rows begin in the latter
};

// Rows [first, …) of quantised rows.
QuantizedRows rows_from(const QuantizedRows& q, int64_t first);

// Matrix of one expert (or of a plain weight).
inline Matrix matrix_of(const ops::WeightView& w, int64_t expert = 0) {
  return {w.row(expert, 0), w.type, w.in, w.out, w.row_bytes};
}

}  // namespace tally::cpu
