// What-if questions about measured tables: costs by length, bisect, ablation, ranks, heat (M6–M10, M12, M13).
#include <fmt/format.h>

#include "base/error.h"
#include "lab/def_bisect.h"
#include "lab/def_fit.h"
#include "lab/def_thermal.h"
#include "lab/whatif.h"

namespace tally::lab {

namespace {

std::vector<def::Point> points(const std::vector<double>& n, const std::vector<double>& ms, const char* what) {
  if (n.size() != ms.size())
    fail(ErrorCode::BadInput, "{}: {} lengths and {} times; one each is expected", what, n.size(), ms.size());
  std::vector<def::Point> p;
  for (size_t i = 0; i < n.size(); ++i) p.push_back({n[i], ms[i]});
  return p;
}

Json json_of(const def::CostLine& l) {
  return {{"per_token_ms", l.per_token_ms},
          {"fixed_ms", l.fixed_ms},
          {"ceiling_tok_s", l.ceiling_tok_s},
          {"from_n", l.from_n},
          {"to_n", l.to_n}};
}

void add_held_out(const def::CostLine& line, const std::vector<def::Point>& all, WhatIf& w) {
  std::vector<def::Point> rest;
  for (const def::Point& p : all)
    if (p.n != line.from_n && p.n != line.to_n) rest.push_back(p);
  if (rest.empty()) return;
  def::HeldOut h = def::held_out(line, rest);
  w.block.values["held_out_holds"] = h.holds;
  w.block.values["valid_from"] = h.valid_from;
  w.block.values["held_out"] = Json::array();
  for (const auto& r : h.rows)
    w.block.values["held_out"].push_back(
        {{"n", r.n}, {"measured", r.measured}, {"predicted", r.predicted}, {"error", r.error}});
  w.block.notes.push_back("held out: " + h.words);
}

void add_second_curve(const VectorArgs& in, const std::vector<def::Point>& first, const def::CostLine& line,
                      WhatIf& w) {
  if (in.has({"after"})) {
    def::Slowdown s = def::slowdown(first, points(in.list({"n"}), in.list({"after"}), "fit"));
    w.block.table.columns = {"tokens", "before ms", "after ms", "ratio", "extra ms per token"};
    for (size_t i = 0; i < s.n.size(); ++i)
      w.block.table.rows.push_back({fmt::format("{:.0f}", s.n[i]), "", "", fmt::format("{:.2f}", s.ratios[i]),
                                    i ? fmt::format("{:.3f}", s.extra_ms[i - 1]) : ""});
    for (size_t i = 0; i < first.size(); ++i) w.block.table.rows[i][1] = fmt::format("{:.1f}", first[i].ms);
    std::vector<double> after = in.list({"after"});
    for (size_t i = 0; i < after.size(); ++i) w.block.table.rows[i][2] = fmt::format("{:.1f}", after[i]);
    w.block.values.update({{"after", json_of(s.after)},
                           {"ratios", s.ratios},
                           {"extra_ms", s.extra_ms},
                           {"fixed_change_ms", s.fixed_change_ms},
                           {"per_token_change_ms", s.per_token_change_ms},
                           {"shape", name_of(s.shape)}});
    w.block.verdict = s.words;
  }
  if (in.has({"other_n"})) {
    def::CostFit other = def::fit_cost(points(in.list({"other_n"}), in.list({"other_ms"}), "other engine"));
    std::optional<double> n = def::crossing(line, other.two_point);
    w.block.values["other"] = json_of(other.two_point);
    w.block.values["crossing"] = n ? Json(*n) : Json(nullptr);
    w.block.verdict +=
        (w.block.verdict.empty() ? "" : ". ") + def::crossing_words(line, other.two_point, "the first", "the other");
  }
}

void fit(const VectorArgs& in, WhatIf& w) {
  std::vector<def::Point> first = points(in.list({"n"}), in.list({"ms", "before"}), "fit");
  def::CostFit f = def::fit_cost(first);
  w.block.values = json_of(f.two_point);
  if (f.squares) w.block.values["least_squares"] = json_of(*f.squares);
  if (in.has({"after", "other_n"})) w.block.notes.push_back(f.words);
  add_held_out(f.two_point, first, w);
  add_second_curve(in, first, f.two_point, w);
  if (w.block.verdict.empty()) w.block.verdict = f.words;
  if (const Json* ttft = in.find({"ttft"}); ttft && ttft->is_boolean() && ttft->get<bool>()) {
    w.block.notes.push_back("times to the first token: rates from them are lower bounds");
    w.block.table.columns = {"tokens", "rate"};
    w.block.table.rows.clear();
    for (const def::Point& p : first)
      w.block.table.rows.push_back({fmt::format("{:.0f}", p.n), def::lower_bound_words(p.n, p.ms)});
  }
}

std::vector<def::VersionRate> versions(const VectorArgs& in, VectorArgs::Names mean, VectorArgs::Names sd) {
  const Json& names = in.need({"versions"});
  std::vector<double> x = in.list(mean), s;
  if (in.has(sd)) s = in.list(sd);
  if (!names.is_array() || names.size() != x.size() || (s.size() > 1 && s.size() != x.size()))
    fail(ErrorCode::BadInput,
         "bisect: {} versions, {} means, {} standard deviations; one each (or one sd for all) is expected",
         names.size(), x.size(), s.size());
  const Json* sessions = in.find({"sessions"});
  std::vector<def::VersionRate> v;
  for (size_t i = 0; i < x.size(); ++i) {
    auto text = [&](const Json& j) { return j.is_string() ? j.get<std::string>() : fmt::format("{}", i); };
    std::optional<double> deviation;
    if (!s.empty()) deviation = s.size() == 1 ? s[0] : s[i];
    std::string session = sessions && sessions->is_array() && i < sessions->size() ? text((*sessions)[i]) : "";
    v.push_back({text(names[i]), x[i], deviation, session, ""});
  }
  return v;
}

void bisect(const VectorArgs& in, WhatIf& w) {
  def::Bisect p = def::bisect(versions(in, {"prefill"}, {"prefill_sd", "sd"}), "prefill");
  w.block.table.columns = {"step", "d", "change", "σ", "flagged", "paired"};
  Json flagged = Json::array(), d = Json::array();
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const def::BisectStep& s = p.steps[i];
    w.block.table.rows.push_back(
        {s.from + " → " + s.to, fmt::format("{:+.3f}", s.d), fmt::format("{:+.1f} %", 100 * s.change),
         s.sigma ? fmt::format("{:.4f}", *s.sigma) : "not known", s.flagged ? "yes" : "no", s.paired ? "yes" : "no"});
    d.push_back(s.d);
    if (s.flagged) flagged.push_back(i + 1);
    if (s.flagged && !s.paired)
      w.complaints.push_back(fmt::format("{} → {}: not paired, measured in different sessions", s.from, s.to));
  }
  w.block.values = {{"d", d},
                    {"flagged", flagged},
                    {"worst", p.worst + 1},
                    {"binary_search_runs", def::bisect_runs(static_cast<long>(p.steps.size()))}};
  w.block.verdict = p.words;
  if (!in.has({"decode"})) return;
  def::Bisect q = def::bisect(versions(in, {"decode"}, {"decode_sd", "sd"}), "decode");
  w.block.verdict = def::bisect_words(p, q);
}

void ablate(const VectorArgs& in, WhatIf& w) {
  std::vector<double> without = in.list({"without"}), p = in.list({"p", "expected"});
  const Json* names = in.find({"names"});
  if (without.size() != p.size())
    fail(ErrorCode::BadInput, "ablate: {} times and {} expected shares", without.size(), p.size());
  std::vector<def::Ablation> parts;
  for (size_t i = 0; i < p.size(); ++i)
    parts.push_back({names && names->is_array() && i < names->size() && (*names)[i].is_string()
                         ? (*names)[i].get<std::string>()
                         : fmt::format("#{}", i + 1),
                     without[i], p[i]});
  def::AblationSession s = def::ablate(in.number({"base"}), in.number_or({"sd"}, 0), parts);
  w.block.table.columns = {"component", "saving ms", "saving", "expected", "effectiveness", "live"};
  w.block.values = {{"valid", s.valid}, {"rows", Json::array()}};
  for (const auto& r : s.rows) {
    w.block.table.rows.push_back({r.name, fmt::format("{:.1f}", r.saving_ms),
                                  fmt::format("{:.2f} %", 100 * r.saving_share),
                                  fmt::format("{:.1f} %", 100 * r.expected_share),
                                  fmt::format("{:.3f}", r.effectiveness), r.live ? "yes" : "no"});
    w.block.values["rows"].push_back(
        {{"name", r.name}, {"saving_share", r.saving_share}, {"effectiveness", r.effectiveness}, {"live", r.live}});
  }
  w.block.verdict = s.words;
  if (!s.valid) w.complaints.push_back("no component has moved the clock: the ablations show nothing");
}

void best_of(const VectorArgs& in, WhatIf& w) {
  def::BestOf b =
      def::best_of(in.number({"base"}), in.number({"best"}), in.whole({"k"}), in.number({"sd"}), in.whole_or({"n"}, 1));
  w.block.values = {
      {"gain", b.gain}, {"expected_best", b.expected_best}, {"gain_left", b.gain_left}, {"shown", b.shown}};
  w.block.verdict = b.words;
  if (!b.shown) w.complaints.push_back("the best of as many equal settings would look as good");
}

void rank(const VectorArgs& in, WhatIf& w) {
  std::vector<double> mean = in.list({"mean"}), sd = in.list({"sd"}), n = in.list({"runs"});
  const Json& names = in.need({"names"});
  if (!names.is_array() || names.size() != mean.size() || sd.size() != mean.size() || n.size() != mean.size())
    fail(ErrorCode::BadInput, "rank: names, mean, sd and runs need the same number of entries");
  std::vector<def::RankItem> items;
  for (size_t i = 0; i < mean.size(); ++i) {
    if (!(n[i] >= 1 && n[i] <= 1e6)) fail(ErrorCode::BadInput, "rank: {} runs; 1…1000000 expected", n[i]);
    items.push_back({names[i].is_string() ? names[i].get<std::string>() : "?", mean[i], sd[i], static_cast<int>(n[i])});
  }
  w.block.table.columns = {"rank", "name", "tie with the next", "p"};
  Json rows = Json::array();
  for (const auto& r : def::rank(items)) {
    w.block.table.rows.push_back({fmt::format("{}", r.rank), r.name, r.tie_with_next ? "tie" : "",
                                  r.against_next ? fmt::format("{:.3f}", r.against_next->p) : ""});
    rows.push_back({{"name", r.name}, {"rank", r.rank}, {"tie", r.tie_with_next}});
    if (r.tie_with_next)
      w.block.verdict += fmt::format("{}{} and the next are a tie", w.block.verdict.empty() ? "" : "; ", r.name);
  }
  if (w.block.verdict.empty()) w.block.verdict = "no ties: every difference to the next is beyond its 95 % interval";
  w.block.values = {{"rows", rows}};
}

void sustained(const VectorArgs& in, WhatIf& w) {
  double cold = in.number({"cold"}), steady = in.number({"steady"});
  w.block.values = {{"ratio", steady / cold}};
  if (in.has({"cold_clock", "steady_clock"})) {
    def::Sustained s = def::sustained(cold, steady, in.number({"cold_clock"}), in.number({"steady_clock"}));
    w.block.values.update({{"predicted", s.predicted}, {"residual", s.residual}, {"thermal", s.thermal}});
    w.block.verdict = s.words;
  }
  if (in.has({"other_cold"})) {
    def::ColdAndSustained c =
        def::compare_sustained(cold, steady, in.number({"other_cold"}), in.number({"other_steady"}));
    w.block.values.update({{"other_cold_ratio", c.cold},
                           {"other_steady_ratio", c.steady},
                           {"behind_of_other", c.behind_of_other},
                           {"behind_of_own", c.behind_of_own},
                           {"relative_ratio", c.relative_ratio}});
    w.block.verdict += (w.block.verdict.empty() ? "" : ". ") + c.words;
  }
  if (w.block.verdict.empty()) w.block.verdict = fmt::format("sustained is {:.3f} of cold", steady / cold);
}

}  // namespace

void add_whatif_measures(WhatIfTable& t) {
  t["fit"] = {"Fixed and per-token cost (M6, M7, M8)",
              "n=TOKENS,… ms=MS,… [after=MS,…] [other_n=TOKENS,… other_ms=MS,…] [ttft=true]", fit};
  t["bisect"] = {"Release bisect (M9)",
                 "versions=NAME,… prefill=TOK/S,… [prefill_sd=…] [decode=TOK/S,… decode_sd=…] [sessions=NAME,…]",
                 bisect};
  t["ablate"] = {"Ablation with a positive control (M10)", "base=MS without=MS,… p=SHARE,… [sd=MS] [names=…]", ablate};
  t["best-of"] = {"Best of k settings (M10)", "base=RATE best=RATE k=N sd=RATE [n=RUNS]", best_of};
  t["rank"] = {"Ranks and ties (M12)", "names=…,… mean=…,… sd=…,… runs=…,…", rank};
  t["sustained"] = {"Cold and sustained (M13)",
                    "cold=RATE steady=RATE [cold_clock=MHZ steady_clock=MHZ] [other_cold=RATE other_steady=RATE]",
                    sustained};
}

}  // namespace tally::lab
