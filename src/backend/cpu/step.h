// What the CPU backend's kernels are made of: a record that says which ops a kernel takes (covers) and how it is bound
// to pointers, and the bound step that every worker of the team runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels/float_kernels.h"
#include "backend/cpu/kernels/linear.h"
#include "backend/cpu/rope_cache.h"
#include "backend/cpu/state.h"
#include "base/thread_team.h"

namespace tally::cpu {

// What a kernel knows when it decides and binds. Value pointers are final once the arena is laid out, before bind.
struct PlanContext {
  const ops::Program& program;
  const ops::Weights& weights;
  CpuState& state;
  RopeCache& ropes;
  const LinearKernels& linear;
  const FloatKernels& floats;
  int n_workers = 1;
  int max_tokens = 1, max_outputs = 1;
  bool exact = false;
  std::vector<float*> values;  // [Program::values]

  float* value(ops::Value v) const { return values[v.id]; }
  int cols(ops::Value v) const { return program.info(v).cols; }
  int max_rows(ops::Value v) const { return program.info(v).rows == ops::Rows::Tokens ? max_tokens : max_outputs; }
  const ops::WeightView& weight(ops::WeightRef w) const { return weights.views[w.id]; }
  // All values of a small weight (a norm, a bias, a filter); empty where there is none.
  std::vector<float> floats_of(ops::WeightRef w) const;
  // Whether products with this weight take 8-bit activations.
  bool takes_q8(ops::WeightRef w) const { return !exact && linear.supports_q8(*weight(w).type, weight(w).in); }
  template <typename T>
  const T* op(int i) const {  // null when op i is of another kind or past the end
    return i < static_cast<int>(program.ops.size()) ? std::get_if<T>(&program.ops[i]) : nullptr;
  }
};

// What a step sees while it runs.
struct RunContext {
  const ops::Batch& batch;
  ThreadTeam& team;
  int worker = 0, n_workers = 1;
  char* shared = nullptr;  // scratch of all workers together, 64-byte aligned
  char* own = nullptr;     // scratch of this worker
  int rows(ops::Rows r) const { return r == ops::Rows::Tokens ? batch.n_tokens : batch.n_outputs; }
};

// A kernel bound to its operands: one dispatch.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const RunContext&) noexcept = 0;  // on every worker
  virtual uint64_t shared_scratch() const { return 0; }
  virtual uint64_t own_scratch() const { return 0; }
  // How many distinct experts the last run touched; −1: not an experts step.
  virtual int n_distinct_experts() const { return -1; }
};

struct Kernel {
  const char* name;
  bool exact;                                       // float32 throughout: allowed under --exact
  int (*covers)(const PlanContext&, int first_op);  // how many ops from here it takes; 0: does not fit
  std::unique_ptr<Step> (*bind)(const PlanContext&, int first_op, int n_ops);
};

// The tables, best first within each; the plan takes the kernel that covers most.
std::vector<Kernel> basic_kernels();
std::vector<Kernel> linear_kernels_table();
std::vector<Kernel> attention_kernels();
std::vector<Kernel> delta_kernels();
std::vector<Kernel> moe_kernels();

// [begin, end) of `n` items for a worker, in multiples of `unit`.
struct Range {
  int64_t begin, end;
};
inline Range share(int64_t n, int worker, int n_workers, int64_t unit = 1) {
  int64_t units = (n + unit - 1) / unit;
  int64_t begin = units * worker / n_workers * unit, end = units * (worker + 1) / n_workers * unit;
  return {begin < n ? begin : n, end < n ? end : n};
}

}  // namespace tally::cpu
