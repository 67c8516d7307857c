// Filters on numbers.
#include <charconv>
#include <cmath>

#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_numbers.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

Value int_filter(Interp& in, Args& args) {
  const auto a = bind(in, "int", args, {"value", "default", "base"}, 1);
  const Value& v = a[0];
  const Value fallback = a[1].missing() ? Value(0) : a[1];
  const int64_t base = a[2].missing() ? 10 : index_of(in, a[2]);
  if (v.undefined()) in.fail_undefined(v);
  double d;
  if (v.is_string()) {
    const std::string& text = v.as<StringObj>()->text;
    BigInt big;
    if (base == 0 || (base >= 2 && base <= 36))
      if (parse_int(text, static_cast<int>(base), &big)) return in.integer(std::move(big));
    if (!parse_float(text, &d) || !std::isfinite(d)) return fallback;
  } else if (v.is_int()) {
    return v.is(Kind::Bool) ? Value(v.integer()) : v;
  } else if (v.is(Kind::Float)) {
    d = v.real();
    if (std::isnan(d)) return fallback;
    if (std::isinf(d)) in.fail(Err::Overflow, "cannot convert float infinity to integer");
  } else {
    return fallback;
  }
  return in.integer(BigInt::from_double(std::trunc(d)));
}

Value float_filter(Interp& in, Args& args) {
  const auto a = bind(in, "float", args, {"value", "default"}, 1);
  const Value& v = a[0];
  if (v.undefined()) in.fail_undefined(v);
  double d;
  if (v.is(Kind::Float)) return v;
  if (v.is_string() && parse_float(v.as<StringObj>()->text, &d)) return Value(d);
  if (v.is_int()) {
    d = to_double(v);
    if (std::isinf(d)) in.fail(Err::Overflow, "int too large to convert to float");
    return Value(d);
  }
  return a[1].missing() ? Value(0.0) : a[1];
}

Value absolute(Interp& in, Args& args) {
  const auto a = bind(in, "abs", args, {""}, 1);
  if (a[0].is(Kind::Float)) return Value(std::fabs(a[0].real()));
  if (!a[0].is_int()) in.fail(Err::Type, "bad operand type for abs(): '{}'", type_name(a[0]));
  const BigInt big = to_big(a[0]);
  return in.integer(big.negative() ? -big : big);
}

// round(x, n) of a float: the exact decimal expansion rounded half to even, then read back.
double round_real(double d, int64_t digits) {
  if (!std::isfinite(d) || digits > 330) return d;
  if (digits < -310) return std::copysign(0.0, d);
  if (digits >= 0) {
    char buffer[1024];
    const auto r = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed, static_cast<int>(digits));
    double out = d;
    std::from_chars(buffer, r.ptr, out);
    return out;
  }
  const long double unit = std::pow(10.0L, static_cast<long double>(-digits));
  return static_cast<double>(std::nearbyint(static_cast<long double>(d) / unit) * unit);
}

// round(n, -digits) of an integer: half to even.
Value round_int(Interp& in, const Value& v, int64_t digits) {
  if (digits >= 0) return v.is(Kind::Bool) ? Value(v.integer()) : v;
  if (digits < -4000) return Value(0);
  BigInt unit(1), quotient, rest;
  for (int64_t i = digits; i < 0; ++i) unit = unit * BigInt(10);
  BigInt::divide(to_big(v), unit, &quotient, &rest);
  const int half = (rest + rest).compare(unit);
  if (half > 0 || (half == 0 && quotient.odd())) quotient = quotient + BigInt(1);
  return in.integer(quotient * unit);
}

Value round_filter(Interp& in, Args& args) {
  const auto a = bind(in, "round", args, {"value", "precision", "method"}, 1);
  const std::string method = a[2].missing() ? "common" : string_of(in, a[2], "round").text;
  if (method != "common" && method != "ceil" && method != "floor")
    in.fail(Err::FilterArgument, "method must be common, ceil or floor");
  const Value& v = a[0];
  if (!v.is_number()) in.fail(Err::Type, "type {} doesn't define __round__ method", type_name(v));
  if (!a[1].missing() && a[1].is_none() && method == "common") {
    if (v.is_int()) return round_int(in, v, 0);
    if (!std::isfinite(v.real())) in.fail(Err::Value, "cannot convert float NaN or infinity to integer");
    return in.integer(BigInt::from_double(std::nearbyint(v.real())));
  }
  const int64_t digits = a[1].missing() ? 0 : index_of(in, a[1]);
  if (method == "common") return v.is_int() ? round_int(in, v, digits) : Value(round_real(v.real(), digits));
  if (digits > 300 || digits < -300) in.fail(Err::Overflow, "round: a precision of {} digits", digits);
  const double scale = std::pow(10.0, static_cast<double>(digits)), d = (v.is_int() ? to_double(v) : v.real()) * scale;
  if (!std::isfinite(d)) in.fail(Err::Overflow, "cannot convert float infinity to integer");
  return Value((method == "ceil" ? std::ceil(d) : std::floor(d)) / scale);
}

Value sum(Interp& in, Args& args) {
  const auto a = bind(in, "sum", args, {"iterable", "attribute", "start"}, 1);
  const AttributePath path(in, a[1]);
  Value total = a[2].missing() ? Value(0) : a[2];
  if (total.is_string()) in.fail(Err::Type, "sum() can't sum strings [use ''.join(seq) instead]");
  const auto it = iterate(in, a[0]);
  for (Value item; it->next(in, &item);) total = binary(in, Op::Add, total, path(in, item));
  return total;
}

Value filesizeformat(Interp& in, Args& args) {
  const auto a = bind(in, "filesizeformat", args, {"value", "binary"}, 1);
  double bytes;
  if (a[0].undefined()) in.fail_undefined(a[0]);
  if (a[0].is_string()) {
    if (!parse_float(a[0].as<StringObj>()->text, &bytes))
      in.fail(Err::Value, "could not convert string to float: {}", to_repr(in, a[0]));
  } else if (a[0].is_number()) {
    bytes = a[0].is(Kind::Float) ? a[0].real() : to_double(a[0]);
  } else {
    in.fail(Err::Type, "float() argument must be a string or a real number, not '{}'", type_name(a[0]));
  }
  const bool binary_units = !a[1].missing() && truthy(a[1]);
  const double base = binary_units ? 1024 : 1000;
  if (bytes == 1) return in.str("1 Byte");
  if (std::isnan(bytes)) in.fail(Err::Value, "cannot convert float NaN to integer");
  if (bytes < base) {
    if (std::isinf(bytes)) in.fail(Err::Overflow, "cannot convert float infinity to integer");
    return in.str(fmt::format("{} Bytes", BigInt::from_double(std::trunc(bytes)).to_string()));
  }
  double unit = base;
  const char* prefix = "";
  for (const char* p : {"k", "M", "G", "T", "P", "E", "Z", "Y"}) {
    prefix = p;
    unit *= base;
    if (bytes < unit) break;
  }
  const std::string letter = binary_units && *prefix == 'k' ? "K" : prefix;
  return in.str(fmt::format("{:.1f} {}{}", base * bytes / unit, letter, binary_units ? "iB" : "B"));
}

constexpr Builtin kFilters[] = {{"int", int_filter}, {"float", float_filter},
                                {"abs", absolute},   {"round", round_filter},
                                {"sum", sum},        {"filesizeformat", filesizeformat}};

}  // namespace

std::span<const Builtin> number_filters() { return kFilters; }

}  // namespace tally::text::jinja
