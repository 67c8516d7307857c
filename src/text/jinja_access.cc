#include "text/jinja_access.h"

#include <algorithm>

#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

Value loop_attribute(Interp& in, const Value& owner, std::string_view name) {
  LoopObj& loop = *owner.as<LoopObj>();
  if (name == "index") return Value(loop.index0 + 1);
  if (name == "index0") return Value(loop.index0);
  if (name == "first") return Value(loop.index0 == 0);
  if (name == "last") return Value(loop.peek(in).missing());
  if (name == "length") return Value(loop.length(in));
  if (name == "revindex") return Value(loop.length(in) - loop.index0);
  if (name == "revindex0") return Value(loop.length(in) - loop.index0 - 1);
  if (name == "depth") return Value(loop.depth0 + 1);
  if (name == "depth0") return Value(loop.depth0);
  if (name == "previtem") return loop.index0 == 0 ? in.undefined("there is no previous item") : loop.before;
  if (name == "nextitem") {
    const Value& next = loop.peek(in);
    return next.missing() ? in.undefined("there is no next item") : next;
  }
  return Value();
}

Value macro_attribute(Interp& in, const Value& owner, std::string_view name) {
  const Stmt& s = *owner.as<MacroObj>()->stmt;
  const FunctionInfo& f = *s.function;
  if (name == "name") return s.kind == StmtKind::Macro ? in.str(f.name) : Value::none();
  if (name == "arguments") {
    std::vector<Value> names;
    for (const auto& p : f.parameters) names.push_back(in.str(p->name));
    return in.tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value(f.slot_kwargs >= 0);
  if (name == "catch_varargs") return Value(f.slot_varargs >= 0);
  if (name == "caller") return Value(f.slot_caller >= 0 || f.explicit_caller);
  if (name == "explicit_caller") return Value(f.explicit_caller);
  return Value();
}

Value number_attribute(Interp& in, const Value& owner, std::string_view name) {
  const bool is_int = owner.is_int();
  if (name == "real") return is_int ? in.integer(to_big(owner)) : owner;
  if (name == "imag") return is_int ? Value(0) : Value(0.0);
  if (is_int && name == "numerator") return in.integer(to_big(owner));
  if (is_int && name == "denominator") return Value(1);
  return Value();
}

Value data_attribute(Interp& in, const Value& owner, std::string_view name) {
  switch (owner.kind()) {
    case Kind::Namespace: {
      const DictObj& d = *owner.as<DictObj>();
      const int64_t at = d.find(name);
      return at < 0 ? Value() : d.entries[static_cast<size_t>(at)].value;
    }
    case Kind::Loop:
      return loop_attribute(in, owner, name);
    case Kind::Macro:
      return macro_attribute(in, owner, name);
    case Kind::Bool:
    case Kind::Int:
    case Kind::BigInt:
    case Kind::Float:
      return number_attribute(in, owner, name);
    case Kind::Tuple:
      if (owner.as<ListObj>()->group && (name == "grouper" || name == "list"))
        return owner.as<ListObj>()->items[name == "list"];
      return Value();
    case Kind::Range: {
      const RangeObj& r = *owner.as<RangeObj>();
      if (name == "start") return Value(r.start);
      if (name == "stop") return Value(r.stop);
      if (name == "step") return Value(r.step);
      return Value();
    }
    case Kind::Slice: {
      const SliceObj& s = *owner.as<SliceObj>();
      return name == "start" ? s.start : name == "stop" ? s.stop : name == "step" ? s.step : Value();
    }
    case Kind::Cycler: {
      const CyclerObj& c = *owner.as<CyclerObj>();
      if (name == "current") return c.items[c.position];
      if (name == "pos") return Value(c.position);
      if (name == "items") return in.tuple(c.items);
      return Value();
    }
    case Kind::Joiner: {
      const JoinerObj& j = *owner.as<JoinerObj>();
      return name == "sep" ? j.separator : name == "used" ? Value(j.used) : Value();
    }
    default:
      return Value();
  }
}

// obj[key] as Python proper: missing where it raises TypeError or LookupError.
Value plain_item(Interp& in, const Value& owner, const Value& key) {
  if (key.is(Kind::Slice)) {
    if (owner.is_string() || owner.is_sequence() || owner.is(Kind::Range))
      return slice_of(in, owner, *key.as<SliceObj>());
    return Value();
  }
  switch (owner.kind()) {
    case Kind::Dict: {
      if (key.is(Kind::List) || key.is(Kind::Dict) || key.is(Kind::View)) return Value();
      const DictObj& d = *owner.as<DictObj>();
      const int64_t at = key.is_string() ? d.find(key.as<StringObj>()->text) : d.find(in, key, hash_value(in, key));
      return at < 0 ? Value() : d.entries[static_cast<size_t>(at)].value;
    }
    case Kind::List:
    case Kind::Tuple: {
      if (!key.is_small_int()) return Value();
      const auto& items = owner.as<ListObj>()->items;
      const int64_t n = static_cast<int64_t>(items.size()), i = key.integer() < 0 ? key.integer() + n : key.integer();
      return i < 0 || i >= n ? Value() : items[static_cast<size_t>(i)];
    }
    case Kind::String: {
      if (!key.is_small_int()) return Value();
      StringObj& s = *owner.as<StringObj>();
      const int64_t n = static_cast<int64_t>(s.length()), i = key.integer() < 0 ? key.integer() + n : key.integer();
      if (i < 0 || i >= n) return Value();
      if (!s.ascii()) in.step_bytes(s.text.size());
      const size_t at = s.ascii() ? static_cast<size_t>(i) : byte_offset(s.text, static_cast<size_t>(i));
      return in.str(s.text.substr(at, utf8_length(s.text[at])), s.markup);
    }
    case Kind::Range: {
      if (!key.is_small_int()) return Value();
      const RangeObj& r = *owner.as<RangeObj>();
      const int64_t n = r.length(), i = key.integer() < 0 ? key.integer() + n : key.integer();
      return i < 0 || i >= n ? Value() : Value(r.start + i * r.step);
    }
    default:
      return Value();
  }
}

bool has_hidden_attribute(const Value& owner, std::string_view name) {
  for (std::string_view known :
       {"__class__",        "__doc__",     "__init__",    "__eq__",           "__ne__",           "__lt__",
        "__le__",           "__gt__",      "__ge__",      "__hash__",         "__repr__",         "__str__",
        "__dir__",          "__format__",  "__reduce__",  "__reduce_ex__",    "__new__",          "__sizeof__",
        "__getattribute__", "__setattr__", "__delattr__", "__subclasshook__", "__init_subclass__"})
    if (name == known) return !owner.is(Kind::Namespace) || name == "__class__";
  int64_t ignored = 0;
  (void)ignored;
  const bool sized = owner.is_string() || owner.is_sequence() || owner.is(Kind::Dict) || owner.is(Kind::Range);
  return sized && (name == "__len__" || name == "__getitem__" || name == "__contains__" || name == "__iter__");
}

}  // namespace

