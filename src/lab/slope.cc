// Dispatch counts against length (M4), and what one dispatch costs, found by adding inert ones (M5).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/explain.h"
#include "base/error.h"
#include "lab/def_dispatch.h"
#include "lab/engine_blocks.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

Block slope_block(Probe& probe, const SlopeOptions& o) {
  Block b{.name = "slope", .title = "Dispatches against prompt length"};
  std::vector<double> lengths, counts;
  for (int n : std::set<int>(o.lengths.begin(), o.lengths.end())) {
    lengths.push_back(n);
    counts.push_back(double(probe.count_dispatches({.n_prompt = n})));
  }
  if (lengths.size() < 3) {
    b.not_valid =
        fmt::format("{} different lengths; a slope needs at least three, as two always lie on a line", lengths.size());
    return b;
  }
  def::DispatchSlope s = def::dispatch_slope(lengths, counts, probe.engine().program().n_layers);
  b.table.columns = {"tokens", "dispatches", "line", "residual"};
  b.values = {{"points", Json::array()},
              {"slope", s.line.slope},
              {"intercept", s.line.intercept},
              {"max_residual", s.line.max_abs_residual},
              {"per_layer_token", s.per_layer_token},
              {"share_at_longest", s.share_at_longest},
              {"other_dependence", s.other_dependence},
              {"verdict", s.verdict == def::SlopeVerdict::InsideTheKernel ? "inside_the_kernel" : "host_loop"}};
  for (size_t i = 0; i < lengths.size(); ++i) {
    double line = s.line.at(lengths[i]);
    b.values["points"].push_back({{"tokens", lengths[i]}, {"dispatches", counts[i]}, {"residual", counts[i] - line}});
    b.table.rows.push_back({fmt::format("{:.0f}", lengths[i]), fmt::format("{:.0f}", counts[i]),
                            fmt::format("{:.1f}", line), fmt::format("{:.1f}", counts[i] - line)});
  }
  b.verdict = s.words;
  double one = double(probe.count_dispatches({.n_gen = 1}));
  b.values["dispatches_per_decoded_token"] = one;
  b.notes.push_back(fmt::format("counted, not timed: {} tokens a chunk; decoding takes {:.0f} dispatches a token",
                                probe.engine().options().chunk, one));
  return b;
}

// Per round: extra dispatches against time; the slope is µs per dispatch.
std::vector<double> unit_costs_us(const std::vector<std::vector<double>>& ms, const std::vector<double>& extra) {
  std::vector<double> out;
  for (size_t round = 0; round < ms[0].size(); ++round) {
    std::vector<double> times;
    for (const std::vector<double>& variant : ms) times.push_back(variant[round]);
    out.push_back(def::injection_us(extra, times));
  }
  return out;
}

// The workload's ledger totals without inert dispatches: the time that no dispatch covers, per run.
double unattributed_ms(Probe& probe, const Work& work, int runs, double* wall_ms) {
  probe.engine().instrument({});
  probe.run_ms(work);
  probe.ledger().reset_totals();
  double wall = 0;
  for (int i = 0; i < runs; ++i) wall += probe.run_ms(work);
  app::Explanation e = app::explain("", probe.ledger(), probe.engine(), uint64_t(wall * 1e6), 1);
  *wall_ms = wall / runs;
  return std::max(0.0, e.unattributed_ns() * 1e-6 / runs);
}

