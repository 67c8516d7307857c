// Mixture of experts: the router, the routed experts with their tokens grouped by expert (each expert's weights are
// read once per step), and the shared expert.
#include <algorithm>
#include <cstring>

#include "backend/cpu/activations.h"
#include "backend/cpu/step.h"
#include "base/checked.h"
#include "ops/reference_moe.h"

namespace tally::cpu {

namespace {

class RouteStep : public Step {
 public:
  RouteStep(const PlanContext& c, const ops::Route& o, Activations in)
      : o_(o),
        in_(std::move(in)),
        kernels_(c.linear),
        w_(matrix_of(c.weight(o.w))),
        out_(c.value(o.out)),
        max_rows_(c.max_tokens) {
    if (o.bias) {
      bias_.resize(o.n_experts);
      const ops::WeightView& bias = c.weight(o.bias);
      for (int64_t r = 0; r < bias.out; ++r) bias.dequantize_row(0, r, &bias_[r * bias.in]);
    }
    scores_.resize(c.n_workers, std::vector<float>(o.n_experts));
    ids_.resize(c.n_workers, std::vector<int>(o.n_used));
  }

  void run(const RunContext& r) noexcept override {
    Activations::Prepared x = in_.prepare(r);
    float* logits = reinterpret_cast<float*>(r.shared);
    Range rows = share(o_.n_experts, r.worker, r.n_workers, 16);
    if (rows.begin < rows.end)
      kernels_.linear_f32(w_, rows.begin, rows.end, x.x, x.stride, nullptr, x.n, logits, o_.n_experts, false,
                          r.own + in_.own_scratch());
    r.team.barrier();
    Range tokens = share(x.n, r.worker, r.n_workers);
    for (int64_t t = tokens.begin; t < tokens.end; ++t)
      choose(logits + t * o_.n_experts, out_ + t * 2 * o_.n_used, r.worker);
  }
  uint64_t shared_scratch() const override { return uint64_t(max_rows_) * o_.n_experts * sizeof(float); }
  uint64_t own_scratch() const override { return in_.own_scratch() + kernels_.scratch_bytes; }

 private:
  void choose(const float* logits, float* out, int worker) noexcept {
    std::vector<float>& score = scores_[worker];
    score.assign(logits, logits + o_.n_experts);
    ops::route_scores(o_.score, score);
    int* ids = ids_[worker].data();
    if (o_.n_groups > 1 || !bias_.empty())
      ops::choose_experts(o_, score, bias_, ids, out + o_.n_used);
    else
      top_experts(score, ids, out + o_.n_used);
    for (int i = 0; i < o_.n_used; ++i) out[i] = float(ids[i]);
  }

  // choose_experts without groups and bias: n_used passes, no sorting.
  void top_experts(std::vector<float>& score, int* ids, float* weights) const noexcept {
    float sum = 0;
    for (int i = 0; i < o_.n_used; ++i) {
      int best = 0;
      for (int e = 1; e < o_.n_experts; ++e)
        if (score[e] > score[best]) best = e;
      ids[i] = best;
      sum += weights[i] = score[best];
      score[best] = -1.f;
    }
    float factor = o_.scale / (o_.normalize ? std::max(sum, 6.103515625e-5f) : 1.f);
    for (int i = 0; i < o_.n_used; ++i) weights[i] *= factor;
  }

  ops::Route o_;
  Activations in_;
  const LinearKernels& kernels_;
  Matrix w_;
  std::vector<float> bias_;
  float* out_;
  int max_rows_;
  std::vector<std::vector<float>> scores_;
  std::vector<std::vector<int>> ids_;
};

// gate, up → act(gate)·up → down, for experts of one layer.
class ExpertsStep : public Step {
 public:
  ExpertsStep(const PlanContext& c, const ops::Experts& o)
      : o_(o),
        in_(c, o.x, c.takes_q8(o.gate) || c.takes_q8(o.up)),
        kernels_(c.linear),
        floats_(c.floats),
        gate_(c.weight(o.gate)),
        up_(c.weight(o.up)),
        down_(c.weight(o.down)),
        gate_q8_(c.takes_q8(o.gate)),
        up_q8_(c.takes_q8(o.up)),
        down_q8_(c.takes_q8(o.down)),
        route_(c.value(o.route)),
        out_(c.value(o.out)),
        hidden_(c.cols(o.x)),
        max_tokens_(c.max_tokens) {
    int64_t n = int64_t(max_tokens_) * o.n_used;
    start_.resize(o.n_experts + 1);
    active_.reserve(o.n_experts);
    token_.resize(n);
    weight_.resize(n);
    strip_ = std::max<int64_t>(32, std::min<int64_t>(128, (o.intermediate_size / c.n_workers + 31) / 32 * 32));
    h_bytes_ = round_up(uint64_t(n) * o.intermediate_size * sizeof(float), 64);
    q_bytes_ = down_q8_ ? quantized_rows_bytes(n, o.intermediate_size) : 0;
    tile_ = round_up(uint64_t(max_tokens_) * std::max(strip_, kDownStrip) * sizeof(float), 64);
  }

