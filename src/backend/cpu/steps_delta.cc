// The recurrent ops: short convolution, gated delta rule and gated norm, each alone and the three as one step. In the
// fused step a worker owns whole key heads with their value heads, so no barrier stands between the parts.
#include <cmath>

#include "backend/cpu/step.h"
#include "base/checked.h"
#include "ops/reference.h"

namespace tally::cpu {

namespace {

// Where to keep the state after each token of a segment; fills `where` and returns it, or null when nowhere.
float* const* checkpoints(const CpuState& state, ops::StateRef ref, const ops::Batch& b, int segment, float** where) {
  if (b.checkpoint_slot.empty()) return nullptr;
  bool any = false;
  for (int t = b.segment_start[segment]; t < b.segment_start[segment + 1]; ++t) {
    int slot = b.checkpoint_slot[t];
    where[t - b.segment_start[segment]] = slot < 0 ? nullptr : state.slot(ref, slot);
    any |= slot >= 0;
  }
  return any ? where : nullptr;
}

class ConvPart {
 public:
  ConvPart(const PlanContext& c, const ops::ShortConv& o)
      : o_(o),
        state_(c.state),
        x_(c.value(o.x)),
        out_(c.value(o.out)),
        w_(c.floats_of(o.w)),
        x_cols_(c.cols(o.x)),
        f_(o.kind == ops::ConvKind::Silu ? c.floats.conv_silu : c.floats.conv_gated) {}

  void run(const ops::Batch& b, int s, int c_begin, int c_end, float** where) const noexcept {
    int64_t first = b.segment_start[s];
    f_(x_ + first * x_cols_, x_cols_, w_.data(), o_.taps, o_.channels, c_begin, c_end, b.segment_length(s),
       state_.slot(o_.state, b.slot[s]), checkpoints(state_, o_.state, b, s, where), out_ + first * o_.channels,
       o_.channels);
  }
  int channels() const { return o_.channels; }

 private:
  ops::ShortConv o_;
  CpuState& state_;
  const float* x_;
  float* out_;
  std::vector<float> w_;
  int64_t x_cols_;
  decltype(FloatKernels::conv_silu) f_;
};

class DeltaPart {
 public:
  DeltaPart(const PlanContext& c, const ops::GatedDelta& o)
      : o_(o),
        state_(c.state),
        f_(c.floats.delta),
        qkv_(c.value(o.qkv)),
        alpha_(c.value(o.alpha)),
        beta_(c.value(o.beta)),
        out_(c.value(o.out)),
        a_(c.floats_of(o.a)),
        dt_(c.floats_of(o.dt_bias)),
        cols_(c.cols(o.qkv)) {}

  // scratch: [scratch_floats(n_tokens)]
  void run(const ops::Batch& b, int s, int head, float** where, float* scratch) const noexcept {
    int d = o_.head_dim, kh = head % o_.n_k_heads, n = b.segment_length(s);
    int64_t first = b.segment_start[s], cell = int64_t(head) * d * d;
    float *decay = scratch, *beta = scratch + n;
    for (int t = 0; t < n; ++t) {
      int64_t i = (first + t) * o_.n_v_heads + head;
      decay[t] = std::exp(a_[head] * ops::softplus(alpha_[i] + dt_[head]));
      beta[t] = ops::sigmoid(beta_[i]);
    }
    DeltaTask task;
    const float* row = qkv_ + first * cols_;
    task.q = row + kh * d, task.k = row + (o_.n_k_heads + kh) * d, task.v = row + (2 * o_.n_k_heads + head) * d;
    task.qk_stride = task.v_stride = cols_;
    task.decay = decay, task.beta = beta, task.gate_stride = 1;
    task.n_tokens = n, task.head_dim = d, task.value_end = d, task.eps = o_.eps;
    task.m = state_.slot(o_.state, b.slot[s]) + cell;
    task.out = out_ + first * o_.n_v_heads * d + head * d, task.out_stride = int64_t(o_.n_v_heads) * d;
    if (float* const* keep = checkpoints(state_, o_.state, b, s, where)) {
      for (int t = 0; t < n; ++t) where[t] = keep[t] ? keep[t] + cell : nullptr;
      task.checkpoint = where;
    }
    task.scratch = scratch + round_up(2 * n, 16);
    f_(task);
  }
  int64_t scratch_floats(int n_tokens) const {
    return round_up(2 * n_tokens, 16) + delta_scratch_floats(n_tokens, o_.head_dim);
  }
  const ops::GatedDelta& op() const { return o_; }

