#include "text/jinja_ops.h"

#include <bit>
#include <cmath>

#include "base/hash.h"
#include "base/rng.h"
#include "text/jinja_access.h"
#include "text/jinja_iter.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {

bool truthy(const Value& v) {
  switch (v.kind()) {
    case Kind::Missing:
    case Kind::None:
    case Kind::Undefined:
      return false;
    case Kind::Bool:
    case Kind::Int:
      return v.integer() != 0;
    case Kind::Float:
      return v.real() != 0;
    case Kind::String:
      return !v.as<StringObj>()->text.empty();
    case Kind::List:
    case Kind::Tuple:
      return !v.as<ListObj>()->items.empty();
    case Kind::Dict:
      return v.as<DictObj>()->size() > 0;
    case Kind::View:
      return v.as<ViewObj>()->dict && v.as<ViewObj>()->dict->size() > 0;
    case Kind::Range:
      return v.as<RangeObj>()->length() > 0;
    default:
      return true;
  }
}

const char* type_name(const Value& v) {
  switch (v.kind()) {
    case Kind::Missing:
      return "missing";
    case Kind::None:
      return "NoneType";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
    case Kind::BigInt:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::Undefined:
      return "Undefined";
    case Kind::String:
      return v.as<StringObj>()->markup ? "Markup" : "str";
    case Kind::List:
      return "list";
    case Kind::Tuple:
      return v.as<ListObj>()->group ? "_GroupTuple" : "tuple";
    case Kind::Dict:
      return "dict";
    case Kind::Range:
      return "range";
    case Kind::View:
      switch (v.as<ViewObj>()->what) {
        case ViewObj::What::Keys:
          return "dict_keys";
        case ViewObj::What::Values:
          return "dict_values";
        default:
          return "dict_items";
      }
    case Kind::Namespace:
      return "Namespace";
    case Kind::Iterator:
      return v.as<IteratorObj>()->type_name;
    case Kind::Slice:
      return "slice";
    case Kind::Loop:
      return "LoopContext";
    case Kind::Macro:
      return "Macro";
    case Kind::Function:
      return "function";
    case Kind::Method:
      return "builtin_function_or_method";
    case Kind::Cycler:
      return "Cycler";
    case Kind::Joiner:
      return "Joiner";
    case Kind::Env:
      return "frame";
  }
  return "object";
}

BigInt to_big(const Value& v) { return v.is(Kind::BigInt) ? v.as<BigIntObj>()->value : BigInt(v.integer()); }
double to_double(const Value& v) {
  return v.is(Kind::BigInt) ? v.as<BigIntObj>()->value.to_double() : static_cast<double>(v.integer());
}

int64_t index_of(Interp& in, const Value& v) {
  if (v.is_small_int()) return v.integer();
  if (v.is(Kind::BigInt)) return v.as<BigIntObj>()->value.negative() ? INT64_MIN : INT64_MAX;
  if (v.undefined()) in.fail_undefined(v);
  in.fail(Err::Type, "'{}' object cannot be interpreted as an integer", type_name(v));
}

namespace {

// -1, 0, 1, or 2 when one is not a number.
int compare_numbers(const Value& a, const Value& b) {
  auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  const bool real_a = a.is(Kind::Float), real_b = b.is(Kind::Float);
  if (!real_a && !real_b) {
    if (a.is_small_int() && b.is_small_int()) return sign(a.integer(), b.integer());
    return to_big(a).compare(to_big(b));
  }
  if (real_a && real_b) {
    if (std::isnan(a.real()) || std::isnan(b.real())) return 2;
    return sign(a.real(), b.real());
  }
  if (real_b) {
    const int c = compare_numbers(b, a);
    return c == 2 ? 2 : -c;
  }
  const double d = a.real();  // against an integer, exactly
  if (std::isnan(d)) return 2;
  if (std::isinf(d)) return d < 0 ? -1 : 1;
  const int whole = BigInt::from_double(std::floor(d)).compare(to_big(b));
  return whole != 0 ? whole : (d > std::floor(d) ? 1 : 0);
}

bool equal_dicts(Interp& in, const DictObj& a, const DictObj& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.entries.size(); ++i) {
    const auto& e = a.entries[i];
    if (!e.live()) continue;
    in.step();
    const int64_t at = b.find(in, e.key, e.hash);
    if (at < 0 || !equal(in, e.value, b.entries[static_cast<size_t>(at)].value)) return false;
  }
  return true;
}