void fill_cost(const std::vector<std::vector<double>>& ms, const std::vector<double>& extra, const MeanInterval& u2,
               const def::DispatchCost& cost, double d0, double u_ms, double p_ms, Block& b) {
  b.table.columns = {"inert dispatches", "ms", "± (95 %)", "line"};
  std::vector<double> means;
  for (const auto& v : ms) means.push_back(mean_interval(v).mean);
  stats::Line line = stats::least_squares(extra, means);
  for (size_t v = 0; v < ms.size(); ++v) {
    MeanInterval m = mean_interval(ms[v]);
    b.table.rows.push_back({fmt::format("{:.0f}", extra[v]), fmt::format("{:.3f}", m.mean),
                            fmt::format("{:.3f}", m.high - m.mean), fmt::format("{:.3f}", line.at(extra[v]))});
    b.values["points"].push_back({{"extra", extra[v]}, {"ms", m.mean}, {"low", m.low}, {"high", m.high}});
  }
  b.values["dispatches"] = d0;
  b.values["lower_us"] = u2.mean;
  b.values["lower_us_interval"] = {u2.low, u2.high};
  b.values["upper_us"] = cost.upper_us;
  b.values["profiled_ms"] = p_ms;
  b.values["unattributed_ms"] = u_ms;
  b.values["explained_ms"] = cost.explained_ms;
  b.values["explained_share"] = cost.explained_share;
  b.values["remainder_ms"] = cost.remainder_ms;
  b.values["ceiling_lower"] = cost.ceiling_lower;
  b.values["ceiling_upper"] = std::isfinite(cost.ceiling_upper) ? Json(cost.ceiling_upper) : Json();
  b.values["consistent"] = cost.consistent;
  b.verdict = cost.words;
  b.notes.push_back(
      fmt::format("by injection {:.3f} µs a dispatch, 95 % interval {:.3f} to {:.3f} over {} rounds; a run "
                  "has {:.0f} dispatches",
                  u2.mean, u2.low, u2.high, u2.n, d0));
  b.notes.push_back(
      "an inert dispatch goes through the same path: its call, the barrier of the team, the clock read, the ledger");
  if (!cost.consistent)
    b.notes.push_back(
        "the upper value counts only time outside the dispatches, and here the barrier after each lies inside its own "
        "time: the injected value is the one that holds");
}

Block cost_block(Probe& probe, const Work& work, const char* part, const SlopeOptions& o, Output& out) {
  Block b{.name = fmt::format("dispatch_cost.{}", part),
          .title = fmt::format("Cost of one dispatch: {}, {}", part, work.name())};
  std::vector<double> rates{0};
  for (double r : o.inert)
    if (r > 0) rates.push_back(r);
  if (rates.size() < 2) fail(ErrorCode::Usage, "--inert: at least one rate above 0 is needed");
  std::vector<std::string> names;
  std::vector<double> extra;
  double d0 = 0;
  for (double rate : rates) {
    probe.engine().instrument({.inert = rate});
    double d = double(probe.count_dispatches(work));
    if (rate == 0) d0 = d;
    extra.push_back(d - d0);
    names.push_back(fmt::format("inert {:g}", rate));
  }
  std::vector<std::vector<double>> ms = alternate(
      names, o.rounds,
      [&](int v) {
        probe.engine().instrument({.inert = rates[v]});
        return probe.run_ms(work);
      },
      b.name, out);
  double p_ms = 0, u_ms = unattributed_ms(probe, work, o.rounds, &p_ms);
  for (const auto& v : ms)
    if (b.not_valid.empty()) b.not_valid = probe.not_usable(v);
  MeanInterval u2 = mean_interval(unit_costs_us(ms, extra));
  if (b.not_valid.empty() && u2.low <= 0)
    b.not_valid = fmt::format(
        "the cost of a dispatch cannot be told from nothing: {:.3f} µs, interval {:.3f} to {:.3f}; more --rounds or "
        "larger --inert would settle it",
        u2.mean, u2.low, u2.high);
  if (!b.not_valid.empty()) return b;
  fill_cost(ms, extra, u2, def::dispatch_cost(d0, std::min(u_ms, p_ms), p_ms, u2.mean), d0, u_ms, p_ms, b);
  return b;
}

}  // namespace

void run_slope(Probe& probe, const SlopeOptions& o, Output& out) {
  out.block(slope_block(probe, o));
  if (o.n_prompt > 0) out.block(cost_block(probe, {.n_prompt = o.n_prompt}, "prompt", o, out));
  if (o.n_gen > 0) out.block(cost_block(probe, {.n_gen = o.n_gen, .depth = o.depth}, "decode", o, out));
  probe.engine().instrument({});
}

}  // namespace tally::lab
