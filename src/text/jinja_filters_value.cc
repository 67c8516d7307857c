// Filters on any value, on mappings, and JSON.
#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

Value default_filter(Interp& in, Args& args) {
  const auto a = bind(in, "default", args, {"value", "default_value", "boolean"}, 1);
  const bool boolean = !a[2].missing() && truthy(a[2]);
  if (!a[0].undefined() && !(boolean && !truthy(a[0]))) return a[0];
  return a[1].missing() ? in.str("") : a[1];
}

Value attr(Interp& in, Args& args) {
  const auto a = bind(in, "attr", args, {"obj", "name"}, 2);
  const std::string& name = string_of(in, a[1], "attr").text;
  if (a[0].undefined()) in.fail_undefined(a[0]);
  if (name.starts_with('_')) return get_attribute(in, a[0], a[1]);
  Value v = plain_attribute(in, a[0], name);
  return v.missing() ? in.undefined_member(a[0], a[1]) : v;
}

// A generator: what it is given is looked at only when the first pair is asked for.
struct PairIterator : IteratorObj {
  explicit PairIterator(const Value& v) : IteratorObj("generator"), source(v) {}
  void clear() override {
    source = Value();
    items = {};
  }
  bool next(Interp& in, Value* out) override {
    if (!items) {
      const Value from = std::exchange(source, Value());
      if (from.missing() || from.undefined()) return false;
      if (!from.is(Kind::Dict)) in.fail(Err::Type, "Can only get item pairs from a mapping.");
      const Value view(in.heap.make<ViewObj>(Ref<DictObj>(from.as<DictObj>()), ViewObj::What::Items));
      items = iterate(in, view);
    }
    return items->next(in, out);
  }
  Value source;
  Ref<IteratorObj> items;
};

Value items(Interp& in, Args& args) {
  const auto a = bind(in, "items", args, {"value"}, 1);
  return Value(in.heap.make<PairIterator>(a[0]));
}

Value dictsort(Interp& in, Args& args) {
  const auto a = bind(in, "dictsort", args, {"value", "case_sensitive", "by", "reverse"}, 1);
  const bool case_sensitive = !a[1].missing() && truthy(a[1]), reverse = !a[3].missing() && truthy(a[3]);
  const std::string by = a[2].missing() ? "key" : to_str(in, a[2]);
  if (by != "key" && by != "value") in.fail(Err::FilterArgument, "You can only sort by either \"key\" or \"value\"");
  if (a[0].undefined()) in.fail_undefined(a[0]);
  if (!a[0].is(Kind::Dict)) in.fail(Err::Attribute, "'{}' object has no attribute 'items'", type_name(a[0]));
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& e : a[0].as<DictObj>()->entries) {
    if (!e.live()) continue;
    const Value& key = by == "key" ? e.key : e.value;
    keyed.emplace_back(case_sensitive ? key : lower_if_string(in, key), in.tuple({e.key, e.value}));
  }
  sort_values(in, &keyed, reverse);
  std::vector<Value> out;
  for (auto& [key, pair] : keyed) out.push_back(std::move(pair));
  return in.list(std::move(out));
}

std::string separator(Interp& in, const Value& v) {
  if (!v.is_string()) in.fail(Err::Type, "a JSON separator must be str, not {}", type_name(v));
  return v.as<StringObj>()->text;
}

Value tojson(Interp& in, Args& args) {
  const auto a = bind(in, "tojson", args, {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1);
  JsonStyle style;
  style.ensure_ascii = !a[1].missing() && truthy(a[1]);
  style.sort_keys = !a[4].missing() && truthy(a[4]);
  if (!a[2].missing() && !a[2].is_none()) {
    style.has_indent = true;
    style.item_separator = ",";
    if (a[2].is_string()) {
      style.indent = a[2].as<StringObj>()->text;
    } else {
      const int64_t n = index_of(in, a[2]);
      if (n > 1000) in.fail(Err::Limit, "a JSON indent of {} spaces", n);
      style.indent.assign(n > 0 ? static_cast<size_t>(n) : 0, ' ');
    }
  }
  if (!a[3].missing() && !a[3].is_none()) {
    const auto pair = to_vector(in, a[3]);
    if (pair.size() != 2)
      in.fail(Err::Value, "{} values to unpack (expected 2)", pair.size() < 2 ? "not enough" : "too many");
    style.item_separator = separator(in, pair[0]);
    style.key_separator = separator(in, pair[1]);
  }
  return in.str(to_json(in, a[0], style));
}

// JSON text to a value; not in Jinja, but templates in use call it.
Value fromjson(Interp& in, Args& args) {
  const auto a = bind(in, "from_json", args, {"text"}, 1);
  return from_json(in, string_of(in, a[0], "from_json").text);
}

constexpr Builtin kFilters[] = {
    {"default", default_filter}, {"d", default_filter}, {"attr", attr},          {"items", items},
    {"dictsort", dictsort},      {"tojson", tojson},    {"from_json", fromjson}, {"fromjson", fromjson}};

}  // namespace

std::span<const Builtin> value_filters() { return kFilters; }

}  // namespace tally::text::jinja
