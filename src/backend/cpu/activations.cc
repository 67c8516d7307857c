#include "backend/cpu/activations.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace tally::cpu {

Activations::Activations(const PlanContext& c, ops::Value x, ops::Value out, bool quantized)
    : linear_(c.linear),
      floats_(c.floats),
      x_(c.value(x)),
      rows_(c.program.info(x).rows),
      cols_(c.cols(x)),
      quantized_(quantized) {
  if (out) out_ = c.value(out);
  int64_t few = std::min(c.n_workers - 1, c.max_rows(x));  // fewer rows than workers: each worker for itself
  if (quantized) bytes_ = quantized_rows_bytes(c.max_rows(x), cols_);
  own_quantized_ = round_up(few * cols_ * sizeof(float), 64);
  small_bytes_ = own_quantized_ + (quantized && few > 0 ? quantized_rows_bytes(few, cols_) : 0);
}

Activations::Activations(const PlanContext& c, ops::Value x, bool quantized)
    : Activations(c, x, ops::Value{}, quantized) {}

Activations::Activations(const PlanContext& c, const ops::RmsNorm& norm, bool quantized)
    : Activations(c, norm.x, norm.out, quantized) {
  norm_.resize(cols_);
  c.weight(norm.w).dequantize_row(0, 0, norm_.data());
  eps_ = norm.eps;
}

Activations::Activations(const PlanContext& c, const ops::Swiglu& act, bool quantized)
    : Activations(c, act.gate, act.out, quantized) {
  up_ = c.value(act.up);
  act_ = act.act;
}

void Activations::make_rows(int64_t begin, int64_t end, float* to) const {
  const float* x = x_ + begin * cols_;
  if (up_) {
    auto f = act_ == ops::Activation::Silu ? floats_.silu_mul : floats_.gelu_mul;
    return f(x, up_ + begin * cols_, (end - begin) * cols_, to);
  }
  for (int64_t t = begin; t < end; ++t, x += cols_, to += cols_)
    floats_.rms_norm(x, norm_.data(), static_cast<int>(cols_), eps_, to);
}

Activations::Prepared Activations::prepare(const RunContext& r) const {
  Prepared p;
  p.n = r.rows(rows_);
  p.stride = cols_;
  p.x = out_ ? out_ : x_;
  if (p.n < r.n_workers) {
    if (out_) {
      float* own = r.worker == 0 ? out_ : reinterpret_cast<float*>(r.own);
      make_rows(0, p.n, own);
      p.x = own;
    }
    if (quantized_) {
      p.q = quantized_rows_at(r.own + own_quantized_, p.n, cols_);
      linear_.quantize_rows(p.x, cols_, 0, p.n, p.q);
    }
    return p;
  }
  Range range = share(p.n, r.worker, r.n_workers);
  if (out_) make_rows(range.begin, range.end, out_ + range.begin * cols_);
  if (quantized_) {
    p.q = quantized_rows_at(r.shared, p.n, cols_);
    linear_.quantize_rows(p.x, cols_, range.begin, range.end, p.q);
  }
  if (out_ || quantized_) r.team.barrier();
  return p;
}

QuantizedRows rows_from(const QuantizedRows& all, int64_t first) {
  QuantizedRows q = all;
  int64_t units = first * (q.k_padded / 256);  // of 256 codes
  q.codes += units * 256;
  q.zeros += units * 256;
  q.factors += units * 16;
  q.half_sums += units * 16;
  q.offsets += units * 8;
  q.half_offsets += units * 16;
  return q;
}

}  // namespace tally::cpu
