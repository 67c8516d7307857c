// Methods of list, tuple, range and dict. Those that change their object are allowed, as in other engines; templates
// in use need append and pop.
#include <algorithm>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

void no_arguments(Interp& in, const char* name, Args& args) { bind(in, name, args, 0, {}, 0, nullptr); }

ListObj& list_of(const Value& self) { return *self.as<ListObj>(); }

// After items were added: counts them, and lets the heap end cycles.
void grown(Interp& in, const Value& self, const Value& added) {
  ListObj& l = list_of(self);
  if (added.is_object() && !added.is_string()) in.heap.track(&l);
  in.heap.charge(&l, sizeof(ListObj) + l.items.capacity() * sizeof(Value));
}

void before_growth(Interp& in, const Value& self, size_t n = 1) {
  const auto& items = list_of(self).items;
  if (items.size() + n > items.capacity()) in.reserve((items.size() + n) * 2, sizeof(Value));
}

Value append(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "append", args, {""}, 1);
  before_growth(in, self);
  list_of(self).items.push_back(a[0]);
  grown(in, self, a[0]);
  return Value::none();
}

Value extend(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "extend", args, {""}, 1);
  const auto more = to_vector(in, a[0]);
  before_growth(in, self, more.size());
  auto& items = list_of(self).items;
  items.insert(items.end(), more.begin(), more.end());
  grown(in, self, a[0]);
  return Value::none();
}

Value insert(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "insert", args, {"", ""}, 2);
  auto& items = list_of(self).items;
  const int64_t n = static_cast<int64_t>(items.size());
  int64_t i = index_of(in, a[0]);
  i = i < 0 ? std::max<int64_t>(0, i < -n ? 0 : i + n) : std::min(i, n);
  before_growth(in, self);
  in.step(static_cast<uint64_t>(n - i) / 8 + 1);
  items.insert(items.begin() + i, a[1]);
  grown(in, self, a[1]);
  return Value::none();
}

Value pop(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "pop", args, {""}, 0);
  auto& items = list_of(self).items;
  const int64_t n = static_cast<int64_t>(items.size());
  if (n == 0) in.fail(Err::Index, "pop from empty list");
  int64_t i = a[0].missing() ? n - 1 : index_of(in, a[0]);
  if (i < 0) i += n;
  if (i < 0 || i >= n) in.fail(Err::Index, "pop index out of range");
  in.step(static_cast<uint64_t>(n - i) / 8 + 1);
  Value v = std::move(items[static_cast<size_t>(i)]);
  items.erase(items.begin() + i);
  return v;
}

// Items of a list, tuple or range as they are now.
std::vector<Value> items_of(Interp& in, const Value& self) { return to_vector(in, self); }

Value index(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "index", args, {"", "", ""}, 1);
  const auto items = items_of(in, self);
  const int64_t n = static_cast<int64_t>(items.size());
  auto bound = [&](const Value& v, int64_t otherwise) {
    if (v.missing()) return otherwise;
    const int64_t i = index_of(in, v);
    return i < 0 ? std::max<int64_t>(0, i < -n ? 0 : i + n) : std::min(i, n);
  };
  const int64_t end = bound(a[2], n);
  for (int64_t i = bound(a[1], 0); i < end; ++i)
    if (equal(in, items[static_cast<size_t>(i)], a[0])) return Value(i);
  if (self.is(Kind::Tuple)) in.fail(Err::Value, "tuple.index(x): x not in tuple");
  in.fail(Err::Value, "{} is not in {}", to_repr(in, a[0]), type_name(self));
}

Value count(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "count", args, {""}, 1);
  int64_t n = 0;
  for (const auto& item : items_of(in, self)) n += equal(in, item, a[0]);
  return Value(n);
}

Value remove(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "remove", args, {""}, 1);
  auto& items = list_of(self).items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!equal(in, items[i], a[0])) continue;
    const Value gone = std::move(items[i]);
    items.erase(items.begin() + static_cast<ptrdiff_t>(i));
    return Value::none();
  }
  in.fail(Err::Value, "list.remove(x): x not in list");
}

Value reverse(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "reverse", args);
  in.step(list_of(self).items.size());
  std::reverse(list_of(self).items.begin(), list_of(self).items.end());
  return Value::none();
}

Value sort(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "sort", args, {"key", "reverse"}, 0);
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& item : items_of(in, self)) {
    Args one;
    one.pos.push_back(item);
    keyed.emplace_back(a[0].missing() || a[0].is_none() ? item : in.call(a[0], one), item);
  }
  sort_values(in, &keyed, !a[1].missing() && truthy(a[1]));
  std::vector<Value> sorted;
  for (auto& [key, item] : keyed) sorted.push_back(std::move(item));
  list_of(self).items.swap(sorted);
  return Value::none();
}

Value clear(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "clear", args);
  std::vector<Value> old;
  old.swap(list_of(self).items);
  return Value::none();
}

