// Filters on sequences: order, parts, groups.
#include <algorithm>

#include "base/rng.h"
#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_strings.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

bool flag(const Value& v) { return !v.missing() && truthy(v); }

Value first(Interp& in, Args& args) {
  const auto a = bind(in, "first", args, {"seq"}, 1);
  const auto it = iterate(in, a[0]);
  Value v;
  return it->next(in, &v) ? v : in.undefined("No first item, sequence was empty.");
}

// The items backwards; false where Python's reversed() refuses.
bool reversed(Interp& in, const Value& v, std::vector<Value>* out) {
  switch (v.kind()) {
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::View:
    case Kind::Range:
    case Kind::Undefined:
      break;
    default:
      return false;
  }
  *out = to_vector(in, v);
  std::reverse(out->begin(), out->end());
  return true;
}

Value last(Interp& in, Args& args) {
  const auto a = bind(in, "last", args, {"seq"}, 1);
  if (a[0].is_sequence()) {  // the common case without a copy
    const auto& items = a[0].as<ListObj>()->items;
    return items.empty() ? in.undefined("No last item, sequence was empty.") : items.back();
  }
  std::vector<Value> items;
  if (!reversed(in, a[0], &items)) in.fail(Err::Type, "'{}' object is not reversible", type_name(a[0]));
  return items.empty() ? in.undefined("No last item, sequence was empty.") : items[0];
}

struct ItemsIterator : IteratorObj {
  ItemsIterator(const char* type, std::vector<Value> v) : IteratorObj(type), items(std::move(v)) {}
  void clear() override { items.clear(); }
  bool next(Interp& in, Value* out) override {
    in.step();
    if (at >= items.size()) return false;
    *out = items[at++];
    return true;
  }
  std::vector<Value> items;
  size_t at = 0;
};

Value reverse(Interp& in, Args& args) {
  const auto a = bind(in, "reverse", args, {"value"}, 1);
  if (a[0].is_string())
    return slice_of(in, a[0], *Ref<SliceObj>(in.heap.make<SliceObj>(Value::none(), Value::none(), Value(-1))));
  std::vector<Value> items;
  if (reversed(in, a[0], &items)) {
    const Ref<ItemsIterator> it(in.heap.make<ItemsIterator>("reversed", std::move(items)));
    in.heap.charge(it.get(), it->items.capacity() * sizeof(Value));
    return Value(it);
  }
  if (!is_iterable(a[0])) in.fail(Err::FilterArgument, "argument must be iterable");
  items = to_vector(in, a[0]);
  std::reverse(items.begin(), items.end());
  return in.list(std::move(items));
}

Value list(Interp& in, Args& args) {
  const auto a = bind(in, "list", args, {"value"}, 1);
  return in.list(to_vector(in, a[0]));
}

Value length(Interp& in, Args& args) {
  const auto a = bind(in, "len", args, {""}, 1);
  int64_t n;
  if (!length_of(in, a[0], &n)) in.fail(Err::Type, "object of type '{}' has no len()", type_name(a[0]));
  return Value(n);
}

Value join(Interp& in, Args& args) {
  const auto a = bind(in, "join", args, {"value", "d", "attribute"}, 1);
  const AttributePath path(in, a[2]);
  const std::string separator = a[1].missing() ? "" : to_str(in, a[1]);
  std::string out;
  const auto it = iterate(in, a[0]);
  bool begun = false;
  for (Value item; it->next(in, &item);) {
    if (begun) out += separator;
    begun = true;
    append_str(in, path(in, item), &out);
    if (out.size() > in.limits.memory_bytes)
      in.fail(Err::Limit, "a text of more than {} bytes", in.limits.memory_bytes);
    in.step_bytes(separator.size());
  }
  return in.str(std::move(out));
}

// sort(attribute="a,b.c"): a list of keys an item.
Value sort(Interp& in, Args& args) {
  const auto a = bind(in, "sort", args, {"value", "reverse", "case_sensitive", "attribute"}, 1);
  std::vector<AttributePath> paths;
  if (a[3].is_string()) {
    const std::string& text = a[3].as<StringObj>()->text;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      paths.emplace_back(in, in.str(text.substr(at, end - at)));
      at = end + 1;
    }
  } else {
    paths.emplace_back(in, a[3]);
  }
  std::vector<std::pair<Value, Value>> keyed;
  for (auto& item : to_vector(in, a[0])) {
    std::vector<Value> keys;
    for (const auto& path : paths) {
      Value key = path(in, item);
      keys.push_back(flag(a[2]) ? key : lower_if_string(in, key));
    }
    keyed.emplace_back(in.list(std::move(keys)), std::move(item));
  }
  sort_values(in, &keyed, flag(a[1]));
  std::vector<Value> out;
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return in.list(std::move(out));
}

Value extreme(Interp& in, const char* name, Args& args, Op better) {
  const auto a = bind(in, name, args, {"value", "case_sensitive", "attribute"}, 1);
  const AttributePath path(in, a[2]);
  const auto it = iterate(in, a[0]);
  Value best, best_key;
  for (Value item; it->next(in, &item);) {
    Value key = path(in, item);
    if (!flag(a[1])) key = lower_if_string(in, key);
    if (!best_key.missing() && !ordered(in, better, key, best_key)) continue;
    best = std::move(item);
    best_key = std::move(key);
  }
  return best_key.missing() ? in.undefined("No aggregated item, sequence was empty.") : best;
}
Value min_filter(Interp& in, Args& args) { return extreme(in, "min", args, Op::Lt); }
Value max_filter(Interp& in, Args& args) { return extreme(in, "max", args, Op::Gt); }

