#include "lab/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "lab/fit_change.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

struct Curve {
  std::string name;
  std::vector<def::Point> fitted, held;
  std::vector<std::vector<Measurement>> fitted_raw;
  bool lower_bound = false;
  std::optional<def::CostFit> fit;
  std::string problem;  // why there is no fit
};

Json points_json(const std::vector<def::Point>& points) {
  Json j = Json::array();
  for (const def::Point& p : points) j.push_back({{"n", p.n}, {"ms", p.ms}});
  return j;
}

Json line_json(const def::CostLine& l) {
  return {{"fixed_ms", l.fixed_ms},
          {"per_token_ms", l.per_token_ms},
          {"ceiling_tok_s", l.ceiling_tok_s},
          {"from_n", l.from_n},
          {"to_n", l.to_n}};
}

// The line that is shown and used further: least squares where there is one, as it has residuals.
const def::CostLine& best_line(const def::CostFit& fit) { return fit.squares ? *fit.squares : fit.two_point; }

Curve make_curve(const std::string& name, const std::vector<std::vector<Measurement>>& raw, size_t n_fitted) {
  Curve c{.name = name};
  c.fitted_raw.assign(raw.begin(), raw.begin() + long(n_fitted));
  c.fitted = points_of(c.fitted_raw);
  c.held = points_of({raw.begin() + long(n_fitted), raw.end()});
  c.lower_bound = any_lower_bound(raw[0]);
  try {
    c.fit = def::fit_cost(c.fitted);
  } catch (const Error& e) {
    c.problem = e.what();
  }
  return c;
}

void add_rows(Block& b, const Curve& c, const def::CostLine* line) {
  for (bool held : {false, true})
    for (const def::Point& p : held ? c.held : c.fitted) {
      double at = line ? line->at(p.n) : 0;
      b.table.rows.push_back({fmt::format("{:.0f}", p.n), fmt::format("{:.3f}", p.ms),
                              rate_text(p.n / p.ms * 1e3, c.lower_bound), line ? fmt::format("{:.3f}", at) : "–",
                              line ? fmt::format("{:+.2f} %", (at / p.ms - 1) * 100) : "–",
                              held ? "held out" : "fitted"});
    }
}

Block fit_block(const FitArgs& args, const Curve& c) {
  Block b{.name = "fit", .title = "Fixed and per-token cost of " + c.name};
  b.table.columns = {"tokens", "ms (median)", "tok/s", "line ms", "line off by", "use"};
  b.values = {{"target", c.name}, {"points", points_json(c.fitted)}, {"held_out_points", points_json(c.held)}};
  b.values["lower_bound"] = c.lower_bound;
  b.values["phase"] = args.generation ? "generation" : "prompt";
  if (!c.fit) {
    b.not_valid = c.problem;
    add_rows(b, c, nullptr);
    return b;
  }
  const def::CostLine& line = best_line(*c.fit);
  add_rows(b, c, &line);
  b.values["line"] = line_json(line);
  b.values["two_point"] = line_json(c.fit->two_point);
  b.values["residuals_ms"] = c.fit->residuals;
  b.verdict = c.fit->words;
  if (!c.held.empty()) {
    def::HeldOut h = def::held_out(line, c.held, args.tolerance);
    b.values["held_out"] = {{"holds", h.holds}, {"valid_from", h.valid_from}, {"tolerance", args.tolerance}};
    b.notes.push_back("held-out check: " + h.words);
  }
  double worst_cv = 0;
  for (const auto& list : c.fitted_raw) worst_cv = std::max(worst_cv, stats::summarize(times_of(list)).cv);
  b.values["worst_cv"] = worst_cv;
  b.notes.push_back(
      fmt::format("{} rounds a length; the noisiest length has cv {:.1f} %", c.fitted_raw[0].size(), worst_cv * 100));
  if (c.lower_bound)
    b.notes.push_back(
        "times hold more than the tokens' own work (time to the first token, or a whole process): rates are lower "
        "bounds; "
        "the slope is not, as long as the rest is the same at each length");
  return b;
}

// Which of the costs changed, with intervals over the rounds.
void add_change(Block& b, const Curve& old, const Curve& now) {
  if (old.fitted_raw[0].size() < 3) {
    b.notes.push_back("which of the costs changed, with intervals, needs three rounds or more");
    return;
  }
  std::vector<double> n;
  std::vector<std::vector<double>> old_ms, new_ms;
  for (size_t i = 0; i < old.fitted.size(); ++i) {
    n.push_back(old.fitted[i].n);
    old_ms.push_back(times_of(old.fitted_raw[i])), new_ms.push_back(times_of(now.fitted_raw[i]));
  }
  CostChange c = cost_change(n, old_ms, new_ms);
  b.values["named"] = c.named;
  b.values["fixed_change_ci_ms"] = {c.fixed_ci.low, c.fixed_ci.high};
  b.values["per_token_change_ci_ms"] = {c.per_token_ci.low, c.per_token_ci.high};
  b.notes.push_back("over paired rounds, " + c.words);
}

