#include "lab/speculate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "lab/def_batching.h"
#include "lab/speculate_acceptance.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

constexpr int kForwards = 4;  // per measurement, one after another

std::vector<int> widths_of(const SpeculateOptions& o) {
  std::set<int> unique(o.widths.begin(), o.widths.end());
  unique.insert(1);
  if (unique.size() < 2 || *unique.begin() < 1)
    fail(ErrorCode::Usage, "--widths: widths of at least 1 are expected, and one above 1");
  return {unique.begin(), unique.end()};
}

double forward_ms(Probe& probe, int width, int depth) {
  runtime::Engine& e = probe.engine();
  runtime::Sequence s = probe.at_depth(depth);
  std::vector<int32_t> ids = probe.random_ids(width * kForwards, 7);
  std::vector<int> outputs(width);
  for (int i = 0; i < width; ++i) outputs[i] = i;
  uint64_t begin = now_ns();
  for (int i = 0; i < kForwards; ++i) {
    runtime::Segment segment{&s, {&ids[size_t(i) * width], size_t(width)}, outputs, {}};
    e.step({&segment, 1});
  }
  double ms = double(now_ns() - begin) * 1e-6 / kForwards;
  e.close(s);
  return ms;
}

void fill_width(const std::vector<int>& widths, const std::vector<double>& v, Block& b) {
  b.table.columns = {"positions", "ms", "over V(1)", "drafts", "best possible", "acceptance to break even", "can pay"};
  b.values["widths"] = Json::array();
  bool pays = false;
  for (size_t i = 0; i < widths.size(); ++i) {
    int k = widths[i] - 1;
    Json row{{"positions", widths[i]}, {"ms", v[i]}, {"ratio", v[i] / v[0]}};
    std::vector<std::string> cells{
        fmt::format("{}", widths[i]), fmt::format("{:.3f}", v[i]), fmt::format("{:.3f}", v[i] / v[0]), "", "", "", ""};
    if (k > 0) {
      def::Speculation s = def::speculation(k, std::max(1e-9, def::speculation_cost(k, v[i], 0, 0, v[0])));
      row["drafts"] = k, row["cost"] = s.cost, row["best"] = s.best, row["never_pays"] = s.never_pays;
      row["break_even_tokens"] = s.break_even_tokens, row["break_even_alpha"] = s.break_even_alpha;
      cells[3] = fmt::format("{}", k);
      cells[4] = fmt::format("{:.2f}", s.best);
      cells[5] = s.never_pays ? "never" : fmt::format("{:.0f} %", 100 * s.break_even_alpha);
      cells[6] = s.never_pays ? "no" : "yes";
      pays |= !s.never_pays;
    }
    b.values["widths"].push_back(row);
    b.table.rows.push_back(cells);
  }
  b.values["can_pay"] = pays;
  b.verdict = pays ? "drafting can pay here, if drafts cost little and enough of them are right"
                   : "drafting cannot pay here: a forward over several positions costs as much as decoding them";
  b.notes.push_back("best possible: every draft right and free; V(w) needs no draft model");
}

Block width_block(Probe& probe, const SpeculateOptions& o, Output& out, std::vector<double>* v) {
  std::vector<int> widths = widths_of(o);
  Block b{.name = "speculate.width",
          .title = fmt::format("A forward over several positions, after {} tokens", o.depth)};
  std::vector<std::string> names;
  for (int w : widths) names.push_back(fmt::format("{} positions", w));
  std::vector<std::vector<double>> ms = alternate(
      names, o.rounds, [&](int i) { return forward_ms(probe, widths[i], o.depth); }, b.name, out);
  for (size_t i = 0; i < widths.size(); ++i) {
    if (std::string why = probe.not_usable(ms[i]); !why.empty() && b.not_valid.empty())
      b.not_valid = names[i] + ": " + why;
    v->push_back(stats::summarize(ms[i]).mean);
  }
  if (b.not_valid.empty()) fill_width(widths, *v, b);
  return b;
}

}  // namespace

void run_speculate(const app::EngineArgs& args, const SpeculateOptions& o, Output& out) {
  std::vector<double> v;
  {
    app::EngineArgs plain = args;
    plain.options.n_draft = 0;
    int widest = *std::max_element(o.widths.begin(), o.widths.end());
    Probe probe(plain, o.depth + widest * kForwards + 1, 1, o.seed);
    probe.max_spread = o.max_spread;
    out.block(width_block(probe, o, out, &v));
  }
  out.block(acceptance_block(args, o, out));
}

void run_speculate_target(Target& target, const std::string& spec, const SpeculateOptions& o, Output& out) {
  Block b{.name = "speculate.width", .title = fmt::format("A forward over several positions: {}", target.label())};
  std::vector<int> widths = widths_of(o);
  if (spec.rfind("http", 0) == 0 || spec.rfind("cmd:", 0) == 0) {
    b.not_valid =
        "V(w) cannot be measured here: an endpoint's time to the first token, and a command's time as a whole, hold "
        "far "
        "more than a forward over a few positions, and neither takes positions in the middle of a text";
    out.block(b);
    return;
  }
  std::vector<TestShape> shapes;
  for (int w : widths) shapes.push_back({.n_prompt = w, .depth = o.depth});
  std::vector<std::vector<double>> ms(widths.size());
  for (int round = 0; round < o.rounds; ++round) {  // the same widths in turn, so that what drifts drifts for all
    std::vector<std::vector<Measurement>> got = target.measure(shapes, 1);
    for (size_t i = 0; i < widths.size(); ++i) {
      ms[i].push_back(got[i].back().ms);
      out.sample({{"test", shapes[i].name()},
                  {"variant", target.label()},
                  {"round", round},
                  {"position_in_round", int(i)},
                  {"value", ms[i].back()},
                  {"unit", "ms"}});
    }
  }
  std::vector<double> v;
  for (size_t i = 0; i < widths.size(); ++i) {
    double high = stats::quantile(ms[i], 0.95), low = stats::quantile(ms[i], 0.05);
    if (high > o.max_spread * low && b.not_valid.empty())
      b.not_valid = fmt::format("{}: the rounds spread by a factor of {:.2f}", shapes[i].name(), high / low);
    v.push_back(stats::quantile(ms[i], 0.5));
  }
  if (b.not_valid.empty()) fill_width(widths, v, b);
  b.notes.push_back(
      "measured as reading prompts of these lengths, of which only the last position's logits are made; a "
      "verifying forward makes them for every position");
  out.block(b);
}

}  // namespace tally::lab