 private:
  ops::GatedDelta o_;
  CpuState& state_;
  decltype(FloatKernels::delta) f_;
  const float *qkv_, *alpha_, *beta_;
  float* out_;
  std::vector<float> a_, dt_;
  int64_t cols_;
};

class NormPart {
 public:
  NormPart(const PlanContext& c, const ops::GatedNorm& o)
      : o_(o),
        f_(c.floats.rms_norm_silu),
        x_(c.value(o.x)),
        z_(c.value(o.z)),
        out_(c.value(o.out)),
        w_(c.floats_of(o.w)),
        cols_(c.cols(o.x)) {}
  void run(int64_t token, int head) const noexcept {
    int64_t at = token * cols_ + int64_t(head) * o_.head_dim;
    f_(x_ + at, w_.data(), z_ + at, o_.head_dim, o_.eps, out_ + at);
  }
  int n_heads() const { return static_cast<int>(cols_ / o_.head_dim); }

 private:
  ops::GatedNorm o_;
  decltype(FloatKernels::rms_norm_silu) f_;
  const float *x_, *z_;
  float* out_;
  std::vector<float> w_;
  int64_t cols_;
};

uint64_t pointers(int max_tokens) { return round_up(sizeof(float*) * max_tokens, 64); }

class ConvStep : public Step {
 public:
  ConvStep(const PlanContext& c, const ops::ShortConv& o) : conv_(c, o), max_tokens_(c.max_tokens) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(conv_.channels(), r.worker, r.n_workers, 16);
    for (int s = 0; s < r.batch.n_segments && range.begin < range.end; ++s)
      conv_.run(r.batch, s, static_cast<int>(range.begin), static_cast<int>(range.end),
                reinterpret_cast<float**>(r.own));
  }
  uint64_t own_scratch() const override { return pointers(max_tokens_); }

 private:
  ConvPart conv_;
  int max_tokens_;
};

class DeltaStep : public Step {
 public:
  DeltaStep(const PlanContext& c, const ops::GatedDelta& o) : delta_(c, o), max_tokens_(c.max_tokens) {}
  void run(const RunContext& r) noexcept override {
    int64_t task = 0;
    for (int s = 0; s < r.batch.n_segments; ++s)
      for (int h = 0; h < delta_.op().n_v_heads; ++h, ++task)
        if (task % r.n_workers == r.worker)
          delta_.run(r.batch, s, h, reinterpret_cast<float**>(r.own),
                     reinterpret_cast<float*>(r.own + pointers(max_tokens_)));
  }
  uint64_t own_scratch() const override {
    return pointers(max_tokens_) + delta_.scratch_floats(max_tokens_) * sizeof(float);
  }

 private:
  DeltaPart delta_;
  int max_tokens_;
};

class GatedNormStep : public Step {
 public:
  GatedNormStep(const PlanContext& c, const ops::GatedNorm& o) : norm_(c, o) {}
  void run(const RunContext& r) noexcept override {
    Range range = share(int64_t(r.batch.n_tokens) * norm_.n_heads(), r.worker, r.n_workers);
    for (int64_t i = range.begin; i < range.end; ++i)
      norm_.run(i / norm_.n_heads(), static_cast<int>(i % norm_.n_heads()));
  }

