// The only interface that the runtime sees of a device: it makes state, compiles Programs to Plans and runs whole
// Plans.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ledger/ledger.h"
#include "ops/batch.h"
#include "ops/op.h"
#include "ops/weights.h"

namespace tally::backend {

struct DeviceInfo {
  std::string name;         // "cpu", "reference"
  std::string description;  // for people: processor, instruction set, threads
  int n_workers = 1;
};

// What the state must hold.
struct Limits {
  int n_slots = 1;     // rows of recurrent state
  int n_pages = 1;     // pages of kPageTokens tokens
  bool exact = false;  // F32 cache in place of F16
};

// Everything that a step changes: pages (per token) and slots (per sequence). Indices only; who holds which is the
// runtime's business.
class State {
 public:
  virtual ~State() = default;
  virtual uint64_t bytes() const = 0;  // reserved in all
  virtual uint64_t bytes_per_slot() const = 0;
  virtual uint64_t bytes_per_page() const = 0;
  virtual void clear_slot(int slot) = 0;  // to zero: the start of a sequence
  virtual void copy_slot(int from, int to) = 0;
  virtual void copy_page(int from, int to) = 0;
  virtual void save_slot(int slot, std::span<uint8_t> out) const = 0;  // out[bytes_per_slot]
  virtual void load_slot(int slot, std::span<const uint8_t> in) = 0;
  virtual void save_page(int page, std::span<uint8_t> out) const = 0;  // out[bytes_per_page]
  virtual void load_page(int page, std::span<const uint8_t> in) = 0;
  // The floats of one slot state (op.h says their order); for tests and `tally logits`.
  virtual std::vector<float> slot_values(ops::StateRef state, int slot) const = 0;
};

// For measurement only (`tally lab`): what is done to a plan to see what it costs. The ledger's name of such a plan
// says so; results of a plan without some component are garbage by design.
struct Instruments {
  double inert = 0;  // no-op dispatches per dispatch of the plan, spread evenly: 0.5 adds half as many, 2 twice as many
  std::string without;  // components whose steps do not run (common/components.h), separated by commas
  bool none() const { return inert == 0 && without.empty(); }
  auto operator<=>(const Instruments&) const = default;
};

struct CompileOptions {
  int max_tokens = 1;  // largest batch
  int max_outputs = 1;
  bool exact = false;  // kernels whose numerics are float32 throughout
  std::string forced;  // "op=kernel[,op=kernel]": use this kernel or fail
  Instruments instruments;
};

// A Program bound to a device: steps in order, each one dispatch.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const ops::Program& program() const = 0;
  virtual std::span<const ledger::StepInfo> steps() const = 0;
  virtual uint64_t arena_bytes() const = 0;
  std::string text() const;  // one line per step: kernel, ops, layer
};

// What a step left behind; valid until the same plan's next run.
struct StepOutput {
  const float* logits = nullptr;  // [n_outputs × vocab_size]
  const float* hidden = nullptr;  // [n_tokens × hidden_size], when the Program has it
};

// Called with each op's outputs right after it ran (`tally diff`, `--dump`): rows × cols floats of `value`.
class Observer {
 public:
  virtual ~Observer() = default;
  // May overwrite the values (feeding one backend's inputs to another).
  virtual void after_op(int op, ops::Value value, std::span<float> values) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceInfo info() const = 0;
  virtual std::unique_ptr<State> make_state(const ops::Program&, const Limits&) = 0;
  // Program, weights and state must outlive the plan. Fails with Error when no kernel covers an op.
  virtual std::unique_ptr<Plan> compile(const ops::Program&, const ops::Weights&, State&, const CompileOptions&) = 0;
  // Runs one step to its end. Batch is checked (sizes, ranges) before anything runs.
  virtual StepOutput run(Plan&, const ops::Batch&, Observer* observer = nullptr) = 0;
};

struct BackendOptions {
  int n_threads = 0;  // 0: physical cores within the cgroup's and affinity mask's reach
  std::string isa;    // "": the best this processor has; "generic", "avx2", "avx512"
  ledger::Ledger* ledger = nullptr;
};

// "cpu" or "reference"; anything else: Error (Resources) saying what there is.
std::unique_ptr<Backend> make_backend(const std::string& name, const BackendOptions&);

}  // namespace tally::backend