Value plain_attribute(Interp& in, const Value& owner, std::string_view name) {
  Value v = data_attribute(in, owner, name);
  if (!v.missing()) return v;
  if (const Method* m = find_method(owner, name)) return in.method(owner, m);
  return Value();
}

Value get_attribute(Interp& in, const Value& owner, const Value& name) {
  if (owner.undefined()) in.fail_undefined(owner);
  const std::string& text = name.as<StringObj>()->text;
  if (text.starts_with('_')) {
    if (has_hidden_attribute(owner, text)) return in.unsafe_member(owner, name);
  } else {
    Value v = plain_attribute(in, owner, text);
    if (!v.missing()) return v;
  }
  Value v = plain_item(in, owner, name);
  return v.missing() ? in.undefined_member(owner, name) : v;
}

Value get_item(Interp& in, const Value& owner, const Value& key) {
  if (owner.undefined()) in.fail_undefined(owner);
  Value v = plain_item(in, owner, key);
  if (!v.missing()) return v;
  if (key.is_string()) {
    const std::string& text = key.as<StringObj>()->text;
    if (text.starts_with('_')) {
      if (has_hidden_attribute(owner, text)) return in.unsafe_member(owner, key);
    } else {
      v = plain_attribute(in, owner, text);
      if (!v.missing()) return v;
    }
  }
  return in.undefined_member(owner, key);
}

