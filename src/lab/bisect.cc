#include "lab/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "lab/def_percent.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

// What all versions of a round share (the machine's mood) goes out; the mean of each version stays on its scale.
std::vector<std::vector<double>> without_round_effects(const std::vector<std::vector<double>>& rates) {
  size_t n_rounds = rates[0].size();
  std::vector<double> level(n_rounds);
  for (size_t r = 0; r < n_rounds; ++r) {
    for (const auto& version : rates) level[r] += std::log(version[r]) / double(rates.size());
  }
  double mean = 0;
  for (double x : level) mean += x / double(n_rounds);
  std::vector<std::vector<double>> out = rates;
  for (auto& version : out)
    for (size_t r = 0; r < n_rounds; ++r) version[r] *= std::exp(mean - level[r]);
  return out;
}

std::string step_text(const BisectPhase& p, int i) {
  const def::BisectStep& s = p.steps.steps[size_t(i)];
  return fmt::format("{} → {} ({:+.1f} %)", s.from, s.to, s.change * 100);
}

std::string verdict_of(const BisectPhase& p) {
  if (p.named.empty()) return fmt::format("{}: no step stands out of the noise.", p.phase);
  std::string text = fmt::format("{}: ", p.phase);
  for (size_t i = 0; i < p.named.size(); ++i) text += (i ? ", " : "") + step_text(p, p.named[i]);
  return text + ".";
}

Block phase_block(const BisectPhase& p) {
  Block b{.name = "bisect", .title = fmt::format("Steps of {}", p.phase)};
  b.table.columns = {"step",    "tok/s before", "tok/s after",     "change",
                     "noise σ", "|d|/σ",        "paired interval", "named by"};
  Json steps = Json::array();
  for (size_t i = 0; i < p.steps.steps.size(); ++i) {
    const def::BisectStep& s = p.steps.steps[i];
    const PairedStep* pair = p.paired.empty() ? nullptr : &p.paired[i];
    std::string by = s.flagged ? "3σ" : "";
    if (pair && pair->named) by += by.empty() ? "interval" : " and interval";
    b.table.rows.push_back(
        {s.from + " → " + s.to, rate_text(p.versions[i].mean, false), rate_text(p.versions[i + 1].mean, false),
         fmt::format("{:+.2f} %", s.change * 100), s.sigma ? fmt::format("{:.2f} %", *s.sigma * 100) : "–",
         s.sigma && *s.sigma > 0 ? fmt::format("{:.1f}", std::abs(s.d) / *s.sigma) : "–",
         pair ? fmt::format("{:.4f} … {:.4f}", pair->ratio.interval.low, pair->ratio.interval.high) : "not paired",
         by.empty() ? "–" : by});
    Json j{{"from", s.from},     {"to", s.to},           {"d", s.d},
           {"change", s.change}, {"flagged", s.flagged}, {"paired", s.paired}};
    j["sigma"] = s.sigma ? Json(*s.sigma) : Json(nullptr);
    j["ratio_ci"] = pair ? Json{pair->ratio.interval.low, pair->ratio.interval.high} : Json(nullptr);
    j["named"] = std::find(p.named.begin(), p.named.end(), int(i)) != p.named.end();
    steps.push_back(std::move(j));
  }
  b.values = {{"phase", p.phase}, {"steps", steps}};
  Json named = Json::array();
  for (int i : p.named) named.push_back({p.steps.steps[size_t(i)].from, p.steps.steps[size_t(i)].to});
  b.values["named"] = named;
  b.verdict = verdict_of(p);
  if (!p.steps.words.empty()) b.notes.push_back("by 3σ and 2 % alone: " + p.steps.words);
  if (p.paired.empty())
    b.notes.push_back("not paired: each version was measured alone, so the machine's drift is in the steps");
  return b;
}

struct Measured {
  std::vector<std::vector<double>> prefill, decode;  // [version][round]
};

std::vector<TestShape> shapes_of(const BisectArgs& args) {
  std::vector<TestShape> shapes;
  if (args.prompt > 0) shapes.push_back({.n_prompt = args.prompt});
  if (args.gen > 0) shapes.push_back({.n_gen = args.gen});
  if (shapes.empty()) fail(ErrorCode::Usage, "nothing to measure: -p and -n are both 0");
  return shapes;
}

// Versions measured together in alternated rounds, or one after the other.
Measured measure(const BisectArgs& args, const std::vector<Variant>& variants, Output& output) {
  std::vector<TestShape> shapes = shapes_of(args);
  Measured m;
  auto take = [&](const std::vector<std::vector<Measurement>>& by_shape) {
    for (size_t s = 0; s < shapes.size(); ++s)
      (shapes[s].n_prompt > 0 ? m.prefill : m.decode).push_back(rates_of(by_shape[s]));
  };
  if (args.one_by_one) {
    for (const Variant& v : variants) take(measure_rounds({v}, shapes, args.rounds, output, args.inner).of[0]);
  } else {
    Rounds rounds = measure_rounds(variants, shapes, args.rounds, output, args.inner);
    for (const auto& version : rounds.of) take(version);
    output.block(machine_block(rounds.machine));
  }
  return m;
}

