#include "text/jinja_interp.h"

#include <algorithm>

#include "text/jinja_builtins.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {

Interp::Interp(const Program& program, const RenderOptions& options)
    : limits(options.limits),
      now(options.now),
      heap(options.limits.memory_bytes),
      program_(program),
      stack_base_(static_cast<const char*>(__builtin_frame_address(0))) {
  env_ = Ref<EnvObj>(heap.make<EnvObj>(Ref<EnvObj>(), program.n_slots));
}

Interp::~Interp() {
  if (env_) env_->clear();
}

std::string Interp::render(const Json& variables) {
  std::string out;
  out_ = &out;
  variables_ = dict();
  exports_ = dict();
  for (const auto& [key, json] : variables.items()) {
    const Value name = str(key);
    variables_->set(*this, name, hash_value(*this, name), import_json(*this, json));
  }
  enter(program_.frame);
  exec(program_.body);
  out_ = nullptr;
  return out;
}

Value Interp::resolve(const std::string& name) {
  if (const int64_t at = exports_->find(name); at >= 0) return exports_->entries[static_cast<size_t>(at)].value;
  if (const int64_t at = variables_->find(name); at >= 0) return variables_->entries[static_cast<size_t>(at)].value;
  const char* static_name = nullptr;
  if (const FunctionCode code = find_global(name, &static_name))
    return Value(heap.make<FunctionObj>(static_name, code));
  return Value();
}

void Interp::fail_steps() const {
  fail(Err::Limit, "the template takes more than {} steps; it may loop without end", limits.steps);
}

void Interp::fail_depth() {
  --depth_;  // the guard whose constructor throws is not destroyed
  fail(Err::Limit, "maximum recursion depth exceeded");
}

void Interp::reserve(uint64_t n, uint64_t bytes_each) {
  if (n > limits.memory_bytes / bytes_each) fail(Err::Limit, "the template makes a value of {} items", n);
  heap.reserve(n * bytes_each);
  step(n * bytes_each / 64 + 1);
}

Value Interp::str(std::string text, bool markup) {
  Ref<StringObj> s(heap.make<StringObj>(std::move(text), markup));
  if (s->text.capacity() > 15) heap.charge(s.get(), sizeof(StringObj) + s->text.capacity());
  return Value(s);
}

Value Interp::sequence(Kind kind, std::vector<Value> items) {
  Ref<ListObj> s(heap.make<ListObj>(kind, std::move(items)));
  heap.charge(s.get(), sizeof(ListObj) + s->items.capacity() * sizeof(Value));
  return Value(s);
}

Value Interp::integer(BigInt value) {
  if (value.fits_int64()) return Value(value.to_int64());
  if (value.too_large()) fail(Err::Limit, "an integer of more than {} bits", kBigIntBits);
  return Value(heap.make<BigIntObj>(std::move(value)));
}

namespace {

// What Undefined's messages call the owner.
std::string owner_name(const Value& owner) {
  if (owner.is_none()) return "None";
  switch (owner.kind()) {
    case Kind::Namespace:
      return "jinja2.utils.Namespace object";
    case Kind::Macro:
      return "jinja2.runtime.Macro object";
    case Kind::Loop:
      return "jinja2.runtime.LoopContext object";
    case Kind::Cycler:
      return "jinja2.utils.Cycler object";
    case Kind::Joiner:
      return "jinja2.utils.Joiner object";
    case Kind::String:
      if (owner.as<StringObj>()->markup) return "markupsafe.Markup object";
      [[fallthrough]];
    default:
      return fmt::format("{} object", type_name(owner));
  }
}

}  // namespace

Value Interp::undefined(std::string hint) {
  Ref<UndefinedObj> u(heap.make<UndefinedObj>());
  u->hint = std::move(hint);
  return Value(u);
}

Value Interp::undefined_name(const Value& name) {
  Ref<UndefinedObj> u(heap.make<UndefinedObj>());
  u->name = name;
  return Value(u);
}

Value Interp::undefined_member(const Value& owner, const Value& name) {
  Ref<UndefinedObj> u(heap.make<UndefinedObj>());
  u->of = owner_name(owner);
  u->name = name;
  return Value(u);
}

Value Interp::unsafe_member(const Value& owner, const Value& name) {
  Ref<UndefinedObj> u(heap.make<UndefinedObj>());
  u->hint = fmt::format("access to attribute {} of '{}' object is unsafe.", to_repr(*this, name), type_name(owner));
  u->security = true;
  return Value(u);
}

void Interp::fail_undefined(const Value& undefined) {
  const UndefinedObj& u = *undefined.as<UndefinedObj>();
  const Err kind = u.security ? Err::Security : Err::Undefined;
  if (!u.hint.empty()) fail(kind, u.hint);
  const std::string name = to_repr(*this, u.name);
  if (u.of.empty()) fail(kind, "{} is undefined", name);
  if (!u.name.is_string()) fail(kind, "{} has no element {}", u.of, name);
  fail(kind, "'{}' has no attribute {}", u.of, name);
}

}  // namespace tally::text::jinja
