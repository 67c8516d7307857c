// tally lab reconcile: two traces, operator by operator, coverage first.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>
#include <memory>

#include "base/error.h"
#include "lab/command.h"
#include "lab/def_amdahl.h"
#include "lab/def_roofline.h"
#include "lab/output.h"
#include "lab/trace.h"

namespace tally::lab {

namespace {

struct Options {
  std::string a, b, categories, test_a, test_b, by = "category";
  double wall_a = 0, wall_b = 0, peak = 0;
  std::optional<std::string> json;
};

struct Sum {
  double ms = 0, bytes = 0;
  uint64_t calls = 0;
};

std::map<std::string, Sum> sums_of(const Trace& t, const Options& o, const Categories& categories) {
  std::map<std::string, Sum> sums;
  for (const TraceOp& op : t.ops) {
    Sum& s = sums[o.by == "name" ? op.name : o.by == "op" ? (op.op.empty() ? op.name : op.op) : categories.of(op)];
    s.ms += op.ms;
    s.bytes += op.bytes;
    s.calls += op.calls;
  }
  return sums;
}

double wall_of(const Trace& t, double given, const std::string& path, const char* option) {
  if (given > 0) return given;
  if (t.wall_ms > 0) return t.wall_ms;
  fail(ErrorCode::Usage, "{}: a trace ({}) without a time line; give the wall time of the run in ms with {}", path,
       t.format, option);
}

Block coverage_block(const Trace& t, double wall, bool given, const std::string& which, const std::string& path) {
  double kappa = t.sum_ms() / wall;
  bool ok = kappa >= 0.95 && kappa <= 1.05;
  Block b{.name = "coverage_" + which, .title = fmt::format("Coverage of {}: {}", which, path)};
  b.values = {{"format", t.format}, {"sum_ms", t.sum_ms()}, {"wall_ms", wall}, {"coverage", kappa}, {"accepted", ok}};
  b.verdict = fmt::format("{:.2f} ms in {} operators of {:.2f} ms ({}): coverage {:.3f}{}", t.sum_ms(), t.ops.size(),
                          wall, given ? "wall time as given" : "first begin to last end", kappa,
                          ok          ? ""
                          : kappa < 1 ? ", too little (0.95…1.05): time outside every operator"
                                      : ", too much (0.95…1.05): overlapping calls, or a wall time of another run");
  b.notes = t.notes;
  if (given && t.wall_ms > 0) {
    def::Unattributed u = def::unattributed(t.wall_ms, {}, wall);
    if (!u.warning.empty()) b.notes.push_back(u.warning);
  }
  return b;
}

Block categories_block(const std::map<std::string, Sum>& sums, double wall, const std::string& which) {
  Block b{.name = "times_" + which, .title = "Where the time of " + which + " went"};
  b.table.columns = {"category", "ms", "share", "calls", "µs a call"};
  b.values = {{"segments", Json::array()}};
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) { return x.second.ms > y.second.ms; });
  for (const auto& [name, s] : rows) {
    double each = s.calls ? 1000 * s.ms / static_cast<double>(s.calls) : 0;
    b.table.rows.push_back({name, fmt::format("{:.3f}", s.ms), fmt::format("{:.2f} %", 100 * s.ms / wall),
                            fmt::format("{}", s.calls), fmt::format("{:.2f}", each)});
    b.values["segments"].push_back({{"name", name}, {"ms", s.ms}, {"share", s.ms / wall}, {"calls", s.calls}});
  }
  return b;
}

Block gap_block(const std::map<std::string, Sum>& a, const std::map<std::string, Sum>& b, double wall_a, double wall_b,
                double peak) {
  std::vector<def::Category> list;
  std::map<std::string, std::pair<Sum, Sum>> both;
  for (const auto& [name, s] : a) both[name].first = s;
  for (const auto& [name, s] : b) both[name].second = s;
  for (const auto& [name, s] : both) list.push_back({name, s.first.ms, s.second.ms, s.first.bytes, s.second.bytes, 0});
  def::Reconciled r = def::reconcile(list, wall_a, wall_b, peak);
  Block block{.name = "reconcile", .title = "A against B, by category"};
  block.values = {{"coverage_a", r.coverage1}, {"coverage_b", r.coverage2},          {"gap_ms", r.gap_ms},
                  {"sum_ms", r.sum_ms},        {"unexplained_ms", r.unexplained_ms}, {"rows", Json::array()},
                  {"complaints", r.complaints}};
  block.verdict = r.words;
  block.notes = r.complaints;
  if (!r.coverage_ok) {
    block.not_valid =
        fmt::format("coverage {:.3f} of A and {:.3f} of B; 0.95…1.05 expected of both", r.coverage1, r.coverage2);
    block.verdict.clear();
    return block;
  }
  block.table.columns = {"category", "A ms", "B ms", "A − B", "of the gap", "A as fast as B here: whole"};
  for (const auto& row : r.rows) {
    double p = std::min(1.0, row.ms1 / wall_a);
    double whole = row.ms2 > 0 && row.ms1 > 0 ? def::amdahl(p, row.ms1 / row.ms2) : 1;
    block.table.rows.push_back(
        {row.name, fmt::format("{:.3f}", row.ms1), fmt::format("{:.3f}", row.ms2), fmt::format("{:+.3f}", row.gap_ms),
         r.gap_ms != 0 ? fmt::format("{:.0f} %", 100 * row.share_of_gap) : "", fmt::format("{:.3f}", whole)});
    block.values["rows"].push_back(
        {{"name", row.name}, {"a_ms", row.ms1}, {"b_ms", row.ms2}, {"gap_ms", row.gap_ms}, {"whole", whole}});
  }
  block.table.rows.push_back({"sum", "", "", fmt::format("{:+.3f}", r.sum_ms), "", ""});
  block.table.rows.push_back({"outside every category", "", "", fmt::format("{:+.3f}", r.unexplained_ms), "", ""});
  block.table.rows.push_back(
      {"wall", fmt::format("{:.3f}", wall_a), fmt::format("{:.3f}", wall_b), fmt::format("{:+.3f}", r.gap_ms), "", ""});
  return block;
}