// Blocks of the phases that were measured, and what both say together.
std::vector<BisectPhase> report(const BisectArgs& args, const std::vector<std::string>& names, const Measured& m,
                                Output& output) {
  std::vector<BisectPhase> phases;
  if (!m.prefill.empty()) phases.push_back(bisect_phase("prefill", names, m.prefill, !args.one_by_one));
  if (!m.decode.empty()) phases.push_back(bisect_phase("decode", names, m.decode, !args.one_by_one));
  for (const BisectPhase& p : phases) output.block(phase_block(p));
  if (phases.size() == 2) {
    Block b{.name = "bisect_verdict", .title = "Prefill and decode together"};
    b.verdict = def::bisect_words(phases[0].steps, phases[1].steps);
    output.block(b);
  }
  return phases;
}

// Halves the list: the ends and the middle are measured together each time, so that every decision is paired. Follows
// the largest change; one step is found, further ones stay unseen (and that is said).
void search(const BisectArgs& args, const std::vector<Variant>& all, Output& output) {
  size_t low = 0, high = all.size() - 1;
  int runs = 0;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    Measured m = measure(args, {all[low], all[middle], all[high]}, output);
    const auto& rates = m.prefill.empty() ? m.decode : m.prefill;
    auto step = [&](size_t i, size_t j) {
      double d = 0;
      for (size_t r = 0; r < rates[0].size(); ++r) d += std::log(rates[j][r] / rates[i][r]);
      double other = 0;
      if (!m.prefill.empty() && !m.decode.empty())
        for (size_t r = 0; r < m.decode[0].size(); ++r) other += std::log(m.decode[j][r] / m.decode[i][r]);
      return std::max(std::abs(d), std::abs(other));
    };
    (step(0, 1) >= step(1, 2) ? high : low) = middle;
    ++runs;
  }
  Measured m = measure(args, {all[low], all[high]}, output);
  report(args, {all[low].name, all[high].name}, m, output);
  Block b{.name = "search", .title = "Binary search"};
  b.values = {{"from", all[low].name}, {"to", all[high].name}, {"halvings", runs}, {"candidates", all.size() - 1}};
  b.verdict = fmt::format("The largest change lies between {} and {} ({} halvings for {} steps).", all[low].name,
                          all[high].name, runs, all.size() - 1);
  b.notes.push_back("a search follows one step; measure all versions (without --search) to see several");
  output.block(b);
}

}  // namespace

BisectPhase bisect_phase(const std::string& phase, const std::vector<std::string>& names,
                         const std::vector<std::vector<double>>& rates, bool paired) {
  CHECK(names.size() == rates.size() && names.size() >= 2);
  BisectPhase p{.phase = phase};
  std::vector<std::vector<double>> level = paired ? without_round_effects(rates) : rates;
  for (size_t i = 0; i < names.size(); ++i) {
    stats::Summary s = stats::summarize(level[i]);
    def::VersionRate v{.name = names[i], .mean = s.mean};
    if (s.n > 1) v.sd = s.sd;
    if (!paired) v.session = names[i];
    p.versions.push_back(v);
  }
  p.steps = def::bisect(p.versions, phase);
  size_t n_steps = p.steps.steps.size();
  if (paired && rates[0].size() >= 6) {
    for (size_t i = 0; i < n_steps; ++i) {
      std::vector<double> r;
      for (size_t k = 0; k < rates[0].size(); ++k) r.push_back(rates[i + 1][k] / rates[i][k]);
      PairedStep step{.ratio = stats::bootstrap_ratio(r, 1 - 0.05 / double(n_steps))};
      step.named = step.ratio.interval.excludes(1) && std::abs(step.ratio.geometric_mean - 1) > 0.02;
      p.paired.push_back(step);
    }
  }
  for (size_t i = 0; i < n_steps; ++i)
    if (p.steps.steps[i].flagged || (!p.paired.empty() && p.paired[i].named)) p.named.push_back(int(i));
  std::sort(p.named.begin(), p.named.end(),
            [&](int a, int b) { return p.steps.steps[size_t(a)].d < p.steps.steps[size_t(b)].d; });
  return p;
}

void run_bisect(const BisectArgs& args, const std::vector<std::unique_ptr<Target>>& targets, Output& output) {
  std::vector<Variant> variants;
  for (size_t i = 0; i < targets.size(); ++i)
    variants.push_back({fmt::format("{}: {}", i + 1, targets[i]->label()), targets[i].get()});
  std::vector<std::string> notes, names;
  require_same_weights(variants, &notes);
  for (const Variant& v : variants) names.push_back(v.name);
  if (!notes.empty()) output.block({.name = "weights", .title = "Weights", .notes = notes});
  if (args.search) return search(args, variants, output);
  report(args, names, measure(args, variants, output), output);
}

}  // namespace tally::lab
