// Decoding 1…N sequences at once (M16): outputs against single runs, and the two-factor estimate before and after.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/diff.h"
#include "app/limits.h"
#include "base/clock.h"
#include "base/error.h"
#include "lab/def_batching.h"
#include "lab/engine_blocks.h"
#include "lab/stats.h"
#include "ops/cost.h"
#include "ops/sample.h"

namespace tally::lab {

namespace {

// What a decode step reads, from the program: the experts' part scales with how many are touched.
def::BatchBytes bytes_of_step(const runtime::Engine& e, int context) {
  def::BatchBytes b;
  ops::Batch one = ops::single_segment(1, context, 1);
  for (const ops::Op& op : e.program().ops) {
    ops::Cost c = ops::cost(op, e.program(), e.weights(), one, -1, e.options().exact);
    b.state_per_seq += double(c.state_bytes + c.activation_bytes);
    if (const auto* x = std::get_if<ops::Experts>(&op)) {
      for (ops::WeightRef w : {x->gate, x->up, x->down})
        b.bytes_per_expert += double(e.weights().views[w.id].bytes_per_expert());
      b.n_experts = x->n_experts, b.experts_per_token = x->n_used;
    } else {
      b.shared += double(c.weight_bytes);
    }
  }
  return b;
}

struct Decoded {
  std::vector<std::vector<int32_t>> tokens;  // [sequences][n_gen]
  std::vector<std::vector<float>> first;     // [sequences] logits of the first decode step
  double ms = 0;
};

// Sequence i starts from prompt i; each step decodes one greedy token of every sequence.
Decoded decode(Probe& probe, const std::vector<int>& which, const BatchOptions& o, bool keep_logits) {
  runtime::Engine& e = probe.engine();
  std::vector<runtime::Sequence> sequences;
  std::vector<int32_t> next;
  Decoded d;
  for (int i : which) {
    sequences.push_back(e.open());
    std::vector<int32_t> prompt = probe.random_ids(o.n_prompt, 100 + uint64_t(i));
    int last = o.n_prompt - 1;
    e.consume(sequences.back(), prompt, {&last, 1},
              [&](int, std::span<const float> row) { next.push_back(ops::argmax(row)); });
  }
  d.tokens.resize(which.size());
  uint64_t begin = now_ns();
  for (int step = 0; step < o.n_gen; ++step) {
    std::vector<runtime::Segment> segments;
    for (size_t i = 0; i < sequences.size(); ++i) segments.push_back({&sequences[i], {&next[i], 1}, {0}, {}});
    runtime::Rows rows = e.step(segments);
    for (size_t i = 0; i < sequences.size(); ++i) {
      std::span<const float> row = rows.row(int(i));
      if (step == 0 && keep_logits) d.first.emplace_back(row.begin(), row.end());
      next[i] = ops::argmax(row);
      d.tokens[i].push_back(next[i]);
    }
  }
  d.ms = double(now_ns() - begin) * 1e-6;
  for (runtime::Sequence& s : sequences) e.close(s);
  return d;
}

std::vector<int> first_n(int n) {
  std::vector<int> out(n);
  for (int i = 0; i < n; ++i) out[i] = i;
  return out;
}

struct Compared {
  int first_different = -1;  // step at which some sequence chose another token than alone
  double logits_off = 0;     // of the first step: largest difference over the row's spread
};

Compared compare(const Decoded& alone_of, const Decoded& together) {
  Compared c;
  for (size_t i = 0; i < together.tokens.size(); ++i) {
    for (size_t t = 0; t < together.tokens[i].size(); ++t)
      if (together.tokens[i][t] != alone_of.tokens[i][t]) {
        if (c.first_different < 0 || int(t) < c.first_different) c.first_different = int(t);
        break;
      }
    double mean = 0, sum = 0, off = 0;
    const std::vector<float>&a = alone_of.first[i], &b = together.first[i];
    for (float x : a) mean += x;
    mean /= double(a.size());
    for (size_t k = 0; k < a.size(); ++k) {
      sum += (a[k] - mean) * (a[k] - mean);
      off = std::max(off, std::abs(double(a[k]) - b[k]));
    }
    c.logits_off = std::max(c.logits_off, off / (std::sqrt(sum / double(a.size())) + 1e-30));
  }
  return c;
}

double largest_allowance(const ledger::Ledger& ledger) {
  double own = 0;
  for (const ledger::PlanRecord& plan : ledger.plans())
    for (const ledger::StepInfo& s : plan.steps) own = std::max(own, app::kernel_allowance(s.kernel));
  return own;
}

void fill(Probe& probe, const BatchOptions& o, const std::vector<int>& sizes,
          const std::vector<std::vector<double>>& ms, const std::vector<Compared>& compared, Block& b) {
  def::BatchBytes bytes = bytes_of_step(probe.engine(), o.n_prompt + o.n_gen / 2);
  double peak = app::read_bandwidth(probe.engine().device().n_workers);
  b.table.columns = {"sequences",        "ms a step",           "tok/s", "gain", "gain foreseen", "bytes factor",
                     "use of bandwidth", "same tokens as alone"};
  b.values = {{"batches", Json::array()}, {"peak_gb_s", peak * 1e-9}};
  std::vector<double> step, use;
  for (size_t v = 0; v < sizes.size(); ++v) {
    step.push_back(stats::summarize(ms[v]).mean / o.n_gen);
    use.push_back(bytes.at(sizes[v]) / (step[v] * 1e-3) / peak);
    double rate = 1e3 * sizes[v] / step[v], gain = rate / (1e3 * sizes[0] / step[0]) * sizes[0];
    if (v == 0) gain = 1;
    def::BatchEstimate before = def::batch_gain(bytes, sizes[v], 1, 1),
                       after = def::batch_gain(bytes, sizes[v], use[0], use[v]);
    std::string same =
        compared[v].first_different < 0 ? "yes" : fmt::format("until token {}", compared[v].first_different);
    b.table.rows.push_back({fmt::format("{}", sizes[v]), fmt::format("{:.3f}", step[v]), fmt::format("{:.1f}", rate),
                            fmt::format("{:.2f}", gain), fmt::format("{:.2f}", before.gain),
                            fmt::format("{:.2f}", after.bytes_factor), fmt::format("{:.1f} %", 100 * use[v]), same});
    b.values["batches"].push_back({{"sequences", sizes[v]},
                                   {"step_ms", step[v]},
                                   {"rate_tok_s", rate},
                                   {"gain", gain},
                                   {"gain_before", before.gain},
                                   {"gain_after", after.gain},
                                   {"bytes_factor", after.bytes_factor},
                                   {"utilisation", use[v]},
                                   {"utilisation_factor", after.utilisation_factor},
                                   {"first_different_token", compared[v].first_different},
                                   {"logits_off", compared[v].logits_off}});
  }
  double r1 = 1e3 * sizes.front() / step.front(), rn = 1e3 * sizes.back() / step.back();
  try {
    def::BatchAffine a = def::batch_affine(sizes.front(), r1, sizes.back(), rn);
    b.values["affine"] = {{"per_seq_ms", a.per_seq_ms},
                          {"fixed_ms", a.fixed_ms},
                          {"ceiling_tok_s", a.ceiling_tok_s},
                          {"fixed_over_per_seq", a.fixed_over_per_seq}};
    b.verdict = a.words;
  } catch (const Error& e) {
    b.values["affine"] = nullptr;
    b.notes.push_back(fmt::format("no line through the first and last size: {}", e.what()));
  }
  b.notes.push_back(
      "foreseen: from bytes alone, with the bandwidth used as well as by one sequence; the gain divided by the bytes "
      "factor is how much better (or worse) a larger batch uses it; a use above 100 % comes from a cache");
}

}  // namespace

void run_batch(Probe& probe, const BatchOptions& o, Output& out) {
  Block b{.name = "batch",
          .title = fmt::format("Decoding several sequences at once: {} tokens after {}", o.n_gen, o.n_prompt)};
  std::set<int> unique(o.batches.begin(), o.batches.end());
  unique.insert(1);
  std::vector<int> sizes(unique.begin(), unique.end());
  if (sizes.size() < 2) fail(ErrorCode::Usage, "--batch: at least one size above 1 is needed");
  Decoded alone;
  for (int i = 0; i < sizes.back(); ++i) {
    Decoded one = decode(probe, {i}, o, true);
    alone.tokens.push_back(one.tokens[0]);
    alone.first.push_back(one.first[0]);
  }
  std::vector<Compared> compared;
  for (int n : sizes) compared.push_back(compare(alone, decode(probe, first_n(n), o, true)));
  std::vector<std::string> names;
  for (int n : sizes) names.push_back(fmt::format("{} sequences", n));
  std::vector<std::vector<double>> ms = alternate(
      names, o.rounds, [&](int v) { return decode(probe, first_n(sizes[v]), o, false).ms; }, "batch", out);
  // Which kernels a step of n rows takes may differ, so results may differ by what the kernels allow, not by more.
  double allowed = 4 * largest_allowance(probe.ledger()) * std::sqrt(1 + 0.25 * probe.engine().program().n_layers);
  for (size_t v = 0; v < sizes.size() && b.not_valid.empty(); ++v) {
    if (compared[v].logits_off > allowed)
      b.not_valid =
          fmt::format("{} at once give other logits than alone: off by {:.3g} of their spread, allowed {:.3g}",
                      names[v], compared[v].logits_off, allowed);
    else if (std::string why = probe.not_usable(ms[v]); !why.empty())
      b.not_valid = names[v] + ": " + why;
  }
  if (b.not_valid.empty()) fill(probe, o, sizes, ms, compared, b);
  out.block(b);
}

}  // namespace tally::lab
