// The larger value types: dicts, views, iterators, loops, macros, functions.
#pragma once

#include <functional>
#include <memory>

#include "text/jinja_ast.h"
#include "text/jinja_value.h"

namespace tally::text::jinja {

class Interp;

// Positional and keyword arguments of a call; keywords are strings.
struct Args {
  std::vector<Value> pos;
  std::vector<std::pair<Value, Value>> kw;
};

// A hash table that keeps insertion order. Hashes come from hash_value (jinja_ops.h).
struct DictObj : Object {
  struct Entry {
    Value key, value;
    uint64_t hash;
    bool live() const { return !key.missing(); }
  };
  explicit DictObj(Kind k = Kind::Dict) : Object(k) {}
  void clear() override;
  size_t size() const { return n_live; }
  // Position in `entries`, or -1.
  int64_t find(Interp& in, const Value& key, uint64_t hash) const;
  int64_t find(std::string_view key) const;
  void set(Interp& in, const Value& key, uint64_t hash, Value value);
  void erase(size_t position);
  uint64_t bytes() const { return entries.capacity() * sizeof(Entry) + table.capacity() * sizeof(uint32_t); }

  std::vector<Entry> entries;   // erased ones have a missing key
  std::vector<uint32_t> table;  // open addressing, entry + 1, 0 empty; made when there are more than 8 entries
  size_t n_live = 0;

 private:
  void insert_index(size_t position);
  void rebuild();
};

struct ViewObj : Object {
  enum class What : uint8_t { Keys, Values, Items };
  ViewObj(Ref<DictObj> d, What w) : Object(Kind::View), dict(std::move(d)), what(w) {}
  void clear() override { dict = {}; }
  Ref<DictObj> dict;
  What what;
};

struct IteratorObj : Object {
  explicit IteratorObj(const char* type) : Object(Kind::Iterator), type_name(type) {}
  // False at the end.
  virtual bool next(Interp& in, Value* out) = 0;
  const char* type_name;  // Python's, for messages
};

// One activation's variables.
struct EnvObj : Object {
  EnvObj(Ref<EnvObj> p, int n_slots) : Object(Kind::Env), parent(std::move(p)), slots(static_cast<size_t>(n_slots)) {}
  void clear() override {
    slots.assign(slots.size(), Value());
    parent = {};
  }
  Ref<EnvObj> parent;
  std::vector<Value> slots;
};

struct MacroObj : Object {
  MacroObj(const Stmt* s, Ref<EnvObj> e) : Object(Kind::Macro), stmt(s), env(std::move(e)) {}
  void clear() override { env = {}; }
  const Stmt* stmt;
  Ref<EnvObj> env;
};

struct LoopObj : Object {
  LoopObj() : Object(Kind::Loop) {}
  void clear() override;
  bool advance(Interp& in, Value* item);  // false at the end
  const Value& peek(Interp& in);          // missing at the end
  int64_t length(Interp& in);
  Value iterable;
  Ref<IteratorObj> iterator;
  Value after, current, before, last_changed;
  int64_t index0 = -1, n_items = -1, depth0 = 0;
  const Stmt* recursive = nullptr;
  Ref<EnvObj> env;  // around the recursive loop
};

using FunctionCode = Value (*)(Interp&, Args&);
struct FunctionObj : Object {
  FunctionObj(const char* n, FunctionCode f) : Object(Kind::Function), name(n), code(f) {}
  const char* name;
  FunctionCode code;
};

using MethodCode = Value (*)(Interp&, const Value& self, Args&);
struct Method {
  const char* name;
  MethodCode code;
};
struct MethodObj : Object {
  MethodObj(Value s, const Method* m) : Object(Kind::Method), self(std::move(s)), method(m) {}
  void clear() override { self = Value(); }
  Value self;
  const Method* method;
};

struct CyclerObj : Object {
  explicit CyclerObj(std::vector<Value> v) : Object(Kind::Cycler), items(std::move(v)) {}
  void clear() override { items.assign(1, Value::none()), position = 0; }
  std::vector<Value> items;
  size_t position = 0;
};

struct JoinerObj : Object {
  explicit JoinerObj(Value s) : Object(Kind::Joiner), separator(std::move(s)) {}
  void clear() override { separator = Value::none(); }
  Value separator;
  bool used = false;
};

}  // namespace tally::text::jinja