  void run(const RunContext& r) noexcept override {
    if (r.worker == 0) group(r.batch.n_tokens);
    Activations::Prepared x = in_.prepare(r);
    r.team.barrier();
    char* base = r.shared + round_up(in_.shared_scratch(), 64);
    float* h = reinterpret_cast<float*>(base);
    gate_and_up(r, x, h);
    r.team.barrier();
    int64_t n = int64_t(r.batch.n_tokens) * o_.n_used, f = o_.intermediate_size;
    QuantizedRows q{};
    if (down_q8_) {
      q = quantized_rows_at(base + h_bytes_, n, f);
      Range rows = share(n, r.worker, r.n_workers);
      kernels_.quantize_rows(h, f, rows.begin, rows.end, q);
      r.team.barrier();
    }
    down(r, h, q);
  }
  uint64_t shared_scratch() const override { return round_up(in_.shared_scratch(), 64) + h_bytes_ + q_bytes_; }
  uint64_t own_scratch() const override { return in_.own_scratch() + 2 * tile_ + kernels_.scratch_bytes; }
  int n_distinct_experts() const override { return static_cast<int>(active_.size()); }

 private:
  static constexpr int64_t kDownStrip = 256;
  // Sorts (token, choice) pairs by expert: counting sort, once per layer.
  void group(int n_tokens) noexcept {
    std::fill(start_.begin(), start_.end(), 0);
    auto expert = [&](int t, int i) { return static_cast<int>(route_[int64_t(t) * 2 * o_.n_used + i]); };
    for (int t = 0; t < n_tokens; ++t)
      for (int i = 0; i < o_.n_used; ++i) ++start_[expert(t, i) + 1];
    active_.clear();
    for (int e = 0; e < o_.n_experts; ++e) {
      if (start_[e + 1] > 0) active_.push_back(e);
      start_[e + 1] += start_[e];
    }
    for (int t = 0; t < n_tokens; ++t)
      for (int i = 0; i < o_.n_used; ++i) {
        int at = start_[expert(t, i)]++;
        token_[at] = t;
        weight_[at] = route_[int64_t(t) * 2 * o_.n_used + o_.n_used + i];
      }
    for (int e = o_.n_experts; e > 0; --e) start_[e] = start_[e - 1];
    start_[0] = 0;
  }

  void product(const Matrix& m, bool q8, Range rows, const Activations::Prepared& x, const int32_t* index, int64_t n,
               float* out, void* scratch) const noexcept {
    float* shifted = out - rows.begin;  // the kernels write column r of a row at out[r]
    int64_t stride = rows.end - rows.begin;
    if (q8)
      kernels_.linear_q8(m, rows.begin, rows.end, x.q, index, n, shifted, stride, false, scratch);
    else
      kernels_.linear_f32(m, rows.begin, rows.end, x.x, x.stride, index, n, shifted, stride, false, scratch);
  }

  void gate_and_up(const RunContext& r, const Activations::Prepared& x, float* h) const noexcept {
    int64_t f = o_.intermediate_size, strips = (f + strip_ - 1) / strip_, item = 0;
    float* gate = reinterpret_cast<float*>(r.own + in_.own_scratch());
    float* up = reinterpret_cast<float*>(r.own + in_.own_scratch() + tile_);
    void* scratch = r.own + in_.own_scratch() + 2 * tile_;
    for (int e : active_) {
      int64_t first = start_[e], n = start_[e + 1] - first;
      for (int64_t s = 0; s < strips; ++s, ++item) {
        if (item % r.n_workers != r.worker) continue;
        Range rows{s * strip_, std::min(f, (s + 1) * strip_)};
        int64_t width = rows.end - rows.begin;
        product(matrix_of(gate_, e), gate_q8_, rows, x, &token_[first], n, gate, scratch);
        product(matrix_of(up_, e), up_q8_, rows, x, &token_[first], n, up, scratch);
        for (int64_t j = 0; j < n; ++j)
          floats_.silu_mul(gate + j * width, up + j * width, width, h + (first + j) * f + rows.begin);
      }
    }
  }

