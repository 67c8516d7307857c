// One run taken apart (M1, M2, M3, M15): the same workload with and without the ledger's clock reads, in alternated
// rounds; segments from the rounds with them.
#include "app/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/limits.h"
#include "base/check.h"
#include "lab/def_amdahl.h"
#include "lab/engine_blocks.h"
#include "lab/machine.h"
#include "lab/stats.h"
#include "lab/stats_bootstrap.h"

namespace tally::lab {

namespace {

struct Peaks {
  double bytes_s = 0, f32_s = 0, int8_s = 0;
  size_t working_set = 0;
};

Peaks peaks_of(Probe& probe, double bytes_per_step) {
  runtime::Engine& e = probe.engine();
  int n = e.device().n_workers;
  Peaks p;
  // A model that fits the caches is read from them: the limit is that of its own working set.
  p.working_set = size_t(std::clamp(bytes_per_step, double(1 << 20), double(512 << 20)));
  ThreadTeam team(n);
  p.bytes_s = app::measure_read(team, p.working_set);
  p.f32_s = app::multiply_rate(n, app::Multiply::F32, e.options().isa);
  p.int8_s = app::multiply_rate(n, app::Multiply::Int8, e.options().isa);
  return p;
}

std::string percent(double x) { return fmt::format("{:.1f} %", 100 * x); }

// One segment as values and as a table row. runs: timed rounds; total_ms: wall time of one.
void add_segment(const app::ExplainRow& r, int runs, double total_ms, const Peaks& peaks, Block& b) {
  double ms = r.ns * 1e-6 / runs, bytes = r.bytes / runs, flops = r.flops / runs, share = ms / total_ms;
  double by_bytes = bytes / peaks.bytes_s * 1e3;
  double by_flops = ((flops - r.int8_flops / runs) / peaks.f32_s + r.int8_flops / runs / peaks.int8_s) * 1e3;
  double of_bytes = ms > 0 ? by_bytes / ms : 0, of_flops = ms > 0 ? by_flops / ms : 0;
  double best = std::max(of_bytes, of_flops);
  const char* bound = best < 0.5 ? "neither" : of_bytes >= of_flops ? "bytes" : "multiplies";
  double ceiling = def::amdahl(std::min(share, 1.0), def::kInfinite);
  double at_roofline = best > 0 && best < 1 ? def::amdahl(std::min(share, 1.0), 1 / best) : 1;
  b.values["segments"].push_back({{"name", r.segment},
                                  {"ms", ms},
                                  {"share", share},
                                  {"dispatches", r.n_dispatches / runs},
                                  {"bytes", bytes},
                                  {"flop", flops},
                                  {"gb_s", ms > 0 ? bytes / ms * 1e-6 : 0},
                                  {"tflop_s", ms > 0 ? flops / ms * 1e-9 : 0},
                                  {"share_of_bandwidth", of_bytes},
                                  {"share_of_arithmetic", of_flops},
                                  {"bound", bound},
                                  {"ceiling_free", ceiling},
                                  {"ceiling_at_roofline", at_roofline}});
  b.table.rows.push_back({r.segment, fmt::format("{:.3f}", ms), percent(share),
                          fmt::format("{:.1f}", r.n_dispatches / runs),
                          fmt::format("{:.2f}", ms > 0 ? bytes / ms * 1e-6 : 0), percent(of_bytes),
                          fmt::format("{:.1f}", ms > 0 ? flops / ms * 1e-6 : 0), percent(of_flops), bound,
                          fmt::format("{:.3f}", ceiling), fmt::format("{:.3f}", at_roofline)});
}

void add_rest(const def::Unattributed& u, double total_ms, Block& b) {
  double free = def::amdahl(std::clamp(u.share, 0.0, 1.0), def::kInfinite);
  b.table.rows.push_back({"unattributed", fmt::format("{:.3f}", u.ms), percent(u.share), "", "", "", "", "", "",
                          fmt::format("{:.3f}", free), ""});
  b.table.rows.push_back({"total (wall)", fmt::format("{:.3f}", total_ms), percent(1), "", "", "", "", "", "", "", ""});
  b.values["unattributed_ms"] = u.ms;
  b.values["unattributed_share"] = u.share;
  b.notes.push_back(u.words);
  if (!u.warning.empty()) b.notes.push_back(u.warning);
}

void add_overhead(const std::vector<double>& timed, const std::vector<double>& untimed, Block& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < timed.size(); ++i) ratios.push_back(timed[i] / untimed[i]);
  stats::RatioInterval r = stats::bootstrap_ratio(ratios);
  b.values["overhead"] = {{"ratio", r.geometric_mean}, {"low", r.interval.low}, {"high", r.interval.high}, {"n", r.n}};
  b.notes.push_back(fmt::format(
      "the ledger's own cost: with it / without it = {:.4f}, 95 % interval {:.4f} to {:.4f} over {} alternated rounds",
      r.geometric_mean, r.interval.low, r.interval.high, r.n));
}

void add_ceiling(const std::vector<double>& shares, double rate, double target, Block& b) {
  double known = def::known_share(shares);
  double ceiling = known < 1 ? 1 / (1 - known) : def::kInfinite;
  b.values["rate_tok_s"] = rate;
  b.values["known_share"] = known;
  b.values["ceiling_all_known_free"] = std::isfinite(ceiling) ? Json(ceiling) : Json();
  b.values["rate_all_known_free_tok_s"] = std::isfinite(ceiling) ? Json(rate * ceiling) : Json();
  b.verdict = fmt::format("{:.1f} tok/s; with every known segment at no cost {:.2f} times that, {:.0f} tok/s", rate,
                          ceiling, rate * ceiling);
  if (target <= 0) return;
  def::KnownFree k = def::known_free(shares, rate, target);
  b.values["target_tok_s"] = target;
  b.values["reachable"] = k.reachable;
  b.values["missing_factor"] = k.missing;
  b.verdict = k.words;
}

Block explain_block(Probe& probe, const Work& work, const char* part, const ExplainOptions& o, double target,
                    Output& out) {
  Block b{.name = fmt::format("explain.{}", part),
          .title = fmt::format("Where the time goes: {}, {}", part, work.name())};
  double steps = work.n_gen > 0 ? work.n_gen : std::ceil(double(work.n_prompt) / probe.engine().options().chunk);
  Peaks peaks = peaks_of(probe, probe.bytes_of(work) / steps);
  probe.ledger().reset_totals();
  std::vector<std::vector<double>> ms = alternate(
      {"timed", "untimed"}, o.rounds,
      [&](int v) {
        probe.ledger().set_timed(v == 0);
        return probe.run_ms(work);
      },
      b.name, out, 0);
  probe.ledger().set_timed(true);
  double profiled = stats::summarize(ms[0]).mean, wall = stats::summarize(ms[1]).mean;
  app::Explanation e = app::explain(part, probe.ledger(), probe.engine(), uint64_t(profiled * o.rounds * 1e6),
                                    uint64_t(work.n_tokens()) * o.rounds);
  for (int v = 0; v < 2 && b.not_valid.empty(); ++v) b.not_valid = probe.not_usable(ms[v]);
  if (!b.not_valid.empty()) return b;
  b.table.columns = {"segment",       "ms",       "time",    "dispatches",    "GB/s", "of bandwidth", "GFLOP/s",
                     "of multiplies", "bound by", "free: ×", "at roofline: ×"};
  b.values = {{"work", work.name()},
              {"profiled_ms", profiled},
              {"wall_ms", wall},
              {"dispatches", e.n_dispatches / o.rounds},
              {"peak_gb_s", peaks.bytes_s * 1e-9},
              {"peak_working_set_bytes", peaks.working_set},
              {"peak_f32_tflop_s", peaks.f32_s * 1e-12},
              {"peak_int8_tflop_s", peaks.int8_s * 1e-12},
              {"segments", Json::array()}};
  std::vector<double> segments, shares;
  double sum = 0;
  for (const app::ExplainRow& r : e.rows) {
    add_segment(r, o.rounds, profiled, peaks, b);
    segments.push_back(r.ns * 1e-6 / o.rounds);
    shares.push_back(segments.back() / profiled);
    sum += segments.back();
  }
  def::Unattributed u = def::unattributed(profiled, segments, wall);
  CHECK(std::abs(sum + u.ms - profiled) < 1e-9 * profiled, "segments and the rest do not close");
  add_rest(u, profiled, b);
  add_overhead(ms[0], ms[1], b);
  add_ceiling(shares, 1e3 * work.n_tokens() / wall, target, b);
  b.notes.push_back(fmt::format(
      "limits of this machine, {} threads: reads {:.1f} GB/s from a working set of {:.0f} MB, float32 {:.2f} and 8-bit "
      "{:.2f} TFLOP/s",
      probe.engine().device().n_workers, peaks.bytes_s * 1e-9, double(peaks.working_set) * 1e-6, peaks.f32_s * 1e-12,
      peaks.int8_s * 1e-12));
  b.notes.push_back(
      "bytes are the least that an ideal kernel reads and writes; a share above 100 % comes from a cache");
  return b;
}

}  // namespace

void run_explain(Probe& probe, const ExplainOptions& o, Output& out) {
  if (o.n_prompt > 0) out.block(explain_block(probe, {.n_prompt = o.n_prompt}, "prompt", o, o.target_prompt, out));
  if (o.n_gen > 0)
    out.block(explain_block(probe, {.n_gen = o.n_gen, .depth = o.depth}, "decode", o, o.target_decode, out));
}

}  // namespace tally::lab