 private:
  NormPart norm_;
};

class ConvDeltaNormStep : public Step {
 public:
  ConvDeltaNormStep(const PlanContext& c, const ops::ShortConv& conv, const ops::GatedDelta& delta,
                    const ops::GatedNorm& norm)
      : conv_(c, conv), delta_(c, delta), norm_(c, norm), max_tokens_(c.max_tokens) {}
  void run(const RunContext& r) noexcept override {
    const ops::Batch& b = r.batch;
    const ops::GatedDelta& o = delta_.op();
    float** where = reinterpret_cast<float**>(r.own);
    float* scratch = reinterpret_cast<float*>(r.own + pointers(max_tokens_));
    int task = 0;
    for (int s = 0; s < b.n_segments; ++s)
      for (int kh = 0; kh < o.n_k_heads; ++kh, ++task) {
        if (task % r.n_workers != r.worker) continue;
        conv_head(b, s, kh, where);
        conv_head(b, s, o.n_k_heads + kh, where);
        for (int h = kh; h < o.n_v_heads; h += o.n_k_heads) {
          conv_head(b, s, 2 * o.n_k_heads + h, where);
          delta_.run(b, s, h, where, scratch);
          for (int t = b.segment_start[s]; t < b.segment_start[s + 1]; ++t) norm_.run(t, h);
        }
      }
  }
  uint64_t own_scratch() const override {
    return pointers(max_tokens_) + delta_.scratch_floats(max_tokens_) * sizeof(float);
  }

 private:
  void conv_head(const ops::Batch& b, int s, int index, float** where) const noexcept {
    int d = delta_.op().head_dim;
    conv_.run(b, s, index * d, (index + 1) * d, where);
  }

  ConvPart conv_;
  DeltaPart delta_;
  NormPart norm_;
  int max_tokens_;
};

bool fits(const ops::GatedDelta& o) { return o.head_dim % 8 == 0 && o.head_dim <= 256; }

int covers_all(const PlanContext& c, int i) {
  const ops::ShortConv* conv = c.op<ops::ShortConv>(i);
  const ops::GatedDelta* delta = c.op<ops::GatedDelta>(i + 1);
  const ops::GatedNorm* norm = c.op<ops::GatedNorm>(i + 2);
  if (!conv || !delta || !norm || conv->kind != ops::ConvKind::Silu || !(delta->qkv == conv->out) ||
      !(norm->x == delta->out))
    return 0;
  return fits(*delta) && norm->head_dim == delta->head_dim ? 3 : 0;
}
std::unique_ptr<Step> bind_all(const PlanContext& c, int i, int) {
  return std::make_unique<ConvDeltaNormStep>(c, *c.op<ops::ShortConv>(i), *c.op<ops::GatedDelta>(i + 1),
                                             *c.op<ops::GatedNorm>(i + 2));
}
int covers_conv(const PlanContext& c, int i) { return c.op<ops::ShortConv>(i) != nullptr; }
std::unique_ptr<Step> bind_conv(const PlanContext& c, int i, int) {
  return std::make_unique<ConvStep>(c, *c.op<ops::ShortConv>(i));
}
int covers_delta(const PlanContext& c, int i) {
  const ops::GatedDelta* o = c.op<ops::GatedDelta>(i);
  return o && fits(*o);
}
std::unique_ptr<Step> bind_delta(const PlanContext& c, int i, int) {
  return std::make_unique<DeltaStep>(c, *c.op<ops::GatedDelta>(i));
}
int covers_norm(const PlanContext& c, int i) { return c.op<ops::GatedNorm>(i) != nullptr; }
std::unique_ptr<Step> bind_norm(const PlanContext& c, int i, int) {
  return std::make_unique<GatedNormStep>(c, *c.op<ops::GatedNorm>(i));
}

}  // namespace

std::vector<Kernel> delta_kernels() {
  return {{"conv_delta_norm_f32", true, covers_all, bind_all},
          {"short_conv_f32", true, covers_conv, bind_conv},
          {"gated_delta_f32", true, covers_delta, bind_delta},
          {"gated_norm_f32", true, covers_norm, bind_norm}};
}

}  // namespace tally::cpu
