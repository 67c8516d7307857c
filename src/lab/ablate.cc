// Components left out one at a time (M10), void until a heavy one has moved the clock.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/common/components.h"
#include "base/error.h"
#include "lab/def_bisect.h"
#include "lab/engine_blocks.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

// Time and bytes of the steps that are (or are not) part of a component, over the ledger's totals.
struct Sums {
  double in_ns = 0, all_ns = 0, rest_bytes = 0;
};

Sums sums_of(const ledger::Ledger& ledger, const std::string& component) {
  Sums s;
  for (const ledger::PlanRecord& plan : ledger.plans())
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const ledger::StepTotal& t = plan.totals[i];
      bool in = backend::belongs_to(plan.steps[i], component);
      s.all_ns += double(t.ns);
      if (in)
        s.in_ns += double(t.ns);
      else
        s.rest_bytes += double(t.bytes);
    }
  return s;
}

std::vector<std::string> components_of(const ledger::Ledger& ledger) {
  std::vector<std::string> out;
  for (const char* name : {"experts", "ffn", "attention", "delta", "qkv", "output projection", "head"}) {
    bool found = false;
    for (const ledger::PlanRecord& plan : ledger.plans())
      for (const ledger::StepInfo& s : plan.steps) found |= backend::belongs_to(s, name);
    if (found) out.push_back(name);
  }
  return out;
}

struct Parts {
  std::vector<std::string> names;
  std::vector<double> expected;      // share of the wall time, from the ledger of a whole run
  std::vector<double> rest_changed;  // bytes of the other steps without it, over those with it
};

Parts look(Probe& probe, const Work& work, std::vector<std::string> components) {
  Parts p;
  probe.engine().instrument({});
  probe.ledger().set_timed(true);
  probe.run_ms(work);
  probe.ledger().reset_totals();
  double wall = 0;
  constexpr int kRuns = 3;
  for (int i = 0; i < kRuns; ++i) wall += probe.run_ms(work);
  p.names = components.empty() ? components_of(probe.ledger()) : std::move(components);
  std::vector<Sums> whole;
  for (const std::string& name : p.names) {
    whole.push_back(sums_of(probe.ledger(), name));
    p.expected.push_back(std::min(1.0, whole.back().in_ns * 1e-6 / wall));
  }
  for (size_t i = 0; i < p.names.size(); ++i) {
    probe.engine().instrument({.without = p.names[i]});
    probe.run_ms(work);
    probe.ledger().reset_totals();
    probe.run_ms(work);
    double rest = sums_of(probe.ledger(), p.names[i]).rest_bytes * kRuns;
    p.rest_changed.push_back(whole[i].rest_bytes > 0 ? rest / whole[i].rest_bytes - 1 : 0);
  }
  probe.ledger().reset_totals();
  return p;
}

void fill(const std::vector<std::vector<double>>& ms, const Parts& p, const def::AblationSession& s, const Work& work,
          Block& b) {
  b.table.columns = {"without", "ms", "saved", "expected share", "effectiveness", "control", "other bytes"};
  stats::Summary base = stats::summarize(ms[0]);
  b.table.rows.push_back({"(nothing)", fmt::format("{:.3f}", base.mean), "", "", "", "", ""});
  b.values = {
      {"work", work.name()}, {"base_ms", base.mean}, {"sd_ms", base.sd}, {"n", base.n}, {"parts", Json::array()}};
  size_t best = 0;
  for (size_t i = 0; i < s.rows.size(); ++i) {
    const def::AblationRow& r = s.rows[i];
    double mean = stats::summarize(ms[i + 1]).mean;
    if (r.saving_ms > s.rows[best].saving_ms) best = i;
    b.table.rows.push_back({r.name, fmt::format("{:.3f}", mean), fmt::format("{:.1f} %", 100 * r.saving_share),
                            fmt::format("{:.1f} %", 100 * r.expected_share), fmt::format("{:.2f}", r.effectiveness),
                            r.live      ? "live"
                            : r.control ? "DEAD"
                                        : "too small",
                            fmt::format("{:+.1f} %", 100 * p.rest_changed[i])});
    b.values["parts"].push_back({{"name", r.name},
                                 {"ms", mean},
                                 {"saving_ms", r.saving_ms},
                                 {"saving_share", r.saving_share},
                                 {"expected_share", r.expected_share},
                                 {"effectiveness", r.effectiveness},
                                 {"control", r.control},
                                 {"live", r.live},
                                 {"other_bytes_change", p.rest_changed[i]}});
    if (std::abs(p.rest_changed[i]) > 0.05)
      b.notes.push_back(
          fmt::format("without {} the other steps move {:+.1f} % of their bytes (other experts are chosen): "
                      "its saving is not its own alone",
                      r.name, 100 * p.rest_changed[i]));
  }
  double tokens = work.n_tokens() * 1e3;
  def::BestOf corrected = def::best_of(tokens / base.mean, tokens / stats::summarize(ms[best + 1]).mean,
                                       int(s.rows.size()), tokens / base.mean * base.cv, base.n);
  b.values["best"] = {{"name", s.rows[best].name},
                      {"tried_variants", int(s.rows.size())},
                      {"gain", corrected.gain},
                      {"gain_left", corrected.gain_left},
                      {"shown", corrected.shown}};
  b.notes.push_back(fmt::format("largest saving, {}: {}", s.rows[best].name, corrected.words));
  b.verdict = s.words;
}

Block ablate_block(Probe& probe, const Work& work, const char* part, const AblateOptions& o, Output& out) {
  Block b{.name = fmt::format("ablate.{}", part),
          .title = fmt::format("Components left out: {}, {}", part, work.name())};
  Parts p = look(probe, work, o.components);
  std::vector<std::string> names{"whole"};
  for (const std::string& name : p.names) names.push_back("without " + name);
  std::vector<std::vector<double>> ms = alternate(
      names, o.rounds,
      [&](int v) {
        probe.engine().instrument({.without = v == 0 ? "" : p.names[v - 1]});
        return probe.run_ms(work);
      },
      b.name, out);
  probe.engine().instrument({});
  for (size_t v = 0; v < ms.size() && b.not_valid.empty(); ++v) {
    b.not_valid = probe.not_usable(ms[v]);
    if (!b.not_valid.empty()) b.not_valid = names[v] + ": " + b.not_valid;
  }
  if (!b.not_valid.empty()) return b;
  stats::Summary base = stats::summarize(ms[0]);
  std::vector<def::Ablation> parts;
  for (size_t i = 0; i < p.names.size(); ++i)
    parts.push_back({p.names[i], stats::summarize(ms[i + 1]).mean, p.expected[i]});
  def::AblationSession s = def::ablate(base.mean, base.sd, parts);
  if (!s.valid) {
    b.not_valid = s.words;
    return b;
  }
  fill(ms, p, s, work, b);
  b.notes.push_back("what a run computes without a component is garbage by design; only its time is used");
  return b;
}

}  // namespace

void run_ablate(Probe& probe, const AblateOptions& o, Output& out) {
  if (o.n_prompt > 0) out.block(ablate_block(probe, {.n_prompt = o.n_prompt}, "prompt", o, out));
  if (o.n_gen > 0) out.block(ablate_block(probe, {.n_gen = o.n_gen, .depth = o.depth}, "decode", o, out));
}

}  // namespace tally::lab
