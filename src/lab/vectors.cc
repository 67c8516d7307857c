#include "lab/vectors.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "app/jsonl.h"
#include "base/error.h"

namespace tally::lab {

namespace {

std::optional<double> as_number(const Json& v) {
  if (v.is_number()) return v.get<double>();
  if (v.is_string()) {
    const auto& s = v.get_ref<const std::string&>();
    if (s == "inf" || s == "Infinity" || s == "infinity" || s == "∞") return std::numeric_limits<double>::infinity();
  }
  return std::nullopt;
}

std::string names_of(VectorArgs::Names names) {
  std::string all;
  for (const char* n : names) all += std::string(all.empty() ? "" : " or ") + "\"" + n + "\"";
  return all;
}

}  // namespace

const Json* VectorArgs::find(Names names) const {
  for (const char* name : names)
    if (auto it = in_.find(name); it != in_.end()) {
      used_.insert(name);
      return &*it;
    }
  return nullptr;
}

std::vector<std::string> VectorArgs::unused(Names reserved) const {
  std::vector<std::string> names;
  for (const auto& item : in_.items()) {
    bool known = used_.count(item.key()) > 0;
    for (const char* r : reserved) known = known || item.key() == r;
    if (!known) names.push_back(item.key());
  }
  return names;
}

const Json& VectorArgs::need(Names names) const {
  if (const Json* v = find(names)) return *v;
  fail(ErrorCode::BadInput, "argument {} is missing in {}", names_of(names), app::dump_json(in_));
}

double VectorArgs::number(Names names) const {
  const Json& v = need(names);
  if (std::optional<double> x = as_number(v)) return *x;
  fail(ErrorCode::BadInput, "argument {} is {}; a number is expected", names_of(names), app::dump_json(v));
}

int VectorArgs::whole(Names names) const {
  double x = number(names);
  if (!(x >= 0 && x <= std::numeric_limits<int>::max() && x == std::floor(x)))
    fail(ErrorCode::BadInput, "argument {} is {}; a whole number from 0 to 2147483647 is expected", names_of(names), x);
  return static_cast<int>(x);
}

double VectorArgs::number_or(Names names, double otherwise) const { return has(names) ? number(names) : otherwise; }

std::vector<double> VectorArgs::list(Names names) const {
  const Json& v = need(names);
  if (std::optional<double> x = as_number(v)) return {*x};
  std::vector<double> out;
  if (v.is_array())
    for (const Json& item : v) {
      std::optional<double> x = as_number(item);
      if (!x) break;
      out.push_back(*x);
    }
  if (!v.is_array() || out.size() != v.size())
    fail(ErrorCode::BadInput, "argument {} is {}; a list of numbers is expected", names_of(names), app::dump_json(v));
  return out;
}

const VectorTable& vector_functions() {
  static const VectorTable table = [] {
    VectorTable t;
    add_basic_vectors(t);
    add_ceiling_vectors(t);
    add_fit_vectors(t);
    add_hardware_vectors(t);
    add_estimate_vectors(t);
    return t;
  }();
  return table;
}

namespace {

bool close(double found, double expected, std::optional<double> tol) {
  if (std::isinf(expected) || std::isinf(found)) return found == expected;
  return std::fabs(found - expected) <= (tol ? *tol : 1e-6 + 1e-5 * std::fabs(expected));
}

// Empty when `found` holds what is expected, else the first difference.
std::string difference(const Json& found, const Json& expected, const Json* tol, const std::string& where) {
  if (expected.is_object() || (expected.is_array() && found.is_array() && expected.size() == found.size())) {
    for (const auto& item : expected.items()) {
      const Json* inner = nullptr;
      if (expected.is_object()) {
        auto it = found.is_object() ? found.find(item.key()) : found.end();
        if (it != found.end()) inner = &*it;
      } else {
        inner = &found[static_cast<size_t>(std::stoul(item.key()))];
      }
      if (!inner) return fmt::format("{}{}: not computed", where, item.key());
      const Json* t = tol;
      if (tol && tol->is_object()) t = tol->contains(item.key()) ? &tol->at(item.key()) : nullptr;
      std::string d = difference(*inner, item.value(), t, where + item.key() + " ");
      if (!d.empty()) return d;
    }
    return "";
  }
  std::optional<double> f = as_number(found), e = as_number(expected);
  std::optional<double> t = tol ? as_number(*tol) : std::nullopt;
  if (f && e ? close(*f, *e, t) : found == expected) return "";
  return fmt::format("{}found {}, expected {}", where, f && std::isinf(*f) ? "inf" : app::dump_json(found),
                     app::dump_json(expected));
}

bool expects_refusal(const Json& v) {
  auto e = v.find("error");
  if (e != v.end() && !(e->is_boolean() && !e->get<bool>()) && !e->is_null()) return true;
  auto o = v.find("out");
  if (o == v.end()) return false;
  if (o->is_object() && o->contains("error")) return true;
  return o->is_string() && (*o == "error" || *o == "refused");
}

}  // namespace

VectorResult check_vector(const Json& v) {
  auto fn = v.find("fn"), in = v.find("in"), out = v.find("out");
  if (fn == v.end() || !fn->is_string() || in == v.end() || !in->is_object() || (out == v.end() && !expects_refusal(v)))
    fail(ErrorCode::BadInput, "no vector: \"fn\" (text), \"in\" (object) and \"out\" are expected");
  auto id = v.find("id");
  std::string name = fn->get<std::string>();
  std::string who = (id == v.end() ? "-" : id->is_string() ? id->get<std::string>() : app::dump_json(*id)) + " " + name;
  auto known = vector_functions().find(name);
  if (known == vector_functions().end()) return {VectorResult::Kind::Unknown, who + ": unknown function"};
  Json found;
  try {
    found = known->second(VectorArgs(*in));
  } catch (const Error& e) {
    bool wanted = expects_refusal(v);
    return {wanted ? VectorResult::Kind::Pass : VectorResult::Kind::Fail,
            fmt::format("{}: {}: refused: {}", who, wanted ? "pass" : "fail", e.what())};
  }
  if (expects_refusal(v))
    return {VectorResult::Kind::Fail,
            fmt::format("{}: fail: found {}, expected a refusal", who, app::dump_json(found))};
  auto tol = v.find("tol");
  std::string d = difference(found, *out, tol == v.end() ? nullptr : &*tol, "");
  if (!d.empty()) return {VectorResult::Kind::Fail, who + ": fail: " + d};
  return {VectorResult::Kind::Pass, fmt::format("{}: pass {}", who, app::dump_json(*out))};
}

}  // namespace tally::lab
