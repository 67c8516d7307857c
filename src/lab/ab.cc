#include "lab/ab.h"

#include <fmt/format.h>

#include "lab/def_percent.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

// Rates over rates, round by round: above 1 when `b` is faster.
std::vector<double> ratios(const std::vector<Measurement>& a, const std::vector<Measurement>& b) {
  std::vector<double> out;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) out.push_back(b[i].rate() / a[i].rate());
  return out;
}

std::string interval_text(const stats::Interval& i) { return fmt::format("{:.4f} … {:.4f}", i.low, i.high); }

std::string share_text(double ratio) { return fmt::format("{:+.2f} %", (ratio - 1) * 100); }

void add_row(Block& b, const std::string& name, const std::vector<Measurement>& list) {
  stats::Summary s = stats::summarize(rates_of(list));
  b.table.rows.push_back({name, rate_text(s.mean, any_lower_bound(list)), rate_text(s.sd, false),
                          fmt::format("{:.1f} %", s.cv * 100), rate_text(s.median, false), std::to_string(s.n)});
}

Json values_of(const Verdict& v, const std::vector<double>& r, const std::vector<double>& null) {
  def::Percent p = def::percent(v.effect.geometric_mean);
  Json j{{"verdict", name_of(v.kind)},
         {"ratio", v.effect.geometric_mean},
         {"ratio_ci", {v.effect.interval.low, v.effect.interval.high}},
         {"faster", p.faster},
         {"less_time", p.less_time},
         {"n", v.n},
         {"wins", v.wins},
         {"losses", v.losses},
         {"sign_p", v.sign_p},
         {"spread", v.spread},
         {"clock_change", v.clock_change},
         {"drift_per_round", v.drift.slope},
         {"drift_p", v.drift.slope_p}};
  j["null_ratio"] = v.null ? Json(v.null->geometric_mean) : Json(nullptr);
  j["null_ratio_ci"] = v.null ? Json{v.null->interval.low, v.null->interval.high} : Json(nullptr);
  j["steady"] = v.steady.known ? Json(v.steady.steady) : Json(nullptr);
  j["rounds_needed"] = v.rounds_needed > 0 ? Json(v.rounds_needed) : Json(nullptr);
  j["outliers"] = v.outliers;
  j["ratios"] = r;
  j["null_ratios"] = null;
  return j;
}

Block block_of(const TestShape& shape, const Verdict& v, const AbArgs& args, const Rounds& rounds, size_t s,
               const std::vector<double>& r, const std::vector<double>& null) {
  Block b{.name = "ab", .title = fmt::format("{}: A against B", shape.name())};
  b.table.columns = {"variant", "tok/s", "±", "cv", "median", "n"};
  add_row(b, "A: " + args.a, rounds.of[0][s]);
  add_row(b, "B: " + args.b, rounds.of[1][s]);
  add_row(b, "A again (null run)", rounds.of[2][s]);
  b.values = values_of(v, r, null);
  b.values["test"] = shape.name();
  b.values["a"] = args.a, b.values["b"] = args.b;
  b.values["tried_variants"] = args.best_of;
  if (v.kind == VerdictKind::NotValid) {
    for (const std::string& reason : v.reasons) b.not_valid += (b.not_valid.empty() ? "" : "; ") + reason;
  }
  if (v.kind != VerdictKind::NotValid) b.verdict = v.words;
  b.notes = v.notes;
  b.notes.push_back(fmt::format("ratio B/A {:.4f} ({}), interval {}, n {}; wins {}, losses {}, sign test p {:.3g}",
                                v.effect.geometric_mean, share_text(v.effect.geometric_mean),
                                interval_text(v.effect.interval), v.n, v.wins, v.losses, v.sign_p));
  if (v.null)
    b.notes.push_back(
        fmt::format("null run A/A {:.4f}, interval {}", v.null->geometric_mean, interval_text(v.null->interval)));
  b.notes.push_back(fmt::format("spread of the ratios {:.3f}; {}", v.spread, v.steady.words));
  if (any_lower_bound(rounds.of[0][s]) != any_lower_bound(rounds.of[1][s]))
    b.notes.push_back("one side is a lower bound (time to the first token), the other is not: the ratio is not exact");
  return b;
}

}  // namespace

std::vector<Verdict> run_ab(const AbArgs& args, Target& a, Target& b, Target& a_again, Output& output) {
  std::vector<Variant> variants{{"A", &a}, {"B", &b}, {"A'", &a_again}};
  std::vector<std::string> notes;
  std::string weights = require_same_weights({variants[0], variants[1]}, &notes);
  std::vector<TestShape> shapes = args.shapes.shapes();
  Rounds rounds = measure_rounds(variants, shapes, args.rounds, output, args.inner);
  std::vector<double> clocks = clocks_of(rounds.machine);
  std::string here = fingerprint().dump();  // both sides ran on this machine
  std::vector<Verdict> verdicts;
  for (size_t s = 0; s < shapes.size(); ++s) {
    std::vector<double> r = ratios(rounds.of[0][s], rounds.of[1][s]), null = ratios(rounds.of[0][s], rounds.of[2][s]);
    Verdict v = judge({.ratios = r,
                       .null_ratios = null,
                       .weights_a = weights,
                       .weights_b = weights,
                       .fingerprint_a = here,
                       .fingerprint_b = here,
                       .clock_mhz = clocks,
                       .equivalence = args.equivalence,
                       .best_of = args.best_of});
    Block block = block_of(shapes[s], v, args, rounds, s, r, null);
    std::string out_a = a.output_sha256(shapes[s]), out_b = b.output_sha256(shapes[s]);
    if (!out_a.empty() && !out_b.empty() && out_a != out_b)
      block.notes.push_back("the greedy choices of A and B differ on this test's tokens: check with `tally diff`");
    block.notes.insert(block.notes.end(), notes.begin(), notes.end());
    block.values["baseline_id"] = output.run() + ":A";
    block.values["output_sha256"] = {out_a, out_b};
    output.block(block);
    verdicts.push_back(std::move(v));
  }
  output.block(machine_block(rounds.machine));
  return verdicts;
}

}  // namespace tally::lab
