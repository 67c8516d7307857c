// Arithmetic operators, and + * % of texts and sequences.
#include <cmath>

#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

const char* symbol_of(Op op) {
  switch (op) {
    case Op::Add:
      return "+";
    case Op::Sub:
      return "-";
    case Op::Mul:
      return "*";
    case Op::Div:
      return "/";
    case Op::FloorDiv:
      return "//";
    case Op::Mod:
      return "%";
    case Op::Pow:
      return "** or pow()";
    default:
      return "?";
  }
}

[[noreturn]] void unsupported(Interp& in, Op op, const Value& a, const Value& b) {
  in.fail(Err::Type, "unsupported operand type(s) for {}: '{}' and '{}'", symbol_of(op), type_name(a), type_name(b));
}

double real_of(Interp& in, const Value& v) {
  if (v.is(Kind::Float)) return v.real();
  const double d = to_double(v);
  if (std::isinf(d)) in.fail(Err::Overflow, "int too large to convert to float");
  return d;
}

// Remainder with the divisor's sign; *quotient is the floor.
double float_divmod(double a, double b, double* quotient) {
  double mod = std::fmod(a, b), div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  double floor_div = div != 0 ? std::floor(div) : std::copysign(0.0, a / b);
  if (div != 0 && div - floor_div > 0.5) floor_div += 1;
  *quotient = floor_div;
  return mod;
}

Value float_arithmetic(Interp& in, Op op, double a, double b) {
  switch (op) {
    case Op::Add:
      return Value(a + b);
    case Op::Sub:
      return Value(a - b);
    case Op::Mul:
      return Value(a * b);
    case Op::Div:
      if (b == 0) in.fail(Err::ZeroDivision, "float division by zero");
      return Value(a / b);
    default:
      break;
  }
  if (b == 0) in.fail(Err::ZeroDivision, "{}", op == Op::Mod ? "float modulo" : "float floor division by zero");
  double quotient;
  const double rest = float_divmod(a, b, &quotient);
  return Value(op == Op::Mod ? rest : quotient);
}

Value int_arithmetic(Interp& in, Op op, int64_t a, int64_t b, bool* overflow) {
  int64_t r = 0;
  *overflow = false;
  switch (op) {
    case Op::Add:
      *overflow = __builtin_add_overflow(a, b, &r);
      break;
    case Op::Sub:
      *overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case Op::Mul:
      *overflow = __builtin_mul_overflow(a, b, &r);
      break;
    default:
      if (b == 0)
        in.fail(Err::ZeroDivision, "{}",
                op == Op::Mod ? "integer modulo by zero" : "integer division or modulo by zero");
      if (b == -1) {  // INT64_MIN / -1 overflows
        *overflow = op == Op::FloorDiv && a == INT64_MIN;
        return Value(op == Op::Mod || *overflow ? int64_t{0} : -a);
      }
      r = a % b;
      if (op == Op::Mod) return Value(r != 0 && (r < 0) != (b < 0) ? r + b : r);
      return Value(a / b - (r != 0 && (r < 0) != (b < 0)));
  }
  return Value(r);
}

Value big_arithmetic(Interp& in, Op op, const BigInt& a, const BigInt& b) {
  in.step(16 + a.bits() / 64 * (b.bits() / 64 + 1));
  switch (op) {
    case Op::Add:
      return in.integer(a + b);
    case Op::Sub:
      return in.integer(a - b);
    case Op::Mul:
      return in.integer(a * b);
    default:
      break;
  }
  if (b.zero())
    in.fail(Err::ZeroDivision, "{}", op == Op::Mod ? "integer modulo by zero" : "integer division or modulo by zero");
  BigInt quotient, remainder;
  BigInt::divide(a, b, &quotient, &remainder);
  return in.integer(op == Op::Mod ? std::move(remainder) : std::move(quotient));
}

Value int_true_division(Interp& in, const Value& a, const Value& b) {
  const double y = to_double(b);
  if (y == 0) in.fail(Err::ZeroDivision, "division by zero");
  if (a.is_small_int() && b.is_small_int())
    return Value(static_cast<double>(static_cast<long double>(a.integer()) / static_cast<long double>(b.integer())));
  const double x = to_double(a);
  if (std::isinf(x) && !std::isinf(y)) in.fail(Err::Overflow, "integer division result too large for a float");
  return Value(std::isinf(x) && std::isinf(y) ? 1.0 : x / y);
}

Value add_texts(Interp& in, const StringObj& a, const StringObj& b) {
  in.reserve(a.text.size() + b.text.size(), 1);
  const bool markup = a.markup || b.markup;
  std::string text;
  if (markup && a.markup != b.markup) {
    text = a.markup ? a.text + escape_html(b.text) : escape_html(a.text) + b.text;
  } else {
    text.reserve(a.text.size() + b.text.size());
    text += a.text;
    text += b.text;
  }
  return in.str(std::move(text), markup);
}

Value add_others(Interp& in, const Value& a, const Value& b) {
  if (a.is_string()) {
    if (b.is_string()) return add_texts(in, *a.as<StringObj>(), *b.as<StringObj>());
    if (a.as<StringObj>()->markup) unsupported(in, Op::Add, a, b);
    in.fail(Err::Type, "can only concatenate str (not \"{}\") to str", type_name(b));
  }
  if (!a.is_sequence()) unsupported(in, Op::Add, a, b);
  if (a.kind() != b.kind())
    in.fail(Err::Type, "can only concatenate {0} (not \"{1}\") to {0}", a.is(Kind::List) ? "list" : "tuple",
            type_name(b));
  const auto &x = a.as<ListObj>()->items, &y = b.as<ListObj>()->items;
  in.reserve(x.size() + y.size(), sizeof(Value));
  std::vector<Value> items;
  items.reserve(x.size() + y.size());
  items.insert(items.end(), x.begin(), x.end());
  items.insert(items.end(), y.begin(), y.end());
  return a.is(Kind::List) ? in.list(std::move(items)) : in.tuple(std::move(items));
}