// What differs between two curves, with M7's verdict.
Block slowdown_block(const Curve& old, const Curve& now) {
  Block b{.name = "slowdown", .title = fmt::format("{} against {}", now.name, old.name)};
  b.table.columns = {"tokens", "old ms", "new ms", "new/old", "extra ms/token since the length before"};
  try {
    def::Slowdown s = def::slowdown(old.fitted, now.fitted);
    for (size_t i = 0; i < s.n.size(); ++i)
      b.table.rows.push_back({fmt::format("{:.0f}", s.n[i]), fmt::format("{:.3f}", old.fitted[i].ms),
                              fmt::format("{:.3f}", now.fitted[i].ms), fmt::format("{:.4f}", s.ratios[i]),
                              i == 0 ? "–" : fmt::format("{:+.5f}", s.extra_ms[i - 1])});
    b.values = {{"shape", def::name_of(s.shape)},
                {"n", s.n},
                {"ratios", s.ratios},
                {"extra_ms_per_token", s.extra_ms},
                {"fixed_change_ms", s.fixed_change_ms},
                {"per_token_change_ms", s.per_token_change_ms}};
    b.verdict = s.words;
    add_change(b, old, now);
  } catch (const Error& e) {
    b.not_valid = e.what();
  }
  return b;
}

Block crossing_block(const Curve& a, const Curve& b_curve) {
  Block b{.name = "crossing", .title = "Where the two cost the same"};
  if (!a.fit || !b_curve.fit) {
    b.not_valid = "one of the two curves has no line";
    return b;
  }
  const def::CostLine &la = best_line(*a.fit), &lb = best_line(*b_curve.fit);
  auto n = def::crossing(la, lb);
  b.values["n"] = n ? Json(*n) : Json(nullptr);
  if (!n) b.values["reason"] = "the lines do not cross at a positive length";
  b.verdict = def::crossing_words(la, lb, a.name, b_curve.name);
  if (n && (*n < std::min(la.from_n, lb.from_n) || *n > std::max(la.to_n, lb.to_n)))
    b.notes.push_back("that length lies outside of what was measured");
  return b;
}

}  // namespace

std::vector<def::Point> points_of(const std::vector<std::vector<Measurement>>& by_shape) {
  std::vector<def::Point> out;
  for (const auto& list : by_shape) {
    std::vector<double> tokens;
    for (const Measurement& m : list) tokens.push_back(m.tokens);
    out.push_back({stats::summarize(tokens).median, stats::summarize(times_of(list)).median});
  }
  return out;
}

std::vector<int> default_held_out(const std::vector<int>& lengths) {
  std::vector<int> sorted(lengths), out;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() < 2) return out;
  if (sorted[0] >= 16) out.push_back(sorted[0] / 2);
  size_t widest = 1;
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i] - sorted[i - 1] > sorted[widest] - sorted[widest - 1]) widest = i;
  int middle = (sorted[widest] + sorted[widest - 1]) / 2;
  if (middle != sorted[widest] && middle != sorted[widest - 1]) out.push_back(middle);
  return out;
}

void run_fit(const FitArgs& args, Target& target, Target* old, Output& output) {
  std::vector<int> lengths = args.lengths;
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  if (lengths.size() < 2 || lengths.back() < 2 * lengths.front())
    fail(ErrorCode::Usage, "--lengths: expected two lengths or more, the longest at least twice the shortest");
  size_t n_fitted = lengths.size();
  for (int n : args.held_out.empty() ? default_held_out(lengths) : args.held_out)
    if (std::find(lengths.begin(), lengths.end(), n) == lengths.end()) lengths.push_back(n);
  std::vector<TestShape> shapes;
  for (int n : lengths) shapes.push_back(args.generation ? TestShape{.n_gen = n} : TestShape{.n_prompt = n});

  std::vector<Variant> variants{{target.label(), &target}};
  if (old) variants.push_back({old->label() == target.label() ? old->label() + " (old)" : old->label(), old});
  std::vector<std::string> notes;
  if (old) require_same_weights(variants, &notes);
  Rounds rounds = measure_rounds(variants, shapes, args.rounds, output, args.inner);
  std::vector<Curve> curves;
  for (size_t v = 0; v < variants.size(); ++v) {
    curves.push_back(make_curve(variants[v].name, rounds.of[v], n_fitted));
    Block b = fit_block(args, curves[v]);
    b.notes.insert(b.notes.end(), notes.begin(), notes.end());
    output.block(b);
  }
  if (old) {
    output.block(slowdown_block(curves[1], curves[0]));
    output.block(crossing_block(curves[0], curves[1]));
  }
  output.block(machine_block(rounds.machine));
}

}  // namespace tally::lab
