// Traces of engines, ours and others, as sums by operator: what `lab reconcile` compares.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tally::lab {

struct TraceOp {
  std::string name, op;  // name: segment or kernel; op: kind of operation where the trace says one ("linear")
  uint64_t calls = 0;
  double ms = 0;
  double bytes = 0;  // 0: the trace does not say
};

struct Trace {
  std::string format;        // "chrome", "ledger", "nsight", "vulkan log", "test-backend-ops", "csv", "llama-bench"
  std::vector<TraceOp> ops;  // summed by (name, op), in order of first occurrence
  double wall_ms = 0;        // from the first begin to the last end; 0: the file has no time line
  bool standalone = false;   // times of single calls on their own (a microbenchmark), not of a run
  std::vector<std::string> notes;

  void add(const std::string& name, const std::string& op, uint64_t calls, double ms, double bytes);
  double sum_ms() const;
};

std::string lower(std::string s);  // A to Z only

inline constexpr uint64_t kLargestTrace = 512ull << 20;

// Reads a file of any of these kinds, told apart by its content:
//   Chrome JSON (ours from --trace-out, or any: "X" events, or "B"/"E" pairs; time of nested events is not counted
//     twice; with events of category "kernel" only these and device copies count; our track "unattributed" is no op)
//   the binary ledger (--ledger)
//   Nsight Systems SQLite exports: CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET, _GRAPH_TRACE with StringIds
//   what llama.cpp's tools print per op: GGML_VK_PERF_LOGGER, test-backend-ops perf (console, sql), OpenCL's csv
//   CSV with a header that names an operator and a time (and calls); the unit stands in the column's name
//   llama-bench -o json: the wall time of `test` only
// Error for anything else, damaged files and files above kLargestTrace.
Trace read_trace(const std::string& path, const std::string& test = "");

// Each reader by itself; `text` is the whole file.
Trace read_chrome_trace(const std::string& text, const std::string& path);
Trace read_ledger_trace(const std::string& path);
Trace read_nsight_trace(const std::string& path);
Trace read_vulkan_log(const std::string& text, const std::string& path);
Trace read_backend_ops(const std::string& text, const std::string& path);
Trace read_csv_trace(const std::string& text, const std::string& path);
Trace read_llama_bench(const std::string& text, const std::string& path, const std::string& test);

// Categories that engines share, by patterns in names: "matrix products", "attention", "experts" …
class Categories {
 public:
  Categories();  // the built-in table
  // Lines "pattern = category", tried before the table; # begins a comment. Error naming a malformed line.
  void add_file(const std::string& path);
  void add_text(const std::string& text, const std::string& where);
  // The first pattern that occurs in `op` (letters of either case), else in `name`; "other" when none does.
  const std::string& of(const TraceOp& op) const;

 private:
  std::vector<std::pair<std::string, std::string>> own_, table_;
  std::string other_ = "other";
};

}  // namespace tally::lab
