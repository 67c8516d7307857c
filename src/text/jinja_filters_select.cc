// map, select, reject, selectattr, rejectattr, unique: lazy, as Python's generators are.
#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

// A generator over `source` that decides item by item; nothing is checked before the first item is asked for.
struct Generator : IteratorObj {
  Generator(Args a) : IteratorObj("generator"), args(std::move(a)) {}
  void clear() override {
    args = {};
    items = {};
    done = true;
  }
  bool next(Interp& in, Value* out) override {
    const Interp::Nested nested(in);
    if (done) return false;
    if (!items) {
      if (args.pos.empty()) in.fail(Err::Type, "missing required argument: 'value'");
      const Value source = std::move(args.pos[0]);
      args.pos.erase(args.pos.begin());
      if (skips_empty() && !truthy(source)) {
        done = true;
        return false;
      }
      prepare(in);
      items = iterate(in, source);
    }
    for (Value item; items->next(in, &item);) {
      in.step();
      if (take(in, item, out)) return true;
    }
    done = true;
    return false;
  }
  virtual bool skips_empty() const { return true; }  // before anything is checked
  virtual void prepare(Interp& in) = 0;
  virtual bool take(Interp& in, const Value& item, Value* out) = 0;

  Args args;
  Ref<IteratorObj> items;
  bool done = false;
};

const Builtin& named(Interp& in, const Value& name, bool filter) {
  const Builtin* b = name.is_string() ? (filter ? find_filter : find_test)(name.as<StringObj>()->text) : nullptr;
  if (!b) in.fail(Err::Runtime, "No {} named {}.", filter ? "filter" : "test", to_repr(in, name));
  return *b;
}

struct MapGenerator : Generator {
  using Generator::Generator;
  void prepare(Interp& in) override {
    if (!args.pos.empty()) {
      name = args.pos[0];
      args.pos.erase(args.pos.begin());
      return;
    }
    Value attribute;
    for (const auto& [key, value] : args.kw) {
      const auto& k = key.as<StringObj>()->text;
      if (k == "attribute")
        attribute = value;
      else if (k == "default")
        fallback = value;
    }
    if (attribute.missing()) in.fail(Err::FilterArgument, "map requires a filter argument");
    for (const auto& [key, value] : args.kw)
      if (const auto& k = key.as<StringObj>()->text; k != "attribute" && k != "default")
        in.fail(Err::FilterArgument, "Unexpected keyword argument {}", repr_of(k));
    path = std::make_unique<AttributePath>(in, attribute);
  }
  bool take(Interp& in, const Value& item, Value* out) override {
    *out = path ? (*path)(in, item, fallback) : call_builtin(in, named(in, name, true), item, args);
    return true;
  }
  std::unique_ptr<AttributePath> path;
  Value name, fallback;
};

struct SelectGenerator : Generator {
  SelectGenerator(Args a, bool attribute, bool reject)
      : Generator(std::move(a)), by_attribute(attribute), inverse(reject) {}
  void prepare(Interp& in) override {
    if (by_attribute) {
      if (args.pos.empty()) in.fail(Err::FilterArgument, "Missing parameter for attribute name");
      path = std::make_unique<AttributePath>(in, args.pos[0]);
      args.pos.erase(args.pos.begin());
    }
    if (args.pos.empty()) return;
    test = args.pos[0];
    args.pos.erase(args.pos.begin());
  }
  bool take(Interp& in, const Value& item, Value* out) override {
    const Value subject = path ? (*path)(in, item) : item;
    const bool passed = truthy(test.missing() ? subject : call_builtin(in, named(in, test, false), subject, args));
    if (passed != inverse) *out = item;
    return passed != inverse;
  }
  std::unique_ptr<AttributePath> path;
  Value test;
  bool by_attribute, inverse;
};

struct UniqueGenerator : Generator {
  UniqueGenerator(Args a, bool cs, const Value& attribute)
      : Generator(std::move(a)), case_sensitive(cs), attribute_(attribute) {}
  void clear() override {
    Generator::clear();
    seen = {};
  }
  bool skips_empty() const override { return false; }
  void prepare(Interp& in) override {
    path = std::make_unique<AttributePath>(in, attribute_);
    seen = in.dict();
  }
  bool take(Interp& in, const Value& item, Value* out) override {
    Value key = (*path)(in, item);
    if (!case_sensitive) key = lower_if_string(in, key);
    const uint64_t hash = hash_value(in, key);
    if (!seen || seen->find(in, key, hash) >= 0) return false;
    seen->set(in, key, hash, Value::none());
    *out = item;
    return true;
  }
  bool case_sensitive;
  Value attribute_;
  std::unique_ptr<AttributePath> path;
  Ref<DictObj> seen;
};

Value map(Interp& in, Args& args) { return Value(in.heap.make<MapGenerator>(std::move(args))); }
Value select(Interp& in, Args& args) { return Value(in.heap.make<SelectGenerator>(std::move(args), false, false)); }
Value reject(Interp& in, Args& args) { return Value(in.heap.make<SelectGenerator>(std::move(args), false, true)); }
Value selectattr(Interp& in, Args& args) { return Value(in.heap.make<SelectGenerator>(std::move(args), true, false)); }
Value rejectattr(Interp& in, Args& args) { return Value(in.heap.make<SelectGenerator>(std::move(args), true, true)); }

Value unique(Interp& in, Args& args) {
  const auto a = bind(in, "unique", args, {"value", "case_sensitive", "attribute"}, 1);
  Args source;
  source.pos.push_back(a[0]);
  return Value(in.heap.make<UniqueGenerator>(std::move(source), !a[1].missing() && truthy(a[1]), a[2]));
}

constexpr Builtin kFilters[] = {
    {"map", map},      {"select", select}, {"reject", reject}, {"selectattr", selectattr}, {"rejectattr", rejectattr},
    {"unique", unique}};

}  // namespace

std::span<const Builtin> select_filters() { return kFilters; }

}  // namespace tally::text::jinja