bool equal_ranges(const RangeObj& a, const RangeObj& b) {
  const int64_t n = a.length();
  if (n != b.length()) return false;
  return n == 0 || (a.start == b.start && (n == 1 || a.step == b.step));
}

bool equal_views(Interp& in, const ViewObj& a, const ViewObj& b) {
  if (a.what == ViewObj::What::Values || a.what != b.what) return &a == &b;
  if (!a.dict || !b.dict || a.dict->size() != b.dict->size()) return false;
  if (a.what == ViewObj::What::Items) return equal_dicts(in, *a.dict, *b.dict);
  for (const auto& e : a.dict->entries)
    if (e.live() && b.dict->find(in, e.key, e.hash) < 0) return false;
  return true;
}

bool equal_sequences(Interp& in, const ListObj& a, const ListObj& b) {
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!equal(in, a.items[i], b.items[i])) return false;
  return true;
}

}  // namespace

bool equal(Interp& in, const Value& a, const Value& b) {
  in.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::String: {
      const auto &x = a.as<StringObj>()->text, &y = b.as<StringObj>()->text;
      if (x.size() != y.size()) return false;
      in.step_bytes(x.size());
      return x == y;
    }
    case Kind::Undefined:
    case Kind::None:
      return true;
    case Kind::Range:
      return equal_ranges(*a.as<RangeObj>(), *b.as<RangeObj>());
    default:
      break;
  }
  if (a.same(b)) return true;
  const Interp::Nested nested(in);
  switch (a.kind()) {
    case Kind::List:
    case Kind::Tuple:
      return equal_sequences(in, *a.as<ListObj>(), *b.as<ListObj>());
    case Kind::Dict:
      return equal_dicts(in, *a.as<DictObj>(), *b.as<DictObj>());
    case Kind::View:
      return equal_views(in, *a.as<ViewObj>(), *b.as<ViewObj>());
    case Kind::Slice: {
      const auto &x = *a.as<SliceObj>(), &y = *b.as<SliceObj>();
      return equal(in, x.start, y.start) && equal(in, x.stop, y.stop) && equal(in, x.step, y.step);
    }
    case Kind::Method:
      return a.as<MethodObj>()->method == b.as<MethodObj>()->method &&
             a.as<MethodObj>()->self.same(b.as<MethodObj>()->self);
    case Kind::Function:
      return a.as<FunctionObj>()->code == b.as<FunctionObj>()->code;
    default:
      return false;
  }
}

bool ordered(Interp& in, Op op, const Value& a, const Value& b) {
  in.step();
  auto decide = [op](int c) {
    switch (op) {
      case Op::Lt:
        return c < 0;
      case Op::Le:
        return c <= 0;
      case Op::Gt:
        return c > 0;
      default:
        return c >= 0;
    }
  };
  if (a.is_number() && b.is_number()) {
    const int c = compare_numbers(a, b);
    return c != 2 && decide(c);
  }
  if (a.undefined()) in.fail_undefined(a);
  if (b.undefined()) in.fail_undefined(b);
  if (a.is_string() && b.is_string()) {
    in.step_bytes(std::min(a.as<StringObj>()->text.size(), b.as<StringObj>()->text.size()));
    return decide(a.as<StringObj>()->text.compare(b.as<StringObj>()->text));  // UTF-8 keeps the order of code points
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const Interp::Nested nested(in);
    const auto &x = a.as<ListObj>()->items, &y = b.as<ListObj>()->items;
    for (size_t i = 0; i < x.size() && i < y.size(); ++i)
      if (!equal(in, x[i], y[i])) return ordered(in, op, x[i], y[i]);
    return decide(x.size() < y.size() ? -1 : x.size() > y.size());
  }
  const char* symbol = op == Op::Lt ? "<" : op == Op::Le ? "<=" : op == Op::Gt ? ">" : ">=";
  in.fail(Err::Type, "'{}' not supported between instances of '{}' and '{}'", symbol, type_name(a), type_name(b));
}

bool compare(Interp& in, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::Eq:
      return equal(in, a, b);
    case Op::Ne:
      return !equal(in, a, b);
    case Op::In:
      return contains(in, b, a);
    case Op::NotIn:
      return !contains(in, b, a);
    default:
      return ordered(in, op, a, b);
  }
}

