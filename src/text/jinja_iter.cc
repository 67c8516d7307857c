#include "text/jinja_iter.h"

#include "text/jinja_ops.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

// By index into the list as it is now, so that a body that appends is seen.
struct ListIterator : IteratorObj {
  explicit ListIterator(const Value& v) : IteratorObj(v.is(Kind::List) ? "list_iterator" : "tuple_iterator"), list(v) {}
  void clear() override { list = Value(); }
  bool next(Interp& in, Value* out) override {
    in.step();
    if (list.missing() || at >= list.as<ListObj>()->items.size()) return false;
    *out = list.as<ListObj>()->items[at++];
    return true;
  }
  Value list;
  size_t at = 0;
};

struct DictIterator : IteratorObj {
  DictIterator(Ref<DictObj> d, ViewObj::What w) : IteratorObj("dict_keyiterator"), dict(std::move(d)), what(w) {
    if (dict) n_live = dict->size();
  }
  void clear() override { dict = {}; }
  bool next(Interp& in, Value* out) override {
    in.step();
    if (!dict) return false;
    if (dict->size() != n_live) in.fail(Err::Runtime, "dictionary changed size during iteration");
    while (at < dict->entries.size() && !dict->entries[at].live()) ++at;
    if (at >= dict->entries.size()) return false;
    *out = item_of_dict(in, *dict, at++, what);
    return true;
  }
  Ref<DictObj> dict;
  ViewObj::What what;
  size_t at = 0, n_live = 0;
};

struct StringIterator : IteratorObj {
  explicit StringIterator(const Value& v) : IteratorObj("str_iterator"), text(v) {}
  bool next(Interp& in, Value* out) override {
    in.step();
    const auto& s = text.as<StringObj>()->text;
    if (at >= s.size()) return false;
    const size_t n = std::min<size_t>(utf8_length(s[at]), s.size() - at);
    *out = in.str(s.substr(at, n));
    at += n;
    return true;
  }
  Value text;
  size_t at = 0;
};

struct RangeIterator : IteratorObj {
  explicit RangeIterator(const RangeObj& r)
      : IteratorObj("range_iterator"), value(r.start), step(r.step), left(r.length()) {}
  bool next(Interp& in, Value* out) override {
    in.step();
    if (left == 0) return false;
    *out = Value(value);
    if (--left > 0) value += step;
    return true;
  }
  int64_t value, step, left;
};

struct EmptyIterator : IteratorObj {
  EmptyIterator() : IteratorObj("generator") {}
  bool next(Interp&, Value*) override { return false; }
};

}  // namespace

Value item_of_dict(Interp& in, const DictObj& dict, size_t position, ViewObj::What what) {
  const auto& e = dict.entries[position];
  if (what == ViewObj::What::Keys) return e.key;
  if (what == ViewObj::What::Values) return e.value;
  return in.tuple({e.key, e.value});
}

bool is_iterable(const Value& v) {
  switch (v.kind()) {
    case Kind::Undefined:
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::View:
    case Kind::Iterator:
    case Kind::Loop:
      return true;
    default:
      return false;
  }
}

namespace {

// A loop iterates over pairs of item and itself, and shares its position.
struct LoopIterator : IteratorObj {
  explicit LoopIterator(const Value& v) : IteratorObj("LoopContext"), loop(v) {}
  void clear() override { loop = Value(); }
  bool next(Interp& in, Value* out) override {
    Value item;
    if (loop.missing() || !loop.as<LoopObj>()->advance(in, &item)) return false;
    *out = in.tuple({item, loop});
    return true;
  }
  Value loop;
};

}  // namespace

Ref<IteratorObj> iterate(Interp& in, const Value& v) {
  switch (v.kind()) {
    case Kind::Undefined:
      return Ref<IteratorObj>(in.heap.make<EmptyIterator>());
    case Kind::String:
      return Ref<IteratorObj>(in.heap.make<StringIterator>(v));
    case Kind::List:
    case Kind::Tuple:
      return Ref<IteratorObj>(in.heap.make<ListIterator>(v));
    case Kind::Dict:
      return Ref<IteratorObj>(in.heap.make<DictIterator>(Ref<DictObj>(v.as<DictObj>()), ViewObj::What::Keys));
    case Kind::View:
      return Ref<IteratorObj>(in.heap.make<DictIterator>(v.as<ViewObj>()->dict, v.as<ViewObj>()->what));
    case Kind::Range:
      return Ref<IteratorObj>(in.heap.make<RangeIterator>(*v.as<RangeObj>()));
    case Kind::Iterator:
      return Ref<IteratorObj>(v.as<IteratorObj>());
    case Kind::Loop:
      return Ref<IteratorObj>(in.heap.make<LoopIterator>(v));
    default:
      in.fail(Err::Type, "'{}' object is not iterable", type_name(v));
  }
}

std::vector<Value> to_vector(Interp& in, const Value& v) {
  std::vector<Value> items;
  if (v.is_sequence()) {
    items = v.as<ListObj>()->items;
    in.step(items.size() + 1);
    in.reserve(items.size(), sizeof(Value));
    return items;
  }
  const auto it = iterate(in, v);
  uint64_t reserved = 0;
  for (Value item; it->next(in, &item);) {
    if (items.size() >= reserved) {
      reserved = reserved * 2 + 16;
      in.reserve(reserved, sizeof(Value));
    }
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace tally::text::jinja
