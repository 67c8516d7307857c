#include "text/jinja_builtins.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "text/jinja_access.h"
#include "text/jinja_ops.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {
namespace {

using BuiltinMap = std::unordered_map<std::string_view, const Builtin*>;
using MethodMap = std::unordered_map<std::string_view, const Method*>;

template <typename Map, typename T>
void add(Map* map, std::span<const T> table) {
  for (const T& entry : table) map->emplace(entry.name, &entry);
}

template <typename Map>
auto look_up(const Map& map, std::string_view name) {
  const auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

}  // namespace

const Builtin* find_filter(std::string_view name) {
  static const BuiltinMap map = [] {
    BuiltinMap m;
    for (auto table : {text_filters(), html_filters(), wrap_filters(), number_filters(), list_filters(),
                       select_filters(), value_filters()})
      add(&m, table);
    return m;
  }();
  return look_up(map, name);
}

const Builtin* find_test(std::string_view name) {
  static const BuiltinMap map = [] {
    BuiltinMap m;
    add(&m, tests());
    return m;
  }();
  return look_up(map, name);
}

namespace {

Value is_integer(Interp& in, const Value& self, Args& args) {
  bind(in, "is_integer", args, 0, {}, 0, nullptr);
  const double d = self.real();
  return Value(d == static_cast<double>(static_cast<long double>(d)) && d - d == 0 && d == __builtin_floor(d));
}

Value bit_length(Interp& in, const Value& self, Args& args) {
  bind(in, "bit_length", args, 0, {}, 0, nullptr);
  return Value(to_big(self).bits());
}

Value conjugate(Interp& in, const Value& self, Args& args) {
  bind(in, "conjugate", args, 0, {}, 0, nullptr);
  return self.is(Kind::Bool) ? Value(self.integer()) : self;
}

Value loop_cycle(Interp& in, const Value& self, Args& args) {
  if (!args.kw.empty()) in.fail(Err::Type, "LoopContext.cycle() got an unexpected keyword argument");
  if (args.pos.empty()) in.fail(Err::Type, "no items for cycling given");
  return args.pos[static_cast<size_t>(self.as<LoopObj>()->index0) % args.pos.size()];
}

Value loop_changed(Interp& in, const Value& self, Args& args) {
  if (!args.kw.empty()) in.fail(Err::Type, "LoopContext.changed() got an unexpected keyword argument");
  LoopObj& loop = *self.as<LoopObj>();
  Value now = in.tuple(args.pos);
  if (!loop.last_changed.missing() && equal(in, loop.last_changed, now)) return Value(false);
  in.heap.track(&loop);
  loop.last_changed = std::move(now);
  return Value(true);
}

Value cycler_next(Interp& in, const Value& self, Args& args) {
  bind(in, "next", args, 0, {}, 0, nullptr);
  CyclerObj& c = *self.as<CyclerObj>();
  Value v = c.items[c.position];
  c.position = (c.position + 1) % c.items.size();
  return v;
}

Value cycler_reset(Interp& in, const Value& self, Args& args) {
  bind(in, "reset", args, 0, {}, 0, nullptr);
  self.as<CyclerObj>()->position = 0;
  return Value::none();
}

constexpr Method kIntMethods[] = {{"bit_length", bit_length}, {"conjugate", conjugate}};
constexpr Method kFloatMethods[] = {{"is_integer", is_integer}, {"conjugate", conjugate}};
constexpr Method kLoopMethods[] = {{"cycle", loop_cycle}, {"changed", loop_changed}};
constexpr Method kCyclerMethods[] = {{"next", cycler_next}, {"reset", cycler_reset}};

const Method* scan(std::span<const Method> methods, std::string_view name) {
  for (const auto& m : methods)
    if (name == m.name) return &m;
  return nullptr;
}

bool is_query(std::string_view name) { return name == "count" || name == "index"; }

}  // namespace

const Method* find_method(const Value& owner, std::string_view name) {
  static const MethodMap strings = [] {
    MethodMap m;
    add(&m, string_methods());
    add(&m, string_search_methods());
    return m;
  }();
  switch (owner.kind()) {
    case Kind::String: {
      const Method* m = look_up(strings, name);
      const bool markup_only = name == "unescape" || name == "striptags";
      return m && markup_only && !owner.as<StringObj>()->markup ? nullptr : m;
    }
    case Kind::List:
      return scan(list_methods(), name);
    case Kind::Tuple:
    case Kind::Range:
      return is_query(name) ? scan(list_methods(), name) : nullptr;
    case Kind::Dict:
      return scan(dict_methods(), name);
    case Kind::Loop:
      return scan(kLoopMethods, name);
    case Kind::Cycler:
      return scan(kCyclerMethods, name);
    case Kind::Bool:
    case Kind::Int:
    case Kind::BigInt:
      return scan(kIntMethods, name);
    case Kind::Float:
      return scan(kFloatMethods, name);
    default:
      return nullptr;
  }
}

AttributePath::AttributePath(Interp& in, const Value& attribute) {
  if (attribute.missing() || attribute.is_none()) return;
  if (!attribute.is_string()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string& path = attribute.as<StringObj>()->text;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('.', at), path.size());
    const std::string part = path.substr(at, end - at);
    const bool digits = !part.empty() && part.size() < 18 &&
                        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    parts_.push_back(digits ? Value(static_cast<int64_t>(std::stoll(part))) : in.str(part));
    at = end + 1;
  }
}

Value AttributePath::operator()(Interp& in, const Value& item, const Value& fallback) const {
  Value v = item;
  for (const auto& part : parts_) {
    v = get_item(in, v, part);
    if (v.undefined() && !fallback.missing() && !fallback.is_none()) v = fallback;
  }
  return v;
}

Value lower_if_string(Interp& in, const Value& v) {
  if (!v.is_string()) return v;
  in.step_bytes(v.as<StringObj>()->text.size());
  return in.str(to_lower(v.as<StringObj>()->text));
}

void sort_values(Interp& in, std::vector<std::pair<Value, Value>>* keyed, bool reverse) {
  in.step(keyed->size());
  std::stable_sort(keyed->begin(), keyed->end(), [&](const auto& a, const auto& b) {
    return reverse ? ordered(in, Op::Lt, b.first, a.first) : ordered(in, Op::Lt, a.first, b.first);
  });
}

}  // namespace tally::text::jinja
