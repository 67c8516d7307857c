#include "app/explain.h"

#include <algorithm>
#include <map>

#include "ops/cost.h"
#include "ops/segments.h"

namespace tally::app {

namespace {

struct Part {
  std::string segment;
  double weight;  // its share of the step, by bytes of one token
};

// The segments of one op: experts are shown as their two products.
void add_parts(const ops::Program& p, const ops::Weights& w, int op, std::vector<Part>& parts) {
  ops::Batch one = ops::single_segment(1, 0, 1);
  double bytes = double(ops::cost(p.ops[op], p, w, one).bytes());
  if (const auto* e = std::get_if<ops::Experts>(&p.ops[op])) {
    double gate_up = double(w.views[e->gate.id].bytes_per_expert() + w.views[e->up.id].bytes_per_expert());
    double share = gate_up / (gate_up + double(w.views[e->down.id].bytes_per_expert()));
    parts.push_back({"expert gate/up", bytes * share});
    parts.push_back({"expert down", bytes * (1 - share)});
  } else {
    parts.push_back({std::string(ops::segment_name(p, op)), bytes});
  }
}

void add_plan(const ledger::PlanRecord& plan, const ops::Program& p, const ops::Weights& w, const std::string& prefix,
              std::map<std::string, ExplainRow>& rows) {
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const ledger::StepInfo& info = plan.steps[s];
    const ledger::StepTotal& total = plan.totals[s];
    std::vector<Part> parts;
    for (int op = info.first_op; op < info.first_op + info.n_ops; ++op) add_parts(p, w, op, parts);
    if (parts.empty()) parts.push_back({info.segment, 0});  // an inert dispatch
    double sum = 0;
    for (const Part& part : parts) sum += part.weight;
    for (const Part& part : parts) {
      double share = sum > 0 ? part.weight / sum : 1.0 / parts.size();
      ExplainRow& row = rows[prefix + part.segment];
      row.segment = prefix + part.segment;
      row.n_dispatches += total.n * share;
      row.ns += total.ns * share;
      row.bytes += total.bytes * share;
      row.flops += total.flops * share;
      if (info.kernel.find("_q8") != std::string::npos) row.int8_flops += total.flops * share;
    }
  }
}

}  // namespace

double Explanation::unattributed_ns() const {
  double sum = 0;
  for (const ExplainRow& r : rows) sum += r.ns;
  return wall_ns - sum;
}

Explanation explain(const std::string& title, const ledger::Ledger& ledger, const runtime::Engine& engine,
                    uint64_t wall_ns, uint64_t n_tokens) {
  Explanation out;
  out.title = title;
  out.n_tokens = n_tokens;
  out.wall_ns = double(wall_ns);
  std::map<std::string, ExplainRow> rows;
  for (const ledger::PlanRecord& plan : ledger.plans()) {
    if (plan.n_timed == 0) continue;
    bool mtp = engine.mtp_program() && plan.name.rfind(engine.mtp_program()->name + " ", 0) == 0 &&
               engine.mtp_program()->name != engine.program().name;
    add_plan(plan, mtp ? *engine.mtp_program() : engine.program(), mtp ? engine.mtp_weights() : engine.weights(),
             mtp ? "mtp: " : "", rows);
    out.n_steps += plan.n_timed;
    out.n_dispatches += double(plan.n_timed * plan.steps.size());
  }
  for (auto& [name, row] : rows) out.rows.push_back(row);
  std::sort(out.rows.begin(), out.rows.end(), [](const ExplainRow& a, const ExplainRow& b) { return a.ns > b.ns; });
  return out;
}

std::string explain_text(const Explanation& e, double bandwidth) {
  std::string out =
      fmt::format("{}: {} tokens in {} steps, {:.2f} ms, {:.0f} dispatches ({:.0f} per step)\n", e.title, e.n_tokens,
                  e.n_steps, e.wall_ns * 1e-6, e.n_dispatches, e.n_steps ? e.n_dispatches / e.n_steps : 0);
  out += fmt::format("  {:<24} {:>10} {:>7} {:>10} {:>8} {:>9} {:>10} {:>11}\n", "segment", "ms", "time", "MB", "GB/s",
                     "of limit", "GFLOP/s", "dispatches");
  double bytes = 0;
  for (const ExplainRow& r : e.rows) {
    double rate = r.ns > 0 ? r.bytes / r.ns * 1e9 : 0;
    bytes += r.bytes;
    out += fmt::format("  {:<24} {:>10.3f} {:>6.1f}% {:>10.2f} {:>8.2f} {:>8.0f}% {:>10.1f} {:>11.1f}\n", r.segment,
                       r.ns * 1e-6, 100 * r.ns / e.wall_ns, r.bytes * 1e-6, rate * 1e-9,
                       bandwidth > 0 ? 100 * rate / bandwidth : 0, r.ns > 0 ? r.flops / r.ns : 0, r.n_dispatches);
  }
  out += fmt::format("  {:<24} {:>10.3f} {:>6.1f}%   sampling, batches, text; everything that no dispatch covers\n",
                     "unattributed", e.unattributed_ns() * 1e-6, 100 * e.unattributed_ns() / e.wall_ns);
  double rate = bytes / e.wall_ns * 1e9;
  out += fmt::format("  {:<24} {:>10.3f} {:>6.1f}% {:>10.2f} {:>8.2f} {:>8.0f}%\n", "total", e.wall_ns * 1e-6, 100.0,
                     bytes * 1e-6, rate * 1e-9, bandwidth > 0 ? 100 * rate / bandwidth : 0);
  return out;
}

}  // namespace tally::app
