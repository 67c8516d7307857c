#include "lab/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "app/jsonl.h"
#include "app/read_file.h"
#include "base/error.h"
#include "ledger/ledger.h"

namespace tally::lab {

void Trace::add(const std::string& name, const std::string& op, uint64_t calls, double ms, double bytes) {
  auto it = std::find_if(ops.begin(), ops.end(), [&](const TraceOp& o) { return o.name == name && o.op == op; });
  if (it == ops.end()) it = ops.insert(ops.end(), TraceOp{name, op});
  it->calls += calls;
  it->ms += ms;
  it->bytes += bytes;
}

double Trace::sum_ms() const {
  double sum = 0;
  for (const TraceOp& o : ops) sum += o.ms;
  return sum;
}

Trace read_ledger_trace(const std::string& path) {
  ledger::LedgerFile file = ledger::read_ledger(path);
  std::vector<std::vector<TraceOp>> plans;
  for (const std::string& text : file.plan_json) {
    nlohmann::json plan = app::parse_json(text);
    plans.emplace_back();
    if (!plan.is_object() || !plan.contains("steps") || !plan["steps"].is_array())
      fail(ErrorCode::BadInput, "{}: damaged: a plan without \"steps\"", path);
    for (const auto& s : plan["steps"]) {
      auto named = [&](const char* key) { return s.is_object() && s.contains(key) && s[key].is_string(); };
      if (!named("segment") || !named("op"))
        fail(ErrorCode::BadInput, "{}: damaged: a step without texts \"segment\" and \"op\"", path);
      plans.back().push_back({s["segment"].get<std::string>(), s["op"].get<std::string>()});
    }
  }
  std::map<std::pair<size_t, size_t>, TraceOp> sums;
  uint64_t first = UINT64_MAX, last = 0;
  for (const ledger::Dispatch& d : file.dispatches) {
    if (d.plan >= plans.size() || d.step >= plans[d.plan].size() || d.end_ns < d.begin_ns)
      fail(ErrorCode::BadInput,
           "{}: damaged: a dispatch of step {} of plan {} that is not there, or that ends before it begins", path,
           d.step, d.plan);
    TraceOp& o = sums[{d.plan, d.step}];
    ++o.calls;
    o.ms += static_cast<double>(d.end_ns - d.begin_ns) / 1e6;
    o.bytes += static_cast<double>(d.bytes);
    first = std::min(first, d.begin_ns);
    last = std::max(last, d.end_ns);
  }
  Trace t{.format = "ledger"};
  for (const auto& [where, sum] : sums) {
    const TraceOp& names = plans[where.first][where.second];
    t.add(names.name, names.op, sum.calls, sum.ms, sum.bytes);
  }
  if (last > first) t.wall_ms = static_cast<double>(last - first) / 1e6;
  return t;
}

namespace {

bool begins_with(const std::string& path, const std::string& magic) {
  std::ifstream in(path, std::ios::binary);
  std::string head(magic.size(), 0);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in && head == magic;
}

}  // namespace

Trace read_trace(const std::string& path, const std::string& test) {
  if (begins_with(path, "TLEDGER1")) return read_ledger_trace(path);
  if (begins_with(path, std::string("SQLite format 3\0", 16))) return read_nsight_trace(path);
  std::string text = app::read_file(path, "a trace", kLargestTrace);
  size_t at = text.find_first_not_of(" \t\r\n");
  if (at == std::string::npos) fail(ErrorCode::BadInput, "{}: empty; a trace is expected", path);
  Trace t;
  if (text[at] == '{' || text[at] == '[') {
    bool bench = text.find("\"avg_ns\"") != std::string::npos && text.find("\"n_prompt\"") != std::string::npos;
    t = bench ? read_llama_bench(text, path, test) : read_chrome_trace(text, path);
  } else if (text.find("Vulkan Timings:") != std::string::npos) {
    t = read_vulkan_log(text, path);
  } else if (text.find("INSERT INTO test_backend_ops") != std::string::npos ||
             text.find(" us/run - ") != std::string::npos) {
    t = read_backend_ops(text, path);
  } else {
    t = read_csv_trace(text, path);
  }
  if (t.ops.empty()) fail(ErrorCode::BadInput, "{}: a trace ({}) without a single operation", path, t.format);
  return t;
}

}  // namespace tally::lab