Value copy(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "copy", args);
  return in.list(items_of(in, self));
}

constexpr Method kListMethods[] = {{"append", append}, {"extend", extend}, {"insert", insert}, {"pop", pop},
                                   {"index", index},   {"count", count},   {"remove", remove}, {"reverse", reverse},
                                   {"sort", sort},     {"clear", clear},   {"copy", copy}};

// ---- dict

DictObj& dict_of(const Value& self) { return *self.as<DictObj>(); }

template <ViewObj::What what>
Value view(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "dict view", args);
  return Value(in.heap.make<ViewObj>(Ref<DictObj>(self.as<DictObj>()), what));
}

Value get(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "get", args, {"", ""}, 1);
  const int64_t at = dict_of(self).find(in, a[0], hash_value(in, a[0]));
  if (at >= 0) return dict_of(self).entries[static_cast<size_t>(at)].value;
  return a[1].missing() ? Value::none() : a[1];
}

void put(Interp& in, const Value& self, const Value& key, const Value& value) {
  if ((value.is_object() && !value.is_string()) || key.is(Kind::Tuple)) in.heap.track(self.object());
  dict_of(self).set(in, key, hash_value(in, key), value);
}

Value setdefault(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "setdefault", args, {"", ""}, 1);
  const int64_t at = dict_of(self).find(in, a[0], hash_value(in, a[0]));
  if (at >= 0) return dict_of(self).entries[static_cast<size_t>(at)].value;
  const Value value = a[1].missing() ? Value::none() : a[1];
  put(in, self, a[0], value);
  return value;
}

Value dict_pop(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "pop", args, {"", ""}, 1);
  const int64_t at = dict_of(self).find(in, a[0], hash_value(in, a[0]));
  if (at < 0) {
    if (a[1].missing()) in.fail(Err::Key, to_repr(in, a[0]));
    return a[1];
  }
  Value v = dict_of(self).entries[static_cast<size_t>(at)].value;
  dict_of(self).erase(static_cast<size_t>(at));
  return v;
}

Value popitem(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "popitem", args);
  auto& entries = dict_of(self).entries;
  for (size_t i = entries.size(); i-- > 0;) {
    in.step();
    if (!entries[i].live()) continue;
    Value pair = in.tuple({entries[i].key, entries[i].value});
    dict_of(self).erase(i);
    return pair;
  }
  in.fail(Err::Key, "'popitem(): dictionary is empty'");
}

Value update(Interp& in, const Value& self, Args& args) {
  if (args.pos.size() > 1) in.fail(Err::Type, "update expected at most 1 argument, got {}", args.pos.size());
  if (!args.pos.empty() && args.pos[0].is(Kind::Dict)) {
    const Ref<DictObj> from(args.pos[0].as<DictObj>());
    for (size_t i = 0; i < from->entries.size(); ++i) {
      if (!from->entries[i].live()) continue;
      const Value key = from->entries[i].key, value = from->entries[i].value;
      put(in, self, key, value);
    }
  } else if (!args.pos.empty()) {
    const auto it = iterate(in, args.pos[0]);
    for (Value item; it->next(in, &item);) {
      if (!is_iterable(item)) in.fail(Err::Type, "cannot convert dictionary update sequence element #0 to a sequence");
      const auto pair = to_vector(in, item);
      if (pair.size() != 2)
        in.fail(Err::Value, "dictionary update sequence element #0 has length {}; 2 is required", pair.size());
      put(in, self, pair[0], pair[1]);
    }
  }
  for (const auto& [key, value] : args.kw) put(in, self, key, value);
  return Value::none();
}

Value dict_copy(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "copy", args);
  auto d = in.dict();
  for (const auto& e : dict_of(self).entries)
    if (e.live()) d->set(in, e.key, e.hash, e.value);
  return Value(d);
}

Value dict_clear(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "clear", args);
  dict_of(self).clear();
  return Value::none();
}

Value fromkeys(Interp& in, const Value&, Args& args) {
  const auto a = bind(in, "fromkeys", args, {"", ""}, 1);
  auto d = in.dict();
  const auto it = iterate(in, a[0]);
  for (Value key; it->next(in, &key);) d->set(in, key, hash_value(in, key), a[1].missing() ? Value::none() : a[1]);
  return Value(d);
}

constexpr Method kDictMethods[] = {{"items", view<ViewObj::What::Items>},
                                   {"keys", view<ViewObj::What::Keys>},
                                   {"values", view<ViewObj::What::Values>},
                                   {"get", get},
                                   {"setdefault", setdefault},
                                   {"pop", dict_pop},
                                   {"popitem", popitem},
                                   {"update", update},
                                   {"copy", dict_copy},
                                   {"clear", dict_clear},
                                   {"fromkeys", fromkeys}};

}  // namespace

std::span<const Method> list_methods() { return kListMethods; }
std::span<const Method> dict_methods() { return kDictMethods; }

}  // namespace tally::text::jinja