bool contains(Interp& in, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::String: {
      if (!item.is_string())
        in.fail(Err::Type, "'in <string>' requires string as left operand, not {}", type_name(item));
      const auto& text = container.as<StringObj>()->text;
      in.step_bytes(text.size());
      return text.find(item.as<StringObj>()->text) != std::string::npos;
    }
    case Kind::Dict:
      return container.as<DictObj>()->find(in, item, hash_value(in, item)) >= 0;
    case Kind::Range:
      if (item.is_small_int()) {
        const RangeObj& r = *container.as<RangeObj>();
        const int64_t x = item.integer();
        const bool inside = r.step > 0 ? x >= r.start && x < r.stop : x <= r.start && x > r.stop;
        return inside && (x - r.start) % r.step == 0;
      }
      break;
    case Kind::View:
      if (const auto& view = *container.as<ViewObj>(); view.what == ViewObj::What::Keys && view.dict)
        return view.dict->find(in, item, hash_value(in, item)) >= 0;
      break;
    default:
      break;
  }
  if (container.is_sequence()) {
    const auto& items = container.as<ListObj>()->items;
    for (size_t i = 0; i < items.size(); ++i)
      if (equal(in, items[i], item)) return true;
    return false;
  }
  if (!is_iterable(container)) in.fail(Err::Type, "argument of type '{}' is not iterable", type_name(container));
  const auto it = iterate(in, container);
  for (Value v; it->next(in, &v);)
    if (equal(in, v, item)) return true;
  return false;
}

uint64_t hash_value(Interp& in, const Value& v) {
  switch (v.kind()) {
    case Kind::String:
      in.step_bytes(v.as<StringObj>()->text.size());
      return hash_bytes(v.as<StringObj>()->text.data(), v.as<StringObj>()->text.size());
    case Kind::Bool:
    case Kind::Int:
      return mix64(static_cast<uint64_t>(v.integer()));
    case Kind::Float:
    case Kind::BigInt: {
      const double d = v.is(Kind::Float) ? v.real() : to_double(v);
      if (d == std::floor(d) && d >= -0x1p63 && d < 0x1p63)
        return mix64(static_cast<uint64_t>(static_cast<int64_t>(d)));
      return mix64(std::bit_cast<uint64_t>(d));
    }
    case Kind::Tuple: {
      const Interp::Nested nested(in);
      uint64_t h = 7;
      for (const auto& item : v.as<ListObj>()->items) h = mix64(h ^ hash_value(in, item));
      return h;
    }
    case Kind::Missing:
    case Kind::None:
    case Kind::Undefined:
      return static_cast<uint64_t>(v.kind());
    case Kind::Range: {
      const RangeObj& r = *v.as<RangeObj>();
      const int64_t n = r.length();
      return mix64(static_cast<uint64_t>(n) ^ mix64(n ? static_cast<uint64_t>(r.start) : 0));
    }
    case Kind::Function:
      return mix64(reinterpret_cast<uint64_t>(v.as<FunctionObj>()->code));
    case Kind::Method:
      return mix64(reinterpret_cast<uint64_t>(v.as<MethodObj>()->method));
    case Kind::List:
    case Kind::Dict:
    case Kind::View:
    case Kind::Slice:
      in.fail(Err::Type, "unhashable type: '{}'", type_name(v));
    default:
      return mix64(reinterpret_cast<uint64_t>(v.object()));
  }
}

bool length_of(Interp& in, const Value& v, int64_t* n) {
  switch (v.kind()) {
    case Kind::String:
      *n = static_cast<int64_t>(v.as<StringObj>()->length());
      return true;
    case Kind::List:
    case Kind::Tuple:
      *n = static_cast<int64_t>(v.as<ListObj>()->items.size());
      return true;
    case Kind::Dict:
      *n = static_cast<int64_t>(v.as<DictObj>()->size());
      return true;
    case Kind::View:
      *n = v.as<ViewObj>()->dict ? static_cast<int64_t>(v.as<ViewObj>()->dict->size()) : 0;
      return true;
    case Kind::Range:
      *n = v.as<RangeObj>()->length();
      return true;
    case Kind::Undefined:
      *n = 0;
      return true;
    case Kind::Loop:
      *n = v.as<LoopObj>()->length(in);
      return true;
    default:
      return false;
  }
}

}  // namespace tally::text::jinja
