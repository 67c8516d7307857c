// Matrix products: a run of `linear` ops that read the same rows is one step, with the norm or activation before it
// when there is one. The rows are prepared (normed, rounded to 8 bit) once for all of them.
#include <algorithm>

#include "backend/cpu/activations.h"
#include "backend/cpu/step.h"

namespace tally::cpu {

namespace {

constexpr int64_t kColumnBlock = 512;  // activations of one pass: 512 × 2048 bytes stay in a second-level cache

// How many linears from op i on read the same rows x; they must not write what `also_read` names.
int run_of_linears(const PlanContext& c, int i, ops::Value x, ops::Value also_read) {
  int n = 0;
  for (; const ops::Linear* o = c.op<ops::Linear>(i + n); ++n)
    if (!(o->x == x) || o->out == also_read || o->out == x) break;
  return n;
}

int covers_linears(const PlanContext& c, int i) {
  const ops::Linear* first = c.op<ops::Linear>(i);
  return first ? run_of_linears(c, i, first->x, ops::Value{}) : 0;
}

int covers_norm_linears(const PlanContext& c, int i) {
  const ops::RmsNorm* norm = c.op<ops::RmsNorm>(i);
  if (!norm || norm->accumulate) return 0;
  int n = run_of_linears(c, i + 1, norm->out, norm->x);
  return n ? n + 1 : 0;
}

int covers_act_linear(const PlanContext& c, int i) {
  const ops::Swiglu* act = c.op<ops::Swiglu>(i);
  if (!act) return 0;
  int n = run_of_linears(c, i + 1, act->out, act->gate);
  if (n > 0 && c.op<ops::Linear>(i + n)->out == act->up) --n;
  return n ? n + 1 : 0;
}

// Only where at least one product rounds its rows.
template <int (*kCovers)(const PlanContext&, int)>
int covers_q8(const PlanContext& c, int i) {
  int n = kCovers(c, i);
  for (int k = 0; k < n; ++k)
    if (const ops::Linear* o = c.op<ops::Linear>(i + k); o && c.takes_q8(o->w)) return n;
  return 0;
}

class LinearStep : public Step {
 public:
  LinearStep(const PlanContext& c, Activations in, int first, int end, bool q8)
      : in_(std::move(in)), kernels_(c.linear) {
    for (int i = first; i < end; ++i) {
      const ops::Linear& o = *c.op<ops::Linear>(i);
      Product p{matrix_of(c.weight(o.w)), q8 && c.takes_q8(o.w), o.accumulate, c.value(o.out), {}};
      if (o.bias) {
        p.bias.resize(p.w.n);
        const ops::WeightView& bias = c.weight(o.bias);
        for (int64_t r = 0; r < bias.out; ++r) bias.dequantize_row(0, r, &p.bias[r * bias.in]);
      }
      products_.push_back(std::move(p));
    }
  }

  void run(const RunContext& r) noexcept override {
    Activations::Prepared x = in_.prepare(r);
    void* scratch = r.own + in_.own_scratch();
    for (int64_t j = 0; j < x.n; j += kColumnBlock)
      for (const Product& p : products_) multiply(p, x, j, std::min(kColumnBlock, x.n - j), r, scratch);
  }
  uint64_t shared_scratch() const override { return in_.shared_scratch(); }
  uint64_t own_scratch() const override { return in_.own_scratch() + kernels_.scratch_bytes; }

 private:
  struct Product {
    Matrix w;
    bool quantized, accumulate;
    float* out;
    std::vector<float> bias;
  };

  void multiply(const Product& p, const Activations::Prepared& x, int64_t first, int64_t n, const RunContext& r,
                void* scratch) const noexcept {
    Range rows = share(p.w.n, r.worker, r.n_workers, 32);
    if (rows.begin == rows.end) return;
    float* out = p.out + first * p.w.n;
    if (p.quantized)
      kernels_.linear_q8(p.w, rows.begin, rows.end, rows_from(x.q, first), nullptr, n, out, p.w.n, p.accumulate,
                         scratch);
    else
      kernels_.linear_f32(p.w, rows.begin, rows.end, x.x + first * x.stride, x.stride, nullptr, n, out, p.w.n,
                          p.accumulate, scratch);
    if (p.bias.empty()) return;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = rows.begin; i < rows.end; ++i) out[j * p.w.n + i] += p.bias[i];
  }

  Activations in_;
  const LinearKernels& kernels_;
  std::vector<Product> products_;
};

// With kQ8 the products that can round their rows to 8 bit do; without it none does.
template <bool kQ8>
bool any_quantized(const PlanContext& c, int first, int end) {
  for (int i = first; kQ8 && i < end; ++i)
    if (c.takes_q8(c.op<ops::Linear>(i)->w)) return true;
  return false;
}

template <bool kQ8>
std::unique_ptr<Step> bind_linears(const PlanContext& c, int i, int n) {
  return std::make_unique<LinearStep>(c, Activations(c, c.op<ops::Linear>(i)->x, any_quantized<kQ8>(c, i, i + n)), i,
                                      i + n, kQ8);
}
template <bool kQ8>
std::unique_ptr<Step> bind_norm_linears(const PlanContext& c, int i, int n) {
  return std::make_unique<LinearStep>(c, Activations(c, *c.op<ops::RmsNorm>(i), any_quantized<kQ8>(c, i + 1, i + n)),
                                      i + 1, i + n, kQ8);
}
template <bool kQ8>
std::unique_ptr<Step> bind_act_linear(const PlanContext& c, int i, int n) {
  return std::make_unique<LinearStep>(c, Activations(c, *c.op<ops::Swiglu>(i), any_quantized<kQ8>(c, i + 1, i + n)),
                                      i + 1, i + n, kQ8);
}

}  // namespace

std::vector<Kernel> linear_kernels_table() {
  return {{"norm_linears_q8", false, covers_q8<covers_norm_linears>, bind_norm_linears<true>},
          {"act_linears_q8", false, covers_q8<covers_act_linear>, bind_act_linear<true>},
          {"linears_q8", false, covers_q8<covers_linears>, bind_linears<true>},
          {"norm_linears_f32", true, covers_norm_linears, bind_norm_linears<false>},
          {"act_linears_f32", true, covers_act_linear, bind_act_linear<false>},
          {"linears_f32", true, covers_linears, bind_linears<false>}};
}

}  // namespace tally::cpu
