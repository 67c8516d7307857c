#include "lab/whatif.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "app/jsonl.h"
#include "base/error.h"

namespace tally::lab {

const WhatIfTable& whatif_kinds() {
  static const WhatIfTable table = [] {
    WhatIfTable t;
    add_whatif_ceilings(t);
    add_whatif_measures(t);
    add_whatif_estimates(t);
    add_whatif_wording(t);
    return t;
  }();
  return table;
}

bool rounds_to(double exact, const std::string& text) {
  bool about = !text.empty() && text[0] == '~';
  std::string digits;
  for (char c : text.substr(about ? 1 : 0))
    if (c != ',' && c != ' ') digits += c;
  char* end = nullptr;
  double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != 0 || !std::isfinite(value))
    fail(ErrorCode::BadInput, "printed value \"{}\" is no number (\"1.69\", \"486,400\", \"~150\")", text);
  if (about) return std::fabs(exact - value) <= 0.10 * std::fabs(value) + 1e-12;
  size_t e = digits.find_first_of("eE"), dot = digits.find('.');
  double exponent = e == std::string::npos ? 0 : std::atof(digits.c_str() + e + 1);
  double decimals = dot == std::string::npos ? 0 : static_cast<double>(std::min(e, digits.size()) - dot - 1);
  double unit = std::pow(10, exponent - decimals);
  return std::fabs(exact - value) <= unit * (0.5 + 1e-9);
}

namespace {

const Json* value_at(const Json& values, const std::string& path) {
  const Json* v = &values;
  for (size_t from = 0; from <= path.size();) {
    size_t dot = std::min(path.find('.', from), path.size());
    std::string key = path.substr(from, dot - from);
    if (v->is_array()) {
      char* end = nullptr;
      unsigned long i = std::strtoul(key.c_str(), &end, 10);
      if (key.empty() || *end != 0 || i >= v->size()) return nullptr;
      v = &(*v)[i];
    } else {
      if (!v->is_object() || !v->contains(key)) return nullptr;
      v = &v->at(key);
    }
    from = dot + 1;
  }
  return v;
}

void compare_printed(const Json& printed, WhatIf& w) {
  if (!printed.is_object())
    fail(ErrorCode::BadInput, "\"printed\" must be an object: name of a value → text as printed");
  for (const auto& item : printed.items()) {
    const Json* v = value_at(w.block.values, item.key());
    if (!v || !v->is_number())
      fail(ErrorCode::BadInput, "printed value \"{}\": no such number among {}", item.key(),
           app::dump_json(w.block.values));
    std::string text = item.value().is_string() ? item.value().get<std::string>() : app::dump_json(item.value());
    double exact = v->get<double>();
    if (!rounds_to(exact, text))
      w.complaints.push_back(fmt::format("{} is printed as {}, the numbers give {:.7g}", item.key(), text, exact));
  }
}

}  // namespace

WhatIf what_if(const Json& q) {
  auto kind = q.find("kind");
  if (kind == q.end() || !kind->is_string())
    fail(ErrorCode::Usage, "what-if question without \"kind\": {}", app::dump_json(q));
  auto known = whatif_kinds().find(kind->get<std::string>());
  if (known == whatif_kinds().end()) {
    std::string all;
    for (const auto& k : whatif_kinds()) all += (all.empty() ? "" : ", ") + k.first;
    fail(ErrorCode::Usage, "unknown what-if kind \"{}\"; there are: {}", kind->get<std::string>(), all);
  }
  VectorArgs args(q);
  WhatIf w;
  w.block.name = known->first;
  auto title = q.find("title");
  w.block.title = title != q.end() && title->is_string() ? title->get<std::string>() : known->second.title;
  try {
    known->second.evaluate(args, w);
  } catch (const Error& e) {  // the definition refuses these numbers
    if (e.code() == ErrorCode::Usage) throw;
    w.block.not_valid = e.what();
    w.block.verdict.clear();
    w.complaints.push_back(e.what());
  }
  std::vector<std::string> unused =
      args.unused({"kind", "title", "note", "source", "printed", "expect", "complain", "flag"});
  if (w.block.not_valid.empty() && !unused.empty())
    fail(ErrorCode::Usage, "{}: unknown argument \"{}\"; known: {}", known->first, unused[0], known->second.arguments);
  if (auto printed = q.find("printed"); printed != q.end() && w.block.not_valid.empty()) compare_printed(*printed, w);
  for (const std::string& c : w.complaints) w.block.notes.push_back("complaint: " + c);
  w.block.values["complaints"] = w.complaints;
  return w;
}

}  // namespace tally::lab