Value random(Interp& in, Args& args) {
  const auto a = bind(in, "random", args, {"seq"}, 1);
  int64_t n;
  if (!length_of(in, a[0], &n)) in.fail(Err::Type, "object of type '{}' has no len()", type_name(a[0]));
  if (n == 0) return in.undefined("No random item, sequence was empty.");
  // Reproducible: a rendering depends on its variables alone.
  return get_item(in, a[0], Value(static_cast<int64_t>(random_u64(7, in.heap.live()) % static_cast<uint64_t>(n))));
}

Value groupby(Interp& in, Args& args) {
  const auto a = bind(in, "groupby", args, {"value", "attribute", "default", "case_sensitive"}, 2);
  const AttributePath path(in, a[1]);
  const bool fold = !flag(a[3]);
  std::vector<std::pair<Value, Value>> keyed;
  for (auto& item : to_vector(in, a[0])) {
    Value key = path(in, item, a[2]);
    if (fold) key = lower_if_string(in, key);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  sort_values(in, &keyed, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<Value> items;
    const Value key = keyed[i].first;
    for (; i < keyed.size() && equal(in, keyed[i].first, key); ++i) items.push_back(keyed[i].second);
    if (items.empty()) items.push_back(keyed[i++].second);  // not equal to itself: NaN
    const Value grouper = fold ? path(in, items[0], a[2]) : key;
    Value group = in.tuple({grouper, in.list(std::move(items))});
    group.as<ListObj>()->group = true;
    groups.push_back(std::move(group));
  }
  return in.list(std::move(groups));
}

struct BatchIterator : IteratorObj {
  BatchIterator(Value v, Value n, Value f)
      : IteratorObj("generator"), source(std::move(v)), count(std::move(n)), fill(std::move(f)) {}
  void clear() override {
    source = fill = pending = Value();
    items = {};
    done = true;
  }
  bool next(Interp& in, Value* out) override {
    const Interp::Nested nested(in);
    if (done) return false;
    if (!items) items = iterate(in, source);
    const bool whole = count.is_small_int();
    std::vector<Value> batch;
    if (!pending.missing()) batch.push_back(std::exchange(pending, Value()));
    for (Value v; items->next(in, &v);) {
      if (whole && static_cast<int64_t>(batch.size()) == count.integer()) {
        pending = std::move(v);
        *out = in.list(std::move(batch));
        return true;
      }
      batch.push_back(std::move(v));
      in.reserve(0, 16);
    }
    done = true;
    if (batch.empty()) return false;
    if (!fill.missing() && !fill.is_none()) {
      const int64_t n = index_of(in, count);
      if (static_cast<int64_t>(batch.size()) < n) {
        in.reserve(static_cast<uint64_t>(n), sizeof(Value));
        batch.resize(static_cast<size_t>(n), fill);
      }
    }
    *out = in.list(std::move(batch));
    return true;
  }
  Value source, count, fill, pending;
  Ref<IteratorObj> items;
  bool done = false;
};

Value batch(Interp& in, Args& args) {
  const auto a = bind(in, "batch", args, {"value", "linecount", "fill_with"}, 2);
  return Value(in.heap.make<BatchIterator>(a[0], a[1], a[2]));
}

struct SliceIterator : IteratorObj {
  SliceIterator(Value v, Value n, Value f)
      : IteratorObj("generator"), source(std::move(v)), count(std::move(n)), fill(std::move(f)) {}
  void clear() override {
    source = fill = Value();
    items.clear();
    done = true;
  }
  bool next(Interp& in, Value* out) override {
    const Interp::Nested nested(in);
    if (done) return false;
    if (!begun) {
      begun = true;
      items = to_vector(in, source);
      in.heap.charge(this, items.capacity() * sizeof(Value));
      slices = index_of(in, count);
      if (slices == 0) in.fail(Err::ZeroDivision, "integer division or modulo by zero");
    }
    const int64_t n = static_cast<int64_t>(items.size());
    if (number >= slices) {
      done = true;
      return false;
    }
    const int64_t per_slice = n / slices, with_extra = n % slices;
    const bool extra = number < with_extra;
    const int64_t start = number * per_slice + std::min(number, with_extra), end = start + per_slice + extra;
    std::vector<Value> part(items.begin() + start, items.begin() + end);
    if (!fill.missing() && !fill.is_none() && !extra) part.push_back(fill);
    ++number;
    in.step();
    *out = in.list(std::move(part));
    return true;
  }
  Value source, count, fill;
  std::vector<Value> items;
  int64_t slices = 0, number = 0;
  bool begun = false, done = false;
};

Value slice(Interp& in, Args& args) {
  const auto a = bind(in, "slice", args, {"value", "slices", "fill_with"}, 2);
  return Value(in.heap.make<SliceIterator>(a[0], a[1], a[2]));
}

constexpr Builtin kFilters[] = {{"first", first},    {"last", last},      {"reverse", reverse}, {"list", list},
                                {"length", length},  {"count", length},   {"join", join},       {"sort", sort},
                                {"min", min_filter}, {"max", max_filter}, {"random", random},   {"groupby", groupby},
                                {"batch", batch},    {"slice", slice}};

}  // namespace

std::span<const Builtin> list_filters() { return kFilters; }

}  // namespace tally::text::jinja
