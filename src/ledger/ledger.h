// The ledger: every dispatch of every step, with its time and its predicted bytes and operations. Always on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tally::ledger {

// One step of a plan, fixed when the plan is compiled.
struct StepInfo {
  std::string kernel;   // linear_q8_avx512
  std::string op;       // linear
  std::string segment;  // the usual name of what it computes: "expert gate/up", "qkv", "head", …
  int layer = -1;
  int first_op = 0, n_ops = 1;  // n_ops 0: an inert dispatch, which computes nothing
  std::string shape;            // of the main op's largest weight: "512x2048", "32x512x2048" (experts x out x in)
};

// One dispatch as it happened. Fixed size: the file is a run of these after a JSON head.
struct Dispatch {
  uint64_t begin_ns, end_ns;
  uint32_t plan, step;      // which step of which plan
  uint16_t kernel, device;  // kernel: index in the plan's list of distinct kernels
  uint32_t rows;
  uint64_t bytes, flops, batch;  // predicted by the ops it covers; batch = which step of the engine
};
static_assert(sizeof(Dispatch) == 56);

// Times of one plan step, summed over runs.
struct StepTotal {
  uint64_t n = 0, ns = 0, bytes = 0, flops = 0;
};

struct PlanRecord {
  std::string name, text;
  std::vector<StepInfo> steps;
  std::vector<StepTotal> totals;  // [steps]
  uint64_t n_runs = 0, n_rows = 0;
  uint64_t run_ns = 0;   // wall time of the runs, begin to end
  uint64_t n_timed = 0;  // runs of which each dispatch was timed; the totals are of these
};

class Ledger {
 public:
  explicit Ledger(size_t ring_size = 1 << 16);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Also appends all that follows to a file (created; Error when it cannot be).
  void open_file(const std::string& path, const std::string& provenance_json);
  uint32_t add_plan(const std::string& name, const std::string& text, std::span<const StepInfo> steps);
  // One run of a plan: one Dispatch per step, in order.
  void add_run(uint32_t plan, uint64_t begin_ns, uint64_t end_ns, uint32_t rows, std::span<const Dispatch> dispatches);
  // One run whose dispatches were not timed: they are counted, and the run's own wall time is kept.
  void add_untimed_run(uint32_t plan, uint64_t begin_ns, uint64_t end_ns, uint32_t rows);
  // Engine time outside plan runs (sampling, batch building …) is what wall time leaves; the caller accounts for it.

  // Whether backends time each dispatch (the default) or whole runs only. For measuring what the timing itself costs.
  void set_timed(bool timed) { timed_ = timed; }
  bool timed() const { return timed_; }
  // From now on all timed dispatches stay in memory, up to `most` of them (56 bytes each).
  void keep(size_t most) { keep_most_ = most; }
  const std::vector<Dispatch>& kept() const { return kept_; }
  uint64_t n_not_kept() const { return n_not_kept_; }

  std::span<const PlanRecord> plans() const { return plans_; }
  uint64_t n_dispatches() const { return n_dispatches_; }
  uint64_t n_batches() const { return n_batches_; }  // runs since the ledger began: the number of the next one
  // The last dispatches, oldest first (at most the ring's size).
  std::vector<Dispatch> recent() const;
  void reset_totals();  // keeps plans, numbers of runs, kept dispatches and the file; zeroes totals and the ring

 private:
  void write_run(std::span<const Dispatch> dispatches);
  void keep_run(std::span<const Dispatch> dispatches);

  std::vector<PlanRecord> plans_;
  std::vector<Dispatch> ring_, kept_;
  size_t ring_next_ = 0, ring_used_ = 0, keep_most_ = 0;
  uint64_t n_not_kept_ = 0;
  bool timed_ = true;
  uint64_t n_dispatches_ = 0, n_batches_ = 0;
  std::FILE* file_ = nullptr;
};

// Reads a ledger file back; Error when it is damaged.
struct LedgerFile {
  std::string head_json;  // provenance; then plans as they were added
  std::vector<std::string> plan_json;
  std::vector<Dispatch> dispatches;
};
LedgerFile read_ledger(const std::string& path);

}  // namespace tally::ledger