Value repeat(Interp& in, const Value& sequence, const Value& count) {
  if (!count.is_int()) in.fail(Err::Type, "can't multiply sequence by non-int of type '{}'", type_name(count));
  if (count.is(Kind::BigInt)) in.fail(Err::Overflow, "cannot fit 'int' into an index-sized integer");
  const uint64_t n = count.integer() > 0 ? static_cast<uint64_t>(count.integer()) : 0;
  if (sequence.is_string()) {
    const StringObj& s = *sequence.as<StringObj>();
    std::string text;
    if (n && !s.text.empty()) {
      in.reserve(n, s.text.size());
      text.reserve(n * s.text.size());
      for (uint64_t i = 0; i < n; ++i) text += s.text;
    }
    return in.str(std::move(text), s.markup);
  }
  const auto& from = sequence.as<ListObj>()->items;
  std::vector<Value> items;
  if (n && !from.empty()) {
    in.reserve(n, from.size() * sizeof(Value));
    items.reserve(n * from.size());
    for (uint64_t i = 0; i < n; ++i) items.insert(items.end(), from.begin(), from.end());
  }
  return sequence.is(Kind::List) ? in.list(std::move(items)) : in.tuple(std::move(items));
}

Value int_power(Interp& in, const Value& a, int64_t exponent) {
  BigInt base = to_big(a), result(1);
  if (base.bits() > 1 && static_cast<uint64_t>(exponent) > kBigIntBits)
    in.fail(Err::Limit, "an integer of more than {} bits", kBigIntBits);
  if (base.bits() <= 1) exponent = exponent & 1 ? 1 : (exponent ? 2 : 0);  // -1, 0 and 1
  for (; exponent; exponent >>= 1) {
    in.step(16 + base.bits() / 8);
    if (exponent & 1) result = result * base;
    if (result.too_large()) in.fail(Err::Limit, "an integer of more than {} bits", kBigIntBits);
    if (exponent > 1) base = base * base;
    if (exponent > 1 && base.too_large()) in.fail(Err::Limit, "an integer of more than {} bits", kBigIntBits);
  }
  return in.integer(std::move(result));
}

}  // namespace

Value power(Interp& in, const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) {
    if (b.is(Kind::BigInt)) {
      if (!to_big(b).negative()) return int_power(in, a, to_big(b).odd() ? INT64_MAX : INT64_MAX - 1);
    } else if (b.integer() >= 0) {
      return int_power(in, a, b.integer());
    }
  }
  const double x = real_of(in, a), y = real_of(in, b);
  if (x == 0 && y < 0) in.fail(Err::ZeroDivision, "0.0 cannot be raised to a negative power");
  if (x < 0 && std::isfinite(x) && std::isfinite(y) && y != std::floor(y))
    in.fail(Err::Value, "a negative number to a fractional power is complex, which templates do not have");
  const double r = std::pow(x, y);
  if (std::isinf(r) && std::isfinite(x) && std::isfinite(y))
    in.fail(Err::Overflow, "(34, 'Numerical result out of range')");
  return Value(r);
}

Value arithmetic(Interp& in, Op op, const Value& a, const Value& b) {
  if (op == Op::Pow) return power(in, a, b);
  if (a.is(Kind::Float) || b.is(Kind::Float)) return float_arithmetic(in, op, real_of(in, a), real_of(in, b));
  if (op == Op::Div) return int_true_division(in, a, b);
  if (a.is_small_int() && b.is_small_int()) {
    bool overflow;
    Value r = int_arithmetic(in, op, a.integer(), b.integer(), &overflow);
    if (!overflow) return r;
  }
  return big_arithmetic(in, op, to_big(a), to_big(b));
}

Value binary(Interp& in, Op op, const Value& a, const Value& b) {
  in.step();
  if (a.is_number() && b.is_number()) return arithmetic(in, op, a, b);
  if (op == Op::Mod && a.is_string()) return percent_format(in, *a.as<StringObj>(), b);
  if (a.undefined()) in.fail_undefined(a);
  if (b.undefined()) in.fail_undefined(b);
  switch (op) {
    case Op::Add:
      return add_others(in, a, b);
    case Op::Mul:
      if (a.is_string() || a.is_sequence()) return repeat(in, a, b);
      if (b.is_string() || b.is_sequence()) return repeat(in, b, a);
      break;
    default:
      break;
  }
  unsupported(in, op, a, b);
}

Value unary(Interp& in, Op op, const Value& a) {
  in.step();
  if (a.undefined()) in.fail_undefined(a);
  if (!a.is_number())
    in.fail(Err::Type, "bad operand type for unary {}: '{}'", op == Op::Neg ? "-" : "+", type_name(a));
  if (a.is(Kind::Float)) return Value(op == Op::Neg ? -a.real() : a.real());
  if (op == Op::Pos) return a.is(Kind::Bool) ? Value(a.integer()) : a;
  return in.integer(-to_big(a));
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escaped(Interp& in, const Value& v) {
  if (v.is_string() && v.as<StringObj>()->markup) return v.as<StringObj>()->text;
  return escape_html(to_str(in, v));
}

}  // namespace tally::text::jinja
