// The generic kernel of every op: its definition in float32, on one worker. Slow and always right; new ops run from
// their first day through it, and `--kernel op=generic` compares with it.
#include <cstring>

#include "backend/cpu/half_cells.h"
#include "backend/cpu/steps_generic.h"
#include "ops/reference_attention.h"
#include "ops/reference_delta.h"
#include "ops/reference_moe.h"

namespace tally::cpu {

namespace {

class CpuEnv : public ops::Env<float> {
 public:
  CpuEnv(const PlanContext& c, const ops::Batch& batch) : c_(c), batch_(batch) {}
  const ops::Program& program() const override { return c_.program; }
  const ops::Batch& batch() const override { return batch_; }
  float* value(ops::Value v) override { return c_.value(v); }
  void weight_row(ops::WeightRef w, int64_t expert, int64_t row, float* out) override {
    c_.weight(w).dequantize_row(expert, row, out);
  }
  float* slot(ops::StateRef s, int slot) override { return c_.state.slot(s, slot); }
  void store_kv(ops::StateRef s, int segment, int position, const float* k, const float* v) override {
    const ops::StateInfo& info = c_.program.info(s);
    int at = position % ops::kPageTokens;
    for (int h = 0; h < info.n_kv_heads; ++h)
      for (int i = 0; i < info.head_dim; ++i) {
        write_cell(c_.state.k_page(s, page(segment, position), h), int64_t(i) * ops::kPageTokens + at,
                   k[h * info.head_dim + i]);
        write_cell(c_.state.v_page(s, page(segment, position), h), int64_t(at) * info.head_dim + i,
                   v[h * info.head_dim + i]);
      }
  }
  void load_k(ops::StateRef s, int segment, int position, int kv_head, float* out) override {
    const void* p = c_.state.k_page(s, page(segment, position), kv_head);
    for (int i = 0; i < c_.program.info(s).head_dim; ++i)
      out[i] = read_cell(p, int64_t(i) * ops::kPageTokens + position % ops::kPageTokens);
  }
  void load_v(ops::StateRef s, int segment, int position, int kv_head, float* out) override {
    const void* p = c_.state.v_page(s, page(segment, position), kv_head);
    int d = c_.program.info(s).head_dim;
    for (int i = 0; i < d; ++i) out[i] = read_cell(p, int64_t(position % ops::kPageTokens) * d + i);
  }

 private:
  int page(int segment, int position) const {
    return batch_.page_table[int64_t(segment) * batch_.max_pages + position / ops::kPageTokens];
  }
  float read_cell(const void* p, int64_t i) const {
    return c_.state.exact() ? static_cast<const float*>(p)[i] : half_at(p, i);
  }
  void write_cell(void* p, int64_t i, float x) const {
    if (c_.state.exact())
      static_cast<float*>(p)[i] = x;
    else
      set_half_at(p, i, x);
  }
  const PlanContext& c_;
  const ops::Batch& batch_;
};

class GenericStep : public Step {
 public:
  GenericStep(const PlanContext& c, int op) : c_(c), op_(c.program.ops[op]) {}
  void run(const RunContext& r) noexcept override {
    if (r.worker != 0) return;
    CpuEnv env(c_, r.batch);
    std::visit([&](const auto& o) { ops::reference<float>(o, env); }, op_);
    if (const ops::Experts* o = std::get_if<ops::Experts>(&op_)) count_experts(*o, r.batch.n_tokens);
  }
  int n_distinct_experts() const override { return n_distinct_; }

 private:
  void count_experts(const ops::Experts& o, int n_tokens) {
    std::vector<bool> seen(o.n_experts);
    for (int t = 0; t < n_tokens; ++t)
      for (int i = 0; i < o.n_used; ++i)
        seen[static_cast<int>(c_.value(o.route)[int64_t(t) * 2 * o.n_used + i])] = true;
    n_distinct_ = static_cast<int>(std::count(seen.begin(), seen.end(), true));
  }
  const PlanContext& c_;
  const ops::Op& op_;
  int n_distinct_ = -1;
};

}  // namespace

std::unique_ptr<Step> bind_generic(const PlanContext& c, int op, int) { return std::make_unique<GenericStep>(c, op); }

}  // namespace tally::cpu
