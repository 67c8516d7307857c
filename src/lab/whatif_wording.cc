// What-if questions about wording: percentages, "x times", claims about one reference (M24 and flags on wording).
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "lab/def_percent.h"
#include "lab/whatif.h"

namespace tally::lab {

namespace {

void percent(const VectorArgs& in, WhatIf& w) {
  double before = in.number({"before"}), after = in.number({"after"});
  def::Percent p = def::percent_of_rates(before, after);
  w.block.values = {{"ratio", p.ratio}, {"faster", p.faster}, {"less_time", p.less_time}};
  w.block.verdict = p.words;
  if (!in.has({"claimed"})) return;
  double claimed = in.number({"claimed"});
  def::ClaimedPercent c = def::claimed_percent(before, after, claimed, in.number_or({"tolerance"}, 0.005));
  w.block.verdict = c.words;
  // "x % faster" is the change as a share of the old rate; every other reading needs its base said.
  if (c.readings.empty() || c.readings[0].find("old rate (") == std::string::npos) w.complaints.push_back(c.words);
}

void undercount(const VectorArgs& in, WhatIf& w) {
  double y = in.number({"by"});
  def::Undercount u = def::undercount(y);
  w.block.values = {{"factor_of_true", u.factor_of_true}, {"factor_of_counted", u.factor_of_counted}};
  w.block.verdict = fmt::format(
      "\"undercounts by {:.0f} %\" is a factor of {:.2f} (of the true value) or {:.2f} (of the counted one): "
      "store the factor",
      100 * y, u.factor_of_true, u.factor_of_counted);
  w.complaints.push_back(w.block.verdict);
}

void product(const VectorArgs& in, WhatIf& w) {
  double x = 1;
  for (double f : in.list({"factors"})) x *= f;
  if (in.has({"divide_by"}))
    for (double f : in.list({"divide_by"})) {
      if (f == 0) fail(ErrorCode::BadInput, "divided by 0");
      x /= f;
    }
  w.block.values = {{"product", x}};
  w.block.verdict = fmt::format("{:.7g}", x);
}

double field(const Json& item, const std::string& key) {
  if (!item.is_object() || !item.contains(key) || !item.at(key).is_number() || !(item.at(key).get<double>() > 0))
    fail(ErrorCode::BadInput, "claims: \"{}\" is missing or not > 0 in one of the items", key);
  return item.at(key).get<double>();
}

std::string name_of_item(const Json& item) {
  return item.is_object() && item.contains("name") && item.at("name").is_string() ? item.at("name").get<std::string>()
                                                                                  : "?";
}

// Several ratios are claimed in one breath ("a third of the speed for seven times the energy"): all must hold against
// one and the same reference.
void claims(const VectorArgs& in, WhatIf& w) {
  const Json &subject = in.need({"subject"}), &references = in.need({"references"}), &claimed = in.need({"claims"});
  double tolerance = in.number_or({"tolerance"}, 0.10);
  if (!references.is_array() || references.empty() || !claimed.is_object() || claimed.empty())
    fail(ErrorCode::BadInput,
         "claims: \"references\" (list) and \"claims\" (object: quantity → ratio) must not be empty");
  w.block.table.columns = {"against", "all hold"};
  for (const auto& c : claimed.items()) w.block.table.columns.push_back(c.key());
  std::string fits;
  w.block.values = {{"references", Json::array()}};
  for (const Json& r : references) {
    bool all = true;
    std::vector<std::string> row{name_of_item(r), ""};
    Json values{{"name", name_of_item(r)}};
    for (const auto& c : claimed.items()) {
      double ratio = field(subject, c.key()) / field(r, c.key()), said = field(claimed, c.key());
      bool ok = std::fabs(ratio / said - 1) <= tolerance;
      all = all && ok;
      row.push_back(fmt::format("{:.3f} ({})", ratio, ok ? "fits" : fmt::format("said {:.3g}", said)));
      values[c.key()] = ratio;
    }
    row[1] = all ? "yes" : "no";
    values["all"] = all;
    if (all) fits += (fits.empty() ? "" : ", ") + name_of_item(r);
    w.block.table.rows.push_back(row);
    w.block.values["references"].push_back(values);
  }
  w.block.values["consistent"] = !fits.empty();
  w.block.verdict = fits.empty()
                        ? fmt::format("the claims about {} hold against no single reference: they mix baselines",
                                      name_of_item(subject))
                        : fmt::format("all claims about {} hold against {}", name_of_item(subject), fits);
  if (fits.empty()) w.complaints.push_back(w.block.verdict);
}

}  // namespace

void add_whatif_wording(WhatIfTable& t) {
  t["percent"] = {"One wording for percent (M24)", "before=RATE after=RATE [claimed=SHARE [tolerance=SHARE]]", percent};
  t["undercount"] = {"Factor behind a phrase (M14)", "by=SHARE", undercount};
  t["product"] = {"A product", "factors=X,… [divide_by=X,…]", product};
  t["claims"] = {"Claims about one reference (M24)",
                 "in a file: subject={name, quantities}, references=[…], claims={quantity: ratio} [tolerance=0.1]",
                 claims};
}

}  // namespace tally::lab
