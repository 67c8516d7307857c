#include "backend/reference/reference_backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "backend/common/batch_check.h"
#include "backend/reference/reference_state.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "ops/cost.h"
#include "ops/fields.h"
#include "ops/reference.h"
#include "ops/reference_attention.h"
#include "ops/reference_delta.h"
#include "ops/reference_moe.h"
#include "ops/segments.h"

namespace tally::reference {
namespace {

using ops::Batch;
using ops::Program;
using ops::StateRef;
using ops::Value;
using ops::WeightRef;

struct ReferencePlan : backend::Plan {
  ReferencePlan(const Program& p, const ops::Weights& w, ReferenceState& s, const backend::CompileOptions& o)
      : program_(p), weights(w), state(s), options(o), values(p.values.size()) {
    for (int i = 0; i < int(p.ops.size()); ++i)
      steps_.push_back(
          {"reference", std::string(name_of(p.ops[i])), std::string(segment_name(p, i)), p.op_layer[i], i});
  }
  const Program& program() const override { return program_; }
  std::span<const ledger::StepInfo> steps() const override { return steps_; }
  uint64_t arena_bytes() const override {
    uint64_t n = 0;
    for (const ops::ValueInfo& v : program_.values)
      n += sizeof(double) * v.cols * (v.rows == ops::Rows::Tokens ? options.max_tokens : options.max_outputs);
    return n;
  }

  const Program& program_;
  const ops::Weights& weights;
  ReferenceState& state;
  backend::CompileOptions options;
  std::vector<ledger::StepInfo> steps_;
  std::vector<std::vector<double>> values;
  std::vector<float> logits, hidden, row, observed;
  uint32_t ledger_plan = 0;
};

class ReferenceEnv : public ops::Env<double> {
 public:
  ReferenceEnv(ReferencePlan& plan, const Batch& batch) : plan_(plan), batch_(batch) {
    for (size_t i = 0; i < plan.values.size(); ++i) {  // whatever is read before it is written shows
      int64_t n = int64_t(rows(Value{int(i)})) * plan.program_.values[i].cols;
      plan.values[i].assign(n, std::numeric_limits<double>::quiet_NaN());
    }
  }
  const Program& program() const override { return plan_.program_; }
  const Batch& batch() const override { return batch_; }
  double* value(Value v) override { return plan_.values[v.id].data(); }
  void weight_row(WeightRef w, int64_t expert, int64_t row, double* out) override {
    const ops::WeightView& view = plan_.weights.views[w.id];
    plan_.row.resize(view.in);
    view.dequantize_row(expert, row, plan_.row.data());
    std::copy(plan_.row.begin(), plan_.row.end(), out);
  }
  double* slot(StateRef s, int slot) override { return plan_.state.slot(s, slot); }
  void store_kv(StateRef s, int segment, int position, const double* k, const double* v) override {
    int64_t n = program().info(s).elements();
    std::copy(k, k + n, plan_.state.k(s, page(segment, position), position % ops::kPageTokens));
    std::copy(v, v + n, plan_.state.v(s, page(segment, position), position % ops::kPageTokens));
  }
  void load_k(StateRef s, int segment, int position, int kv_head, double* out) override {
    int d = program().info(s).head_dim;
    const double* k = plan_.state.k(s, page(segment, position), position % ops::kPageTokens) + kv_head * d;
    std::copy(k, k + d, out);
  }
  void load_v(StateRef s, int segment, int position, int kv_head, double* out) override {
    int d = program().info(s).head_dim;
    const double* v = plan_.state.v(s, page(segment, position), position % ops::kPageTokens) + kv_head * d;
    std::copy(v, v + d, out);
  }

 private:
  int page(int segment, int position) const {
    return batch_.page_table[int64_t(segment) * batch_.max_pages + position / ops::kPageTokens];
  }

  ReferencePlan& plan_;
  const Batch& batch_;
};

// Shows the observer what an op wrote; values that it overwrote are taken over, the others keep their double.
void observe(ReferencePlan& plan, int op, backend::Observer& observer) {
  auto show = [&](Value v) {
    std::vector<double>& values = plan.values[v.id];
    plan.observed.assign(values.begin(), values.end());
    observer.after_op(op, v, plan.observed);
    for (size_t i = 0; i < values.size(); ++i)
      if (plan.observed[i] != static_cast<float>(values[i])) values[i] = plan.observed[i];
  };
  ops::values_of(plan.program_.ops[op], [&](Value v, bool is_output) {
    if (is_output) show(v);
  });
  if (const auto* cap = std::get_if<ops::Softcap>(&plan.program_.ops[op])) show(cap->x);
}

int count_experts(const ops::Op& op, ReferenceEnv& env) {
  const auto* experts = std::get_if<ops::Experts>(&op);
  if (experts == nullptr) return -1;
  std::set<int> distinct;
  for (int t = 0; t < env.rows(experts->route); ++t)
    for (int i = 0; i < experts->n_used; ++i)
      distinct.insert(int(env.value(experts->route)[int64_t(t) * 2 * experts->n_used + i]));
  return int(distinct.size());
}

class ReferenceBackend : public backend::Backend {
 public:
  explicit ReferenceBackend(const backend::BackendOptions& options) : ledger_(options.ledger) {}

