// What-if questions about shares, unattributed time, dispatches, coverage and composed gains: M1–M5, M14, M22.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "lab/def_amdahl.h"
#include "lab/def_dispatch.h"
#include "lab/def_percent.h"
#include "lab/def_roofline.h"
#include "lab/whatif.h"

namespace tally::lab {

namespace {

std::string times(double x) { return std::isinf(x) ? "∞" : fmt::format("{:.3f}", x); }

// Names beside a list of numbers: "names" (texts), or #1, #2 …
std::vector<std::string> names_for(const VectorArgs& in, size_t n) {
  std::vector<std::string> names;
  if (const Json* given = in.find({"names"}); given && given->is_array())
    for (const Json& s : *given) names.push_back(s.is_string() ? s.get<std::string>() : "?");
  for (size_t i = names.size(); i < n; ++i) names.push_back(fmt::format("#{}", i + 1));
  return names;
}

void ceiling(const VectorArgs& in, WhatIf& w) {
  std::vector<double> p = in.list({"p", "shares"});
  double s = in.number_or({"s", "speed_up"}, def::kInfinite);
  std::vector<std::string> names = names_for(in, p.size());
  w.block.table.columns = {"segment", "share", fmt::format("whole at {} times", times(s)), "whole at no cost"};
  Json rows = Json::array();
  for (size_t i = 0; i < p.size(); ++i) {
    double at_s = def::amdahl(p[i], s), free = def::amdahl(p[i], def::kInfinite);
    w.block.table.rows.push_back({names[i], fmt::format("{:.2f} %", 100 * p[i]), times(at_s), times(free)});
    rows.push_back({{"name", names[i]}, {"share", p[i]}, {"ceiling", at_s}, {"free", free}});
  }
  double sum = def::known_share(p), all = def::amdahl(sum, def::kInfinite);
  w.block.values = {{"segments", rows}, {"share", sum}, {"all_free", all}};
  w.block.table.rows.push_back({"all known", fmt::format("{:.2f} %", 100 * sum), "", times(all)});
  if (!in.has({"rate", "target"})) {
    w.block.verdict = fmt::format("all known segments at no cost: {} times", times(all));
    return;
  }
  double rate = in.number({"rate"});
  w.block.values["best_rate"] = rate * all;
  w.block.verdict = fmt::format("all known segments at no cost: {} times, {:.1f} tok/s", times(all), rate * all);
  if (!in.has({"target"})) return;
  def::KnownFree k = def::known_free(p, rate, in.number({"target"}));
  w.block.values["missing"] = k.missing;
  w.block.values["reachable"] = k.reachable;
  w.block.verdict = k.words;
}

void profile(const VectorArgs& in, WhatIf& w) {
  double total = in.number({"total", "profiled"});
  std::vector<double> t;
  if (in.has({"known", "segments"})) t = in.list({"known", "segments"});
  if (in.has({"p", "shares"})) t.push_back(total * def::known_share(in.list({"p", "shares"})));
  std::optional<double> wall;
  if (in.has({"wall"})) wall = in.number({"wall"});
  if (in.has({"tokens", "rate"})) {  // the speed that is claimed elsewhere for the same work
    double tokens = in.number({"tokens"}), rate = in.number({"rate"});
    if (!(rate > 0)) fail(ErrorCode::BadInput, "rate {}: must be > 0", rate);
    wall = 1000 * tokens / rate;
  }
  def::Unattributed u = def::unattributed(total, t, wall);
  w.block.values = {{"known", u.known}, {"unattributed", u.ms}, {"share", u.share}};
  if (u.wall) w.block.values.update({{"wall", *u.wall}, {"overhead", *u.overhead}});
  w.block.verdict = u.words;
  if (!u.warning.empty()) w.complaints.push_back(u.warning);
}

void dispatch_slope(const VectorArgs& in, WhatIf& w) {
  std::vector<double> n = in.list({"n", "tokens"}), d = in.list({"d", "dispatches"});
  def::DispatchSlope s = def::dispatch_slope(n, d, in.whole_or({"layers"}, 0));
  w.block.table.columns = {"tokens", "dispatches", "line", "residual"};
  for (size_t i = 0; i < n.size(); ++i)
    w.block.table.rows.push_back({fmt::format("{:.0f}", n[i]), fmt::format("{:.0f}", d[i]),
                                  fmt::format("{:.1f}", s.line.at(n[i])), fmt::format("{:+.1f}", s.line.residuals[i])});
  w.block.values = {{"slope", s.per_token},
                    {"intercept", s.line.intercept},
                    {"per_layer", s.per_layer_token},
                    {"max_abs_residual", s.line.max_abs_residual},
                    {"share_at_longest", s.share_at_longest}};
  w.block.verdict = s.words;
  if (s.other_dependence) w.complaints.push_back("counts do not lie on a line: they depend on more than the length");
}

void dispatch_cost(const VectorArgs& in, WhatIf& w) {
  double d = in.has({"layers"}) ? in.number({"layers"}) * in.number({"tokens"}) * in.number({"per_layer"})
                                : in.number({"dispatches", "d"});
  double u = in.number({"unattributed"}), total = in.number({"total", "profiled"});
  double lower =
      in.has({"extra"}) ? def::injection_us(in.list({"extra"}), in.list({"ms"})) : in.number({"us", "injected_us"});
  def::DispatchCost c = def::dispatch_cost(d, u, total, lower);
  w.block.values = {{"dispatches", d},
                    {"lower_us", c.lower_us},
                    {"upper_us", c.upper_us},
                    {"bracket", c.lower_us > 0 ? Json(c.upper_us / c.lower_us) : Json(nullptr)},
                    {"explained_ms", c.explained_ms},
                    {"explained_share", c.explained_share},
                    {"remainder_ms", c.remainder_ms},
                    {"ceiling_lower", c.ceiling_lower},
                    {"ceiling_upper", c.ceiling_upper}};
  w.block.verdict = c.words;
  if (!c.consistent) w.complaints.push_back("the injected cost exceeds unattributed time over dispatches");
  if (c.consistent && c.explained_ms < 0.5 * u)
    w.complaints.push_back(
        fmt::format("the dispatches explain {:.0f} of {:.0f} ms that no segment claims: {:.0f} ms have "
                    "another cause",
                    c.explained_ms, u, c.remainder_ms));
}

void calls(const VectorArgs& in, WhatIf& w) {
  double in_place = in.has({"share"}) ? in.number({"share"}) * in.number({"total"}) : in.number({"in_place"});
  def::Coverage c = def::coverage_of_calls(in_place, in.number({"standalone"}), in.number({"calls"}));
  w.block.values = {{"in_place_ms", in_place}, {"coverage", c.kappa}, {"calls_that_explain", c.calls_that_explain}};
  w.block.verdict = c.words;
  if (!c.same_thing)
    w.complaints.push_back(
        fmt::format("coverage {:.2f} (0.95…1.05 expected): the standalone time and the time in place are "
                    "not of the same thing",
                    c.kappa));
}

void compose(const VectorArgs& in, WhatIf& w) {
  if (in.has({"before"})) {
    std::vector<double> before = in.list({"before"}), after = in.list({"after"});
    if (before.size() != after.size())
      fail(ErrorCode::BadInput, "\"before\" and \"after\" need the same number of times");
    std::vector<def::Step> steps;
    for (size_t i = 0; i < before.size(); ++i) steps.push_back({before[i], after[i]});
    def::Chain c = def::chain(steps);
    w.block.values = {{"product", c.product}, {"whole", c.whole}, {"composes", c.composes}};
    w.block.verdict = c.words;
    if (!c.composes) w.complaints.push_back("the baseline of a step is not the result of the step before");
    return;
  }
  double chain = in.number({"chain", "g"}), local = in.number({"local", "s"});
  if (!in.has({"recorded", "p"})) {
    double p = def::implied_share(chain, local);
    w.block.values = {{"implied", p}};
    w.block.verdict = fmt::format("a local gain of {:.3f} that gains {:.3f} in the chain implies a share of {:.2f} %",
                                  local, chain, 100 * p);
    return;
  }
  def::StaleShare s = def::stale_share(chain, local, in.number({"recorded", "p"}));
  w.block.values = {{"implied", s.implied}, {"ceiling", s.ceiling}, {"expected", s.expected}, {"stale", s.stale}};
  w.block.verdict = s.words;
  if (s.stale) w.complaints.push_back("stale share: the gain in the chain exceeds what the recorded share allows");
}

void gap(const VectorArgs& in, WhatIf& w) {
  double n = in.number({"tokens"}), own = in.number({"own"}), other = in.number({"other"});
  double ms = def::gap_ms(n, own, other);
  w.block.values = {{"gap_ms", ms}, {"ratio", other / own}, {"behind", 1 - own / other}, {"ahead", other / own - 1}};
  w.block.verdict = fmt::format("{:.1f} ms apart at {:.0f} tokens: ours {}", ms, n, def::percent(own / other).words);
  if (!in.has({"gain"})) return;
  w.block.table.columns = {"gain", "rate", "share of the gap closed"};
  Json closed = Json::array();
  for (double g : in.list({"gain"})) {
    double c = def::gap_closed_share(own, other, g);
    closed.push_back(c);
    w.block.table.rows.push_back(
        {fmt::format("{:+.2f} %", 100 * g), fmt::format("{:.1f}", own * (1 + g)), fmt::format("{:.0f} %", 100 * c)});
  }
  w.block.values["closed"] = closed;
}

}  // namespace

void add_whatif_ceilings(WhatIfTable& t) {
  t["ceiling"] = {"Ceiling by segment, and with every known segment at no cost (M1, M2)",
                  "p=SHARE,… [names=…] [s=SPEEDUP] [rate=TOK/S [target=TOK/S]]", ceiling};
  t["profile"] = {"Unattributed time (M3)", "total=MS known=MS,… or p=SHARE,… [wall=MS or tokens=N rate=TOK/S]",
                  profile};
  t["dispatch-slope"] = {"Dispatches by length (M4)", "n=TOKENS,… d=COUNT,… [layers=N]", dispatch_slope};
  t["dispatch-cost"] = {
      "Cost of a dispatch (M5)",
      "dispatches=N or layers=N tokens=N per_layer=N, unattributed=MS total=MS, us=INJECTED or extra=N,… ms=MS,…",
      dispatch_cost};
  t["calls"] = {"Standalone time against time in place (M14)", "in_place=MS or share=P total=MS, standalone=MS calls=N",
                calls};
  t["compose"] = {"Composing gains (M22)", "chain=GAIN local=GAIN [recorded=SHARE], or before=MS,… after=MS,…",
                  compose};
  t["gap"] = {"Gap between two engines (M14, M24)", "tokens=N own=TOK/S other=TOK/S [gain=SHARE,…]", gap};
}

}  // namespace tally::lab