SliceRange slice_range(Interp& in, const SliceObj& slice, int64_t length) {
  auto bound = [&](const Value& v, int64_t otherwise) {
    if (v.is_none() || v.missing()) return otherwise;
    if (!v.is_int()) in.fail(Err::Type, "slice indices must be integers or None or have an __index__ method");
    return index_of(in, v);
  };
  const int64_t step = bound(slice.step, 1);
  if (step == 0) in.fail(Err::Value, "slice step cannot be zero");
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? length - 1 : length;
  auto clamp = [&](int64_t i) { return std::clamp(i < 0 ? (i < -length ? lowest : i + length) : i, lowest, highest); };
  const int64_t start = slice.start.is_none() ? (step < 0 ? highest : lowest) : clamp(bound(slice.start, 0));
  const int64_t stop = slice.stop.is_none() ? (step < 0 ? lowest : highest) : clamp(bound(slice.stop, 0));
  int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  if (step < 0 && start > stop) count = step == INT64_MIN ? 1 : (start - stop - 1) / -step + 1;
  return {start, count, step};
}

namespace {

Value slice_text(Interp& in, StringObj& s, const SliceRange& r) {
  in.step_bytes(s.text.size());
  if (r.step == 1) {
    const auto start = static_cast<size_t>(r.start), count = static_cast<size_t>(r.count);
    if (s.ascii()) return in.str(s.text.substr(start, count), s.markup);
    const size_t begin = byte_offset(s.text, start);
    const std::string_view rest = std::string_view(s.text).substr(begin);
    return in.str(std::string(rest.substr(0, byte_offset(rest, count))), s.markup);
  }
  std::vector<size_t> offsets;
  const bool ascii = s.ascii();
  if (!ascii)
    for (size_t at = 0; at < s.text.size(); at += utf8_length(s.text[at])) offsets.push_back(at);
  std::string out;
  for (int64_t i = 0; i < r.count; ++i) {
    const auto index = static_cast<size_t>(r.start + i * r.step), at = ascii ? index : offsets[index];
    out.append(s.text, at, utf8_length(s.text[at]));
  }
  in.step(static_cast<uint64_t>(r.count));
  return in.str(std::move(out), s.markup);
}

}  // namespace

Value slice_of(Interp& in, const Value& owner, const SliceObj& slice) {
  if (owner.undefined()) in.fail_undefined(owner);
  if (owner.is_string())
    return slice_text(in, *owner.as<StringObj>(),
                      slice_range(in, slice, static_cast<int64_t>(owner.as<StringObj>()->length())));
  if (owner.is_sequence()) {
    const auto& items = owner.as<ListObj>()->items;
    const SliceRange r = slice_range(in, slice, static_cast<int64_t>(items.size()));
    in.reserve(static_cast<uint64_t>(r.count), sizeof(Value));
    std::vector<Value> out;
    out.reserve(static_cast<size_t>(r.count));
    for (int64_t i = 0; i < r.count; ++i) out.push_back(items[static_cast<size_t>(r.start + i * r.step)]);
    return owner.is(Kind::List) ? in.list(std::move(out)) : in.tuple(std::move(out));
  }
  if (owner.is(Kind::Range)) {
    const RangeObj& from = *owner.as<RangeObj>();
    const SliceRange r = slice_range(in, slice, from.length());
    // A range holds at most kRangeMax items, so these products are small unless its step is huge.
    int64_t start, step, stop;
    if (__builtin_mul_overflow(from.step, r.step, &step) || __builtin_mul_overflow(r.start, from.step, &start) ||
        __builtin_add_overflow(start, from.start, &start) || __builtin_mul_overflow(r.count, step, &stop) ||
        __builtin_add_overflow(stop, start, &stop))
      in.fail(Err::Limit, "a slice of a range is beyond 64 bits");
    return Value(in.heap.make<RangeObj>(start, stop, step));
  }
  if (owner.is(Kind::Dict)) in.fail(Err::Type, "unhashable type: 'slice'");
  in.fail(Err::Type, "'{}' object is not subscriptable", type_name(owner));
}

}  // namespace tally::text::jinja