  backend::DeviceInfo info() const override { return {"reference", "the definitions in double, one thread", 1}; }

  std::unique_ptr<backend::State> make_state(const Program& program, const backend::Limits& limits) override {
    return std::make_unique<ReferenceState>(program, limits);
  }

  std::unique_ptr<backend::Plan> compile(const Program& program, const ops::Weights& weights, backend::State& state,
                                         const backend::CompileOptions& options) override {
    check_forced(options.forced);
    if (!options.instruments.none())
      fail(ErrorCode::Usage, "reference: takes no inert dispatches and leaves nothing out; use --device cpu");
    CHECK(weights.views.size() == program.weights.size(), "{} weights of {}", weights.views.size(),
          program.weights.size());
    auto* own = dynamic_cast<ReferenceState*>(&state);
    CHECK(own != nullptr, "state of another backend");
    auto plan = std::make_unique<ReferencePlan>(program, weights, *own, options);
    if (ledger_ != nullptr) plan->ledger_plan = ledger_->add_plan("reference", plan->text(), plan->steps());
    return plan;
  }

  backend::StepOutput run(backend::Plan& any_plan, const Batch& batch, backend::Observer* observer) override {
    auto* plan = dynamic_cast<ReferencePlan*>(&any_plan);
    CHECK(plan != nullptr, "plan of another backend");
    backend::check_batch(
        plan->program_, batch,
        {plan->options.max_tokens, plan->options.max_outputs, plan->state.n_slots(), plan->state.n_pages()});
    ReferenceEnv env(*plan, batch);
    dispatches_.clear();
    uint64_t begin = now_ns();
    for (int i = 0; i < int(plan->program_.ops.size()); ++i) run_op(*plan, i, env, observer);
    if (ledger_ != nullptr && ledger_->timed())
      ledger_->add_run(plan->ledger_plan, begin, now_ns(), batch.n_tokens, dispatches_);
    else if (ledger_ != nullptr)
      ledger_->add_untimed_run(plan->ledger_plan, begin, now_ns(), batch.n_tokens);
    auto floats = [&](Value v, std::vector<float>& out) -> const float* {
      if (!v) return nullptr;
      out.assign(plan->values[v.id].begin(), plan->values[v.id].end());
      return out.data();
    };
    return {floats(plan->program_.logits, plan->logits), floats(plan->program_.hidden, plan->hidden)};
  }

 private:
  static void check_forced(const std::string& forced) {
    for (size_t begin = 0; begin < forced.size();) {
      std::string item = forced.substr(begin, forced.find(',', begin) - begin);
      if (item.substr(item.find('=') + 1) != "reference")
        fail(ErrorCode::Usage, "reference: no kernel \"{}\"; the reference backend has one for every op, \"reference\"",
             item);
      begin += item.size() + 1;
    }
  }

  void run_op(ReferencePlan& plan, int i, ReferenceEnv& env, backend::Observer* observer) {
    const ops::Op& op = plan.program_.ops[i];
    uint64_t begin = now_ns();
    std::visit([&](const auto& o) { ops::reference(o, static_cast<ops::Env<double>&>(env)); }, op);
    uint64_t end = now_ns();
    if (ledger_ != nullptr && ledger_->timed()) {
      ops::Cost c = ops::cost(op, plan.program_, plan.weights, env.batch(), count_experts(op, env), plan.options.exact);
      dispatches_.push_back({begin, end, plan.ledger_plan, uint32_t(i), 0, 0, uint32_t(env.batch().n_tokens), c.bytes(),
                             c.flops, ledger_->n_batches()});
    }
    if (observer != nullptr) observe(plan, i, *observer);
  }

  ledger::Ledger* ledger_;
  std::vector<ledger::Dispatch> dispatches_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_reference_backend(const backend::BackendOptions& options) {
  return std::make_unique<ReferenceBackend>(options);
}

}  // namespace tally::reference
