// Calls: macros, functions, methods, loops; and the binding of arguments.
#include <algorithm>

#include "text/jinja_builtins.h"
#include "text/jinja_interp.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {

Value Interp::call(const Value& callee, Args& args) {
  const Nested nested(*this);
  step();
  switch (callee.kind()) {
    case Kind::Undefined:
      fail_undefined(callee);
    case Kind::Function:
      return callee.as<FunctionObj>()->code(*this, args);
    case Kind::Method: {
      const Value self = callee.as<MethodObj>()->self;
      return callee.as<MethodObj>()->method->code(*this, self, args);
    }
    case Kind::Macro:
      return call_macro(callee.as<MacroObj>(), args);
    case Kind::Joiner: {
      JoinerObj& j = *callee.as<JoinerObj>();
      if (!args.pos.empty() || !args.kw.empty())
        fail(Err::Type, "Joiner.__call__() takes 1 positional argument but {} were given", args.pos.size() + 1);
      if (std::exchange(j.used, true)) return j.separator;
      return str("");
    }
    case Kind::Loop: {
      const Ref<LoopObj> loop(callee.as<LoopObj>());
      if (!loop->recursive) fail(Err::Type, "The loop must have the 'recursive' marker to be called recursively.");
      const auto a = bind(*this, "__call__", args, {"iterable"}, 1);
      return render_loop(*loop->recursive, Ref<EnvObj>(loop->env), a[0], loop->depth0 + 1);
    }
    default:
      fail(Err::Type, "'{}' object is not callable", type_name(callee));
  }
}

Value Interp::call_macro(MacroObj* macro, Args& args) {
  const Nested nested(*this);
  const Ref<MacroObj> keep(macro);  // the body may drop the last other reference
  const FunctionInfo& f = *macro->stmt->function;
  const Ref<EnvObj> env(heap.make<EnvObj>(macro->env, f.n_slots));
  heap.charge(env.get(), sizeof(EnvObj) + env->slots.capacity() * sizeof(Value));
  bind_macro(f, args, env.get());
  std::string text;
  struct Restore {
    ~Restore() {
      in->env_ = env;
      in->out_ = out;
    }
    Interp* in;
    Ref<EnvObj> env;
    std::string* out;
  } restore{this, std::exchange(env_, env), std::exchange(out_, &text)};
  enter(macro->stmt->frame);
  const size_t n_required = f.parameters.size() - f.defaults.size();
  for (size_t i = 0; i < f.parameters.size(); ++i) {
    Value& v = env->slots[static_cast<size_t>(f.slots[i])];
    if (!v.missing()) continue;
    Value fallback = i < n_required
                         ? undefined(fmt::format("parameter {} was not provided", repr_of(f.parameters[i]->name)))
                         : eval(*f.defaults[i - n_required]);
    env->slots[static_cast<size_t>(f.slots[i])] = std::move(fallback);
  }
  exec(macro->stmt->body);
  return str(std::move(text));
}

void Interp::bind_macro(const FunctionInfo& f, Args& args, EnvObj* env) {
  const std::string name = f.name.empty() ? "None" : repr_of(f.name);
  const size_t n = std::min(args.pos.size(), f.parameters.size());
  bool found_caller = n == f.parameters.size() && f.explicit_caller;
  for (size_t i = 0; i < n; ++i) env->slots[static_cast<size_t>(f.slots[i])] = args.pos[i];
  auto take = [&](std::string_view key) {
    for (size_t k = 0; k < args.kw.size(); ++k) {
      if (args.kw[k].first.as<StringObj>()->text != key) continue;
      Value v = std::move(args.kw[k].second);
      args.kw.erase(args.kw.begin() + static_cast<ptrdiff_t>(k));
      return v;
    }
    return Value();
  };
  for (size_t i = n; i < f.parameters.size(); ++i) {
    env->slots[static_cast<size_t>(f.slots[i])] = take(f.parameters[i]->name);
    found_caller = found_caller || f.parameters[i]->name == "caller";
  }
  if (f.slot_caller >= 0 && !found_caller) {
    Value caller = take("caller");
    env->slots[static_cast<size_t>(f.slot_caller)] =
        caller.missing() || caller.is_none() ? undefined("No caller defined") : caller;
  }
  if (f.slot_kwargs >= 0) {
    auto rest = dict();
    for (auto& [key, value] : args.kw) rest->set(*this, key, hash_value(*this, key), value);
    env->slots[static_cast<size_t>(f.slot_kwargs)] = Value(rest);
  } else if (!args.kw.empty()) {
    for (const auto& [key, value] : args.kw)
      if (key.as<StringObj>()->text == "caller")
        fail(Err::Type,
             "macro {} was invoked with two values for the special caller argument. This is most likely a bug.", name);
    fail(Err::Type, "macro {} takes no keyword argument {}", name, to_repr(*this, args.kw[0].first));
  }
  if (f.slot_varargs >= 0)
    env->slots[static_cast<size_t>(f.slot_varargs)] =
        tuple({args.pos.begin() + static_cast<ptrdiff_t>(n), args.pos.end()});
  else if (args.pos.size() > f.parameters.size())
    fail(Err::Type, "macro {} takes not more than {} argument(s)", name, f.parameters.size());
}

void bind(Interp& in, const char* function, Args& args, size_t skip, std::span<const char* const> names,
          size_t n_required, Value* out) {
  const size_t given = args.pos.size() - skip;
  if (given > names.size())
    in.fail(Err::Type, "{}() takes at most {} arguments ({} given)", function, names.size(), given);
  for (size_t i = 0; i < given; ++i) out[i] = args.pos[skip + i];
  for (const auto& [key, value] : args.kw) {
    const std::string& name = key.as<StringObj>()->text;
    const auto it = std::find_if(names.begin(), names.end(), [&](const char* n) { return *n && name == n; });
    if (it == names.end()) in.fail(Err::Type, "{}() got an unexpected keyword argument '{}'", function, name);
    Value& slot = out[it - names.begin()];
    if (!slot.missing()) in.fail(Err::Type, "{}() got multiple values for argument '{}'", function, name);
    slot = value;
  }
  for (size_t i = 0; i < n_required; ++i)
    if (out[i].missing())
      in.fail(Err::Type, "{}() missing required argument{}", function,
              *names[i] ? fmt::format(": '{}'", names[i]) : "");
}

StringObj& string_of(Interp& in, const Value& v, const char* function) {
  if (v.undefined()) in.fail_undefined(v);
  if (!v.is_string()) in.fail(Err::Type, "{}() argument must be str, not {}", function, type_name(v));
  return *v.as<StringObj>();
}

Value call_builtin(Interp& in, const Builtin& builtin, const Value& item, const Args& rest) {
  Args args;
  args.pos.reserve(rest.pos.size() + 1);
  args.pos.push_back(item);
  args.pos.insert(args.pos.end(), rest.pos.begin(), rest.pos.end());
  args.kw = rest.kw;
  in.step();
  return builtin.code(in, args);
}

}  // namespace tally::text::jinja
