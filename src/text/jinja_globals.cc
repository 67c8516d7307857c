// Functions that every template can call.
#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

constexpr int64_t kRangeMax = 100'000;  // the sandbox's MAX_RANGE

Value make_range(Interp& in, Args& args) {
  if (!args.kw.empty()) in.fail(Err::Type, "range() takes no keyword arguments");
  const size_t n = args.pos.size();
  if (n < 1 || n > 3) in.fail(Err::Type, "range expected 1 to 3 arguments, got {}", n);
  int64_t v[3] = {0, 0, 1};
  for (size_t i = 0; i < n; ++i) {
    if (!args.pos[i].is_int()) {
      if (args.pos[i].undefined()) in.fail_undefined(args.pos[i]);
      in.fail(Err::Type, "'{}' object cannot be interpreted as an integer", type_name(args.pos[i]));
    }
    v[i] = index_of(in, args.pos[i]);
  }
  if (n == 1) std::swap(v[0], v[1]);
  if (v[2] == 0) in.fail(Err::Value, "range() arg 3 must not be zero");
  Ref<RangeObj> range(in.heap.make<RangeObj>(v[0], v[1], v[2]));
  if (static_cast<uint64_t>(range->length()) > static_cast<uint64_t>(kRangeMax))
    in.fail(Err::Overflow, "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kRangeMax);
  return Value(range);
}

// dict(mapping or pairs, key=value, …) into `to`.
void fill_dict(Interp& in, const char* function, Args& args, DictObj* to, bool refuse_underscore) {
  if (args.pos.size() > 1) in.fail(Err::Type, "{} expected at most 1 argument, got {}", function, args.pos.size());
  auto set = [&](const Value& key, const Value& value) {
    if (refuse_underscore && key.is_string() && key.as<StringObj>()->text.starts_with('_'))
      in.fail(Err::Security,
              "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{}'. Please rename "
              "the attribute.",
              key.as<StringObj>()->text);
    to->set(in, key, hash_value(in, key), value);
  };
  if (!args.pos.empty()) {
    const Value& from = args.pos[0];
    if (from.is(Kind::Dict)) {
      for (const auto& e : from.as<DictObj>()->entries)
        if (e.live()) set(e.key, e.value);
    } else {
      const auto it = iterate(in, from);
      size_t index = 0;
      for (Value item; it->next(in, &item); ++index) {
        if (!is_iterable(item))
          in.fail(Err::Type, "cannot convert dictionary update sequence element #{} to a sequence", index);
        const auto pair = to_vector(in, item);
        if (pair.size() != 2)
          in.fail(Err::Value, "dictionary update sequence element #{} has length {}; 2 is required", index,
                  pair.size());
        set(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [key, value] : args.kw) set(key, value);
}

Value make_dict(Interp& in, Args& args) {
  auto d = in.dict();
  fill_dict(in, "dict", args, d.get(), false);
  return Value(d);
}

Value make_namespace(Interp& in, Args& args) {
  Ref<DictObj> ns(in.heap.make<DictObj>(Kind::Namespace));
  fill_dict(in, "dict", args, ns.get(), true);
  return Value(ns);
}

Value make_cycler(Interp& in, Args& args) {
  if (!args.kw.empty()) in.fail(Err::Type, "Cycler.__init__() got an unexpected keyword argument");
  if (args.pos.empty()) in.fail(Err::Runtime, "at least one item has to be provided");
  const Ref<CyclerObj> cycler(in.heap.make<CyclerObj>(args.pos));
  in.heap.charge(cycler.get(), cycler->items.capacity() * sizeof(Value));
  return Value(cycler);
}

Value make_joiner(Interp& in, Args& args) {
  auto a = bind(in, "joiner", args, {"sep"}, 0);
  return Value(in.heap.make<JoinerObj>(a[0].missing() ? in.str(", ") : a[0]));
}

Value raise_exception(Interp& in, Args& args) {
  const auto a = bind(in, "raise_exception", args, {"message"}, 1);
  in.fail(Err::Template, to_str(in, a[0]));
}

Value strftime_now(Interp& in, Args& args) {
  const auto a = bind(in, "strftime_now", args, {"format"}, 1);
  return in.str(format_time(in, string_of(in, a[0], "strftime").text));
}

constexpr Builtin kGlobals[] = {{"range", make_range},         {"dict", make_dict},
                                {"namespace", make_namespace}, {"cycler", make_cycler},
                                {"joiner", make_joiner},       {"raise_exception", raise_exception},
                                {"strftime_now", strftime_now}};

}  // namespace

FunctionCode find_global(std::string_view name, const char** static_name) {
  for (const auto& g : kGlobals) {
    if (name != g.name) continue;
    *static_name = g.name;
    return g.code;
  }
  return nullptr;
}

}  // namespace tally::text::jinja
