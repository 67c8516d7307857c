// Steps that move or change rows: embedding, norms, activations, select.
#include <cmath>
#include <cstring>

#include "backend/cpu/step.h"

namespace tally::cpu {

std::vector<float> PlanContext::floats_of(ops::WeightRef w) const {
  if (!w) return {};
  const ops::WeightView& view = weight(w);
  std::vector<float> out(view.in * view.out);
  for (int64_t r = 0; r < view.out; ++r) view.dequantize_row(0, r, &out[r * view.in]);
  return out;
}

namespace {

template <typename T>
int covers_one(const PlanContext& c, int i) {
  return c.op<T>(i) ? 1 : 0;
}

// Rows of a value, as a base pointer and a width.
struct RowsOf {
  float* data = nullptr;
  int64_t cols = 0;
  ops::Rows rows = ops::Rows::Tokens;
  RowsOf() = default;
  RowsOf(const PlanContext& c, ops::Value v) : data(c.value(v)), cols(c.cols(v)), rows(c.program.info(v).rows) {}
  float* row(int64_t i) const { return data + i * cols; }
};

class EmbedStep : public Step {
 public:
  EmbedStep(const PlanContext& c, const ops::Embed& o) : w_(c.weight(o.w)), out_(c, o.out), scale_(o.scale) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(r.batch.n_tokens, r.worker, r.n_workers);
    for (int64_t t = range.begin; t < range.end; ++t) {
      w_.dequantize_row(0, r.batch.tokens[t], out_.row(t));
      if (scale_ != 1.f)
        for (int64_t i = 0; i < out_.cols; ++i) out_.row(t)[i] *= scale_;
    }
  }

 private:
  ops::WeightView w_;
  RowsOf out_;
  float scale_;
};

class InputStep : public Step {
 public:
  InputStep(const PlanContext& c, const ops::Input& o) : out_(c, o.out) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(r.batch.n_tokens, r.worker, r.n_workers);
    if (range.end > range.begin)
      std::memcpy(out_.row(range.begin), r.batch.input + range.begin * out_.cols,
                  (range.end - range.begin) * out_.cols * sizeof(float));
  }

 private:
  RowsOf out_;
};

class RmsNormStep : public Step {
 public:
  RmsNormStep(const PlanContext& c, const ops::RmsNorm& o)
      : x_(c, o.x),
        out_(c, o.out),
        w_(c.floats_of(o.w)),
        eps_(o.eps),
        f_(o.accumulate ? c.floats.rms_norm_add : c.floats.rms_norm) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(r.rows(x_.rows), r.worker, r.n_workers);
    for (int64_t t = range.begin; t < range.end; ++t)
      f_(x_.row(t), w_.data(), static_cast<int>(x_.cols), eps_, out_.row(t));
  }

 private:
  RowsOf x_, out_;
  std::vector<float> w_;
  float eps_;
  decltype(FloatKernels::rms_norm) f_;
};

class SwigluStep : public Step {
 public:
  SwigluStep(const PlanContext& c, const ops::Swiglu& o)
      : gate_(c, o.gate),
        up_(c, o.up),
        out_(c, o.out),
        f_(o.act == ops::Activation::Silu ? c.floats.silu_mul : c.floats.gelu_mul) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(r.rows(gate_.rows) * gate_.cols, r.worker, r.n_workers, 64);
    f_(gate_.data + range.begin, up_.data + range.begin, range.end - range.begin, out_.data + range.begin);
  }

 private:
  RowsOf gate_, up_, out_;
  decltype(FloatKernels::silu_mul) f_;
};

class ConcatStep : public Step {
 public:
  ConcatStep(const PlanContext& c, const ops::Concat& o) : a_(c, o.a), b_(c, o.b), out_(c, o.out) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(r.rows(a_.rows), r.worker, r.n_workers);
    for (int64_t t = range.begin; t < range.end; ++t) {
      std::memcpy(out_.row(t), a_.row(t), a_.cols * sizeof(float));
      std::memcpy(out_.row(t) + a_.cols, b_.row(t), b_.cols * sizeof(float));
    }
  }

 private:
  RowsOf a_, b_, out_;
};

class SelectStep : public Step {
 public:
  SelectStep(const PlanContext& c, const ops::Select& o) : x_(c, o.x), out_(c, o.out) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(r.batch.n_outputs, r.worker, r.n_workers);
    for (int64_t m = range.begin; m < range.end; ++m)
      std::memcpy(out_.row(m), x_.row(r.batch.output_row[m]), x_.cols * sizeof(float));
  }

 private:
  RowsOf x_, out_;
};

class SoftcapStep : public Step {
 public:
  SoftcapStep(const PlanContext& c, const ops::Softcap& o) : x_(c, o.x), cap_(o.cap) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(r.rows(x_.rows) * x_.cols, r.worker, r.n_workers, 16);
    for (int64_t i = range.begin; i < range.end; ++i) x_.data[i] = cap_ * std::tanh(x_.data[i] / cap_);
  }

 private:
  RowsOf x_;
  float cap_;
};

template <typename S, typename O>
std::unique_ptr<Step> bind_one(const PlanContext& c, int i, int) {
  return std::make_unique<S>(c, *c.op<O>(i));
}

template <typename S, typename O>
Kernel kernel_of(const char* name) {
  return {name, true, covers_one<O>, bind_one<S, O>};
}

}  // namespace

std::vector<Kernel> basic_kernels() {
  return {kernel_of<EmbedStep, ops::Embed>("embed_f32"),        kernel_of<InputStep, ops::Input>("input_f32"),
          kernel_of<RmsNormStep, ops::RmsNorm>("rms_norm_f32"), kernel_of<SwigluStep, ops::Swiglu>("swiglu_f32"),
          kernel_of<ConcatStep, ops::Concat>("concat_f32"),     kernel_of<SelectStep, ops::Select>("select_f32"),
          kernel_of<SoftcapStep, ops::Softcap>("softcap_f32")};
}

}  // namespace tally::cpu