// In place against a microbenchmark: a factor a category, stored as such.
Block factor_block(const std::map<std::string, Sum>& in_place, const std::map<std::string, Sum>& alone) {
  Block b{.name = "microbenchmark", .title = "A call in place against a call alone"};
  b.table.columns = {"category", "in place µs", "alone µs", "factor"};
  b.values = {{"rows", Json::array()}};
  for (const auto& [name, s] : in_place) {
    auto it = alone.find(name);
    if (it == alone.end() || s.calls == 0 || it->second.calls == 0 || s.ms <= 0 || it->second.ms <= 0) continue;
    double x = 1000 * s.ms / static_cast<double>(s.calls),
           y = 1000 * it->second.ms / static_cast<double>(it->second.calls);
    double m = def::microbenchmark_factor(x, y);
    b.table.rows.push_back({name, fmt::format("{:.2f}", x), fmt::format("{:.2f}", y), fmt::format("{:.2f}", m)});
    b.values["rows"].push_back({{"name", name}, {"in_place_us", x}, {"alone_us", y}, {"factor", m}});
  }
  if (b.table.rows.empty()) b.not_valid = "no category occurs in both files";
  b.notes.push_back("means over all calls of a category: the factor holds only where the shapes are the same");
  return b;
}

void run(const Options& o) {
  Categories categories;
  if (!o.categories.empty()) categories.add_file(o.categories);
  Trace a = read_trace(o.a, o.test_a), b = read_trace(o.b, o.test_b);
  if (a.standalone && b.standalone)
    fail(ErrorCode::BadInput, "{} and {}: both hold single calls on their own; one of them must be the trace of a run",
         o.a, o.b);
  auto sums_a = sums_of(a, o, categories), sums_b = sums_of(b, o, categories);
  if (a.standalone || b.standalone) {
    Output output("reconcile", o.json, {{"a", o.a}, {"b", o.b}});
    output.block(factor_block(a.standalone ? sums_b : sums_a, a.standalone ? sums_a : sums_b));
    output.finish();
    return;
  }
  double wall_a = wall_of(a, o.wall_a, o.a, "--wall-a"), wall_b = wall_of(b, o.wall_b, o.b, "--wall-b");
  Output output("reconcile", o.json, {{"a", o.a}, {"b", o.b}, {"wall_a_ms", wall_a}, {"wall_b_ms", wall_b}});
  output.block(coverage_block(a, wall_a, o.wall_a > 0, "A", o.a));
  output.block(coverage_block(b, wall_b, o.wall_b > 0, "B", o.b));
  output.block(categories_block(sums_a, wall_a, "A"));
  output.block(categories_block(sums_b, wall_b, "B"));
  output.block(gap_block(sums_a, sums_b, wall_a, wall_b, o.peak));
  output.finish();
}

}  // namespace

void add_reconcile(CLI::App& lab) {
  auto o = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand("reconcile", "two traces operator by operator, coverage first");
  command->add_option("A", o->a, "trace of the first engine")->required();
  command->add_option("B", o->b, "trace of the second engine")->required();
  command->add_option("--wall-a", o->wall_a, "wall time of A's run without a profiler, ms")->check(CLI::PositiveNumber);
  command->add_option("--wall-b", o->wall_b, "the same of B")->check(CLI::PositiveNumber);
  command->add_option("--test-a", o->test_a, "which test of a llama-bench file (pp512)");
  command->add_option("--test-b", o->test_b, "the same for B");
  command->add_option("--categories", o->categories,
                      "file of lines \"pattern = category\", tried before the built-in table");
  command->add_option("--by", o->by, "category, op or name")
      ->check(CLI::IsMember({"category", "op", "name"}))
      ->capture_default_str();
  command->add_option("--peak-gb-s", o->peak, "bandwidth of the machine: operators above it are complained about")
      ->check(CLI::PositiveNumber);
  command->add_option("--json", o->json, "JSON Lines to this file (--json=FILE), or one document on standard output")
      ->expected(0, 1);
  command->footer(
      "Traces: Chrome JSON (tally's --trace-out and any other), tally's --ledger, Nsight Systems SQLite exports, "
      "llama.cpp's\n"
      "GGML_VK_PERF_LOGGER, test-backend-ops perf (console, sql) and OpenCL csv, other CSV with a time column, "
      "llama-bench JSON\n"
      "(wall time only). A gap is attributed only when the operators of both cover 0.95…1.05 of their wall times.");
  command->callback([o] { run(*o); });
}

}  // namespace tally::lab