  // Every worker owns a range of hidden columns, so sums over experts meet in no other worker's rows; experts are added
  // in the order of their index whatever the batch.
  void down(const RunContext& r, const float* h, const QuantizedRows& q) const noexcept {
    Range own = share(hidden_, r.worker, r.n_workers, 32);
    float* tile = reinterpret_cast<float*>(r.own + in_.own_scratch());
    void* scratch = r.own + in_.own_scratch() + 2 * tile_;
    if (!o_.accumulate)
      for (int t = 0; t < r.batch.n_tokens; ++t)
        std::fill(out_ + t * hidden_ + own.begin, out_ + t * hidden_ + own.end, 0.f);
    for (int e : active_) {
      int64_t first = start_[e], n = start_[e + 1] - first;
      Activations::Prepared x{h + first * o_.intermediate_size, o_.intermediate_size,
                              down_q8_ ? rows_from(q, first) : q, n};
      for (int64_t c = own.begin; c < own.end; c += kDownStrip) {
        Range rows{c, std::min(own.end, c + kDownStrip)};
        int64_t width = rows.end - rows.begin;
        product(matrix_of(down_, e), down_q8_, rows, x, nullptr, n, tile, scratch);
        for (int64_t j = 0; j < n; ++j)
          floats_.add_scaled(tile + j * width, weight_[first + j], width, out_ + token_[first + j] * hidden_ + c);
      }
    }
  }

  ops::Experts o_;
  Activations in_;
  const LinearKernels& kernels_;
  const FloatKernels& floats_;
  ops::WeightView gate_, up_, down_;
  bool gate_q8_, up_q8_, down_q8_;
  const float* route_;
  float* out_;
  int64_t hidden_;
  int max_tokens_;
  int64_t strip_;
  uint64_t h_bytes_, q_bytes_, tile_;
  std::vector<int32_t> start_, token_;  // by expert: first pair; pairs: token
  std::vector<float> weight_;           // pairs: mixing weight
  std::vector<int> active_;
};

class SharedExpertStep : public Step {
 public:
  SharedExpertStep(const PlanContext& c, const ops::SharedExpert& o)
      : o_(o),
        in_(c, o.x, c.takes_q8(o.gate) || c.takes_q8(o.up)),
        kernels_(c.linear),
        floats_(c.floats),
        gate_(matrix_of(c.weight(o.gate))),
        up_(matrix_of(c.weight(o.up))),
        down_(matrix_of(c.weight(o.down))),
        gate_q8_(c.takes_q8(o.gate)),
        up_q8_(c.takes_q8(o.up)),
        down_q8_(c.takes_q8(o.down)),
        out_(c.value(o.out)),
        hidden_(c.cols(o.x)),
        max_tokens_(c.max_tokens) {
    if (o.gate_input) {
      gate_input_.resize(hidden_);
      const ops::WeightView& w = c.weight(o.gate_input);
      for (int64_t r = 0; r < w.out; ++r) w.dequantize_row(0, r, &gate_input_[r * w.in]);
    }
    h_bytes_ = round_up(uint64_t(max_tokens_) * o.intermediate_size * sizeof(float), 64);
    q_bytes_ = down_q8_ ? quantized_rows_bytes(max_tokens_, o.intermediate_size) : 0;
    y_bytes_ = round_up(uint64_t(max_tokens_) * hidden_ * sizeof(float), 64);
  }

  void run(const RunContext& r) noexcept override {
    Activations::Prepared x = in_.prepare(r);
    char* base = r.shared + round_up(in_.shared_scratch(), 64);
    float *h = reinterpret_cast<float*>(base), *u = reinterpret_cast<float*>(base + h_bytes_);
    float* y = reinterpret_cast<float*>(base + 2 * h_bytes_ + q_bytes_);
    void* scratch = r.own + in_.own_scratch();
    int64_t f = o_.intermediate_size, n = r.batch.n_tokens;
    Range rows = share(f, r.worker, r.n_workers, 32);
    product(gate_, gate_q8_, rows, x, h, f, scratch);
    product(up_, up_q8_, rows, x, u, f, scratch);
    for (int64_t j = 0; j < n; ++j)
      floats_.silu_mul(h + j * f + rows.begin, u + j * f + rows.begin, rows.end - rows.begin, h + j * f + rows.begin);
    r.team.barrier();
    Activations::Prepared hidden{h, f, {}, n};
    if (down_q8_) {
      hidden.q = quantized_rows_at(base + 2 * h_bytes_, n, f);
      Range tokens = share(n, r.worker, r.n_workers);
      kernels_.quantize_rows(h, f, tokens.begin, tokens.end, hidden.q);
      r.team.barrier();
    }
    Range own = share(hidden_, r.worker, r.n_workers, 32);
    product(down_, down_q8_, own, hidden, y, hidden_, scratch);
    for (int64_t t = 0; t < n; ++t) add_row(x.x + t * x.stride, y + t * hidden_, own, out_ + t * hidden_);
  }
  uint64_t shared_scratch() const override {
    return round_up(in_.shared_scratch(), 64) + 2 * h_bytes_ + q_bytes_ + y_bytes_;
  }
  uint64_t own_scratch() const override { return in_.own_scratch() + kernels_.scratch_bytes; }

