#include "backend/cpu/cpu_backend.h"

#include <algorithm>

#include "backend/common/batch_check.h"
#include "backend/common/components.h"
#include "backend/cpu/plan.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/processor.h"
#include "ops/cost.h"
#include "ops/fields.h"

namespace tally::cpu {

namespace {

Isa isa_of(const std::string& name) {
  if (name.empty()) return best_isa();
  for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
    if (name == isa_name(isa)) {
      if (isa > best_isa())
        fail(ErrorCode::Resources, "this processor has no {}; its best level is {}", name, isa_name(best_isa()));
      return isa;
    }
  fail(ErrorCode::Usage, "unknown instruction-set level \"{}\"; expected {}, {} or {}", name, isa_name(Isa::Generic),
       isa_name(Isa::Avx2), isa_name(Isa::Avx512));
}

class CpuBackend : public backend::Backend {
 public:
  explicit CpuBackend(const backend::BackendOptions& options)
      : isa_(isa_of(options.isa)),
        team_(options.n_threads > 0 ? options.n_threads : available_cores()),
        ledger_(options.ledger) {}

  backend::DeviceInfo info() const override {
    return {"cpu", fmt::format("{}, {}, {} threads", processor_name(), isa_name(isa_), team_.size()), team_.size()};
  }
  std::unique_ptr<backend::State> make_state(const ops::Program& program, const backend::Limits& limits) override {
    return std::make_unique<CpuState>(program, limits);
  }
  std::unique_ptr<backend::Plan> compile(const ops::Program& program, const ops::Weights& weights,
                                         backend::State& state, const backend::CompileOptions& options) override {
    auto& cpu_state = dynamic_cast<CpuState&>(state);
    CHECK(cpu_state.exact() == options.exact, "an exact plan needs an exact state");
    auto plan = std::make_unique<CpuPlan>(program, weights, cpu_state, ropes_, isa_, team_.size(), options);
    if (ledger_)
      plan->ledger_plan = ledger_->add_plan(
          fmt::format("{} rows {}{}", program.name, options.max_tokens, backend::instruments_text(options.instruments)),
          plan->text(), plan->steps());
    return plan;
  }

  backend::StepOutput run(backend::Plan& any_plan, const ops::Batch& batch, backend::Observer* observer) override {
    auto& plan = dynamic_cast<CpuPlan&>(any_plan);
    backend::check_batch(
        plan.program(), batch,
        {plan.options().max_tokens, plan.options().max_outputs, plan.state().n_slots(), plan.state().n_pages()});
    ropes_.grow(*std::max_element(batch.positions.begin(), batch.positions.end()));
    size_t n_steps = plan.steps().size();
    bool timed = ledger_ && ledger_->timed();
    plan.times[0] = now_ns();
    if (observer) {
      for (size_t i = 0; i < n_steps; ++i) {
        run_steps(plan, batch, i, i + 1, timed);
        observe(plan, batch, i, *observer);
      }
    } else {
      run_steps(plan, batch, 0, n_steps, timed);
    }
    if (timed)
      record(plan, batch);
    else if (ledger_)
      ledger_->add_untimed_run(plan.ledger_plan, plan.times[0], now_ns(), uint32_t(batch.n_tokens));
    const ops::Program& p = plan.program();
    return {plan.context().value(p.logits), p.hidden ? plan.context().value(p.hidden) : nullptr};
  }

 private:
  void run_steps(CpuPlan& plan, const ops::Batch& batch, size_t first, size_t end, bool timed) {
    team_.run([&](int worker) {
      RunContext r{batch, team_, worker, team_.size(), plan.shared_scratch(), plan.own_scratch(worker)};
      for (size_t i = first; i < end; ++i) {
        plan.step(i).run(r);
        team_.barrier();
        if (timed && worker == 0) plan.times[i + 1] = now_ns();
      }
    });
  }

  // Shows the observer what the step's ops left behind: the outputs of all ops it covers.
  void observe(CpuPlan& plan, const ops::Batch& batch, size_t i, backend::Observer& observer) {
    const ledger::StepInfo& s = plan.steps()[i];
    const ops::Program& p = plan.program();
    for (int op = s.first_op; op < s.first_op + s.n_ops; ++op)
      ops::values_of(p.ops[op], [&](ops::Value v, bool is_output) {
        if (!is_output) return;
        int rows = p.info(v).rows == ops::Rows::Tokens ? batch.n_tokens : batch.n_outputs;
        observer.after_op(op, v, {plan.context().value(v), size_t(rows) * p.info(v).cols});
      });
  }

  void record(CpuPlan& plan, const ops::Batch& batch) {
    const ops::Program& p = plan.program();
    for (size_t i = 0; i < plan.steps().size(); ++i) {
      const ledger::StepInfo& s = plan.steps()[i];
      ledger::Dispatch& d = plan.dispatches[i];
      d = {plan.times[i],
           plan.times[i + 1],
           plan.ledger_plan,
           uint32_t(i),
           plan.kernel_ids[i],
           0,
           uint32_t(batch.n_tokens),
           0,
           0,
           ledger_->n_batches()};
      for (int op = s.first_op; op < s.first_op + s.n_ops; ++op) {
        ops::Cost c =
            ops::cost(p.ops[op], p, plan.weights(), batch, plan.step(i).n_distinct_experts(), plan.options().exact);
        d.bytes += c.bytes();
        d.flops += c.flops;
      }
    }
    ledger_->add_run(plan.ledger_plan, plan.times.front(), plan.times.back(), uint32_t(batch.n_tokens),
                     plan.dispatches);
  }

  Isa isa_;
  ThreadTeam team_;
  RopeCache ropes_;
  ledger::Ledger* ledger_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_cpu_backend(const backend::BackendOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace tally::cpu
