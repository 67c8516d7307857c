// A Program covered by kernels and bound to memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/step.h"

namespace tally::cpu {

class CpuPlan : public backend::Plan {
 public:
  CpuPlan(const ops::Program& program, const ops::Weights& weights, CpuState& state, RopeCache& ropes, Isa isa,
          int n_workers, const backend::CompileOptions& options);
  ~CpuPlan() override;

  const ops::Program& program() const override { return context_.program; }
  std::span<const ledger::StepInfo> steps() const override { return infos_; }
  uint64_t arena_bytes() const override { return arena_bytes_; }

  const PlanContext& context() const { return context_; }
  const backend::CompileOptions& options() const { return options_; }
  CpuState& state() const { return context_.state; }
  Step& step(size_t i) const { return *bound_[i]; }
  char* shared_scratch() const { return shared_; }
  char* own_scratch(int worker) const { return own_ + uint64_t(worker) * own_bytes_; }
  const ops::Weights& weights() const { return context_.weights; }

  uint32_t ledger_plan = 0;                  // number in the ledger
  std::vector<uint64_t> times;               // [steps + 1], step boundaries of the last run
  std::vector<ledger::Dispatch> dispatches;  // [steps], of the last run
  std::vector<uint16_t> kernel_ids;          // [steps], index among the plan's distinct kernels

 private:
  void cover(Isa isa);
  void leave_out();
  void add_inert();
  void lay_out();

  PlanContext context_;
  backend::CompileOptions options_;
  std::vector<const Kernel*> chosen_;  // [steps]
  std::vector<Kernel> table_;
  std::vector<ledger::StepInfo> infos_;
  std::vector<bool> left_out_;  // [values]: defined by ops that do not run, so it must stay at zero
  std::vector<std::unique_ptr<Step>> bound_;
  char *arena_ = nullptr, *shared_ = nullptr, *own_ = nullptr;
  uint64_t arena_bytes_ = 0, shared_bytes_ = 0, own_bytes_ = 0;
};

// Offsets of `n` blocks so that blocks whose lifetimes [first, last] overlap do not share memory; returns the total.
struct Lifetime {
  int first = -1, last = -1;  // −1: never used
  uint64_t bytes = 0;
  uint64_t offset = 0;
};
uint64_t plan_memory(std::vector<Lifetime>& blocks);

}  // namespace tally::cpu