 private:
  void product(const Matrix& m, bool q, Range rows, const Activations::Prepared& x, float* out, int64_t stride,
               void* scratch) const noexcept {
    if (rows.begin == rows.end) return;
    if (q)
      kernels_.linear_q8(m, rows.begin, rows.end, x.q, nullptr, x.n, out, stride, false, scratch);
    else
      kernels_.linear_f32(m, rows.begin, rows.end, x.x, x.stride, nullptr, x.n, out, stride, false, scratch);
  }

  void add_row(const float* x, const float* y, Range own, float* out) const noexcept {
    float factor = 1.f;
    if (!gate_input_.empty()) factor = float(ops::sigmoid(floats_.dot(x, gate_input_.data(), hidden_)));
    if (!o_.accumulate) std::fill(out + own.begin, out + own.end, 0.f);
    floats_.add_scaled(y + own.begin, factor, own.end - own.begin, out + own.begin);
  }

  ops::SharedExpert o_;
  Activations in_;
  const LinearKernels& kernels_;
  const FloatKernels& floats_;
  Matrix gate_, up_, down_;
  bool gate_q8_, up_q8_, down_q8_;
  float* out_;
  int64_t hidden_;
  int max_tokens_;
  std::vector<float> gate_input_;
  uint64_t h_bytes_, q_bytes_, y_bytes_;
};

int covers_norm_route(const PlanContext& c, int i) {
  const ops::RmsNorm* norm = c.op<ops::RmsNorm>(i);
  const ops::Route* route = c.op<ops::Route>(i + 1);
  return norm && !norm->accumulate && route && route->x == norm->out ? 2 : 0;
}
std::unique_ptr<Step> bind_norm_route(const PlanContext& c, int i, int) {
  return std::make_unique<RouteStep>(c, *c.op<ops::Route>(i + 1), Activations(c, *c.op<ops::RmsNorm>(i), false));
}
int covers_route(const PlanContext& c, int i) { return c.op<ops::Route>(i) != nullptr; }
std::unique_ptr<Step> bind_route(const PlanContext& c, int i, int) {
  const ops::Route& o = *c.op<ops::Route>(i);
  return std::make_unique<RouteStep>(c, o, Activations(c, o.x, false));
}
int covers_experts(const PlanContext& c, int i) { return c.op<ops::Experts>(i) != nullptr; }
int covers_experts_q8(const PlanContext& c, int i) {
  const ops::Experts* o = c.op<ops::Experts>(i);
  return o && c.takes_q8(o->gate);
}
std::unique_ptr<Step> bind_experts(const PlanContext& c, int i, int) {
  return std::make_unique<ExpertsStep>(c, *c.op<ops::Experts>(i));
}
int covers_shared(const PlanContext& c, int i) { return c.op<ops::SharedExpert>(i) != nullptr; }
int covers_shared_q8(const PlanContext& c, int i) {
  const ops::SharedExpert* o = c.op<ops::SharedExpert>(i);
  return o && c.takes_q8(o->gate);
}
std::unique_ptr<Step> bind_shared(const PlanContext& c, int i, int) {
  return std::make_unique<SharedExpertStep>(c, *c.op<ops::SharedExpert>(i));
}

}  // namespace

std::vector<Kernel> moe_kernels() {
  return {{"norm_route_f32", true, covers_norm_route, bind_norm_route},
          {"route_f32", true, covers_route, bind_route},
          {"experts_q8", false, covers_experts_q8, bind_experts},
          {"experts_f32", true, covers_experts, bind_experts},
          {"shared_expert_q8", false, covers_shared_q8, bind_shared},
          {"shared_expert_f32", true, covers_shared, bind_shared}};
}

}  // namespace tally::cpu
