// Statements.
#include "text/jinja_interp.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {

// Output goes to another text while this lives.
struct Interp::Buffered {
  explicit Buffered(Interp* in) : in_(in), outer_(in->out_) { in->out_ = &text; }
  ~Buffered() { in_->out_ = outer_; }
  std::string text;
  Interp* in_;
  std::string* outer_;
};

void Interp::write(std::string_view text) {
  n_output_ += text.size();
  if (n_output_ > limits.output_bytes) fail(Err::Limit, "the template writes more than {} bytes", limits.output_bytes);
  step_bytes(text.size());
  out_->append(text);
}

void Interp::print(const Value& value) {
  if (value.is_string()) return write(value.as<StringObj>()->text);
  if (!value.undefined()) write(to_repr(*this, value));
}

void Interp::enter(const FrameInfo& frame) {
  for (const Load& load : frame.loads) {
    switch (load.kind) {
      case Load::Kind::Parameter:
        break;
      case Load::Kind::Resolve:
        env_->slots[static_cast<size_t>(load.slot)] = resolve(load.name);
        break;
      case Load::Kind::Alias: {
        Value v = slot(load.from);
        env_->slots[static_cast<size_t>(load.slot)] = std::move(v);
        break;
      }
      case Load::Kind::Undefined:
        env_->slots[static_cast<size_t>(load.slot)] = Value();
        break;
    }
  }
}

void Interp::leave(const FrameInfo& frame) {
  for (const Load& load : frame.loads) env_->slots[static_cast<size_t>(load.slot)] = Value();
}

Interp::Flow Interp::exec(const Body& body) {
  for (const auto& s : body)
    if (const Flow flow = exec_one(*s); flow != Flow::Normal) return flow;
  return Flow::Normal;
}

Interp::Flow Interp::exec_one(const Stmt& s) {
  const Nested nested(*this);
  step();
  line = s.line;
  switch (s.kind) {
    case StmtKind::Output:
      exec_output(s);
      break;
    case StmtKind::For:
      return exec_for(s);
    case StmtKind::If:
      return exec_if(s);
    case StmtKind::Macro:
      exec_macro(s);
      break;
    case StmtKind::CallBlock:
      exec_call_block(s);
      break;
    case StmtKind::Set:
      return exec_set(s);
    case StmtKind::SetBlock:
      return exec_set_block(s);
    case StmtKind::FilterBlock:
      return exec_filter_block(s);
    case StmtKind::With:
      return exec_with(s);
    case StmtKind::Block:
      exec_block(s);
      break;
    case StmtKind::Include:
      fail(Err::Type, "no loader for this environment specified: chat templates cannot {} others", s.name);
    case StmtKind::Break:
      return Flow::Break;
    case StmtKind::Continue:
      return Flow::Continue;
    case StmtKind::Scope:
      return exec_scope(s);
  }
  return Flow::Normal;
}

void Interp::exec_output(const Stmt& s) {
  for (const auto& e : s.exprs) {
    if (e->kind == ExprKind::Const) {
      print(e->value);
    } else {
      folding_ = e->is_const;
      print(eval(*e));
      folding_ = false;
    }
  }
}

Interp::Flow Interp::exec_if(const Stmt& s) {
  if (truthy(eval(*s.test))) return exec(s.body);
  for (const auto& branch : s.elifs)
    if (truthy(eval(*branch->test))) return exec(branch->body);
  return exec(s.else_body);
}

void Interp::assign(const Expr& target, const Value& value) {
  if (target.kind == ExprKind::Name) {
    slot(target.place) = value;
  } else if (target.kind == ExprKind::NsRef) {
    const Value ns = slot(target.place);
    if (!ns.is(Kind::Namespace)) fail(Err::Runtime, "cannot assign attribute on non-namespace object");
    if (target.attribute.starts_with('_'))
      fail(Err::Security,
           "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{}'. Please rename the "
           "attribute.",
           target.attribute);
    if (value.is_object() && !value.is_string()) heap.track(ns.object());
    ns.as<DictObj>()->set(*this, target.value, hash_value(*this, target.value), value);
  } else {
    const Nested nested(*this);
    const size_t n = target.items.size();
    if (!is_iterable(value)) fail(Err::Type, "cannot unpack non-iterable {} object", type_name(value));
    std::vector<Value> items;
    const auto it = iterate(*this, value);
    for (Value v; it->next(*this, &v); items.push_back(std::move(v)))
      if (items.size() == n) fail(Err::Value, "too many values to unpack (expected {})", n);
    if (items.size() < n) fail(Err::Value, "not enough values to unpack (expected {}, got {})", n, items.size());
    for (size_t i = 0; i < n; ++i) assign(*target.items[i], items[i]);
  }
}

void Interp::check_namespaces(const Expr& target) {
  if (target.kind == ExprKind::NsRef && !slot(target.place).is(Kind::Namespace))
    fail(Err::Runtime, "cannot assign attribute on non-namespace object");
  for (const auto& item : target.items) check_namespaces(*item);
}

// Top-level names become visible to blocks.
void Interp::export_names(const Stmt& s) {
  if (program_.blocks.empty()) return;
  for (const auto& [name, place] : s.exports) {
    const Value key = str(name);
    exports_->set(*this, key, hash_value(*this, key), slot(place));
    heap.track(exports_.get());
  }
}

Interp::Flow Interp::exec_set(const Stmt& s) {
  check_namespaces(*s.target);
  assign(*s.target, eval(*s.expr));
  export_names(s);
  return Flow::Normal;
}

Interp::Flow Interp::exec_set_block(const Stmt& s) {
  Value value;
  {
    Buffered buffered(this);
    enter(s.frame);
    if (const Flow flow = exec(s.body); flow != Flow::Normal) return flow;
    if (s.expr) {
      const std::string* outer = std::exchange(filter_input_, &buffered.text);
      value = eval(*s.expr);
      filter_input_ = outer;
    } else {
      value = str(std::move(buffered.text));
    }
  }
  check_namespaces(*s.target);
  assign(*s.target, value);
  leave(s.frame);
  export_names(s);
  return Flow::Normal;
}

Interp::Flow Interp::exec_filter_block(const Stmt& s) {
  Value value;
  {
    Buffered buffered(this);
    enter(s.frame);
    if (const Flow flow = exec(s.body); flow != Flow::Normal) return flow;
    const std::string* outer = std::exchange(filter_input_, &buffered.text);
    value = eval(*s.expr);
    filter_input_ = outer;
  }
  print(value);
  leave(s.frame);
  return Flow::Normal;
}

Interp::Flow Interp::exec_with(const Stmt& s) {
  std::vector<Value> values;
  for (const auto& e : s.exprs) values.push_back(eval(*e));
  enter(s.frame);
  for (size_t i = 0; i < values.size(); ++i) assign(*s.targets[i], values[i]);
  const Flow flow = exec(s.body);
  leave(s.frame);
  return flow;
}

Interp::Flow Interp::exec_scope(const Stmt& s) {
  enter(s.frame);
  const Flow flow = exec(s.body);
  leave(s.frame);
  return flow;
}

void Interp::exec_macro(const Stmt& s) {
  heap.track(env_.get());  // the macro, kept in its own scope, refers to the scope
  slot(s.place) = Value(heap.make<MacroObj>(&s, env_));
  export_names(s);
}

void Interp::exec_call_block(const Stmt& s) {
  const Ref<MacroObj> caller(heap.make<MacroObj>(&s, env_));
  if (!s.expr) {  // generation
    Args none;
    return print(call_macro(caller.get(), none));
  }
  const Value callee = eval(*s.expr->items[0]);
  Args args;
  eval_args(*s.expr->args, &args);
  args.kw.emplace_back(str("caller"), Value(caller));
  print(call(callee, args));
}

void Interp::exec_block(const Stmt& s) {
  const Ref<DictObj> outer_exports = exports_;
  if (s.scoped) {
    Ref<DictObj> inner = dict();
    for (const auto& entry : exports_->entries)
      if (entry.live()) inner->set(*this, entry.key, entry.hash, entry.value);
    for (const auto& [name, place] : s.exports) {
      const Value key = str(name);
      if (!slot(place).missing()) inner->set(*this, key, hash_value(*this, key), slot(place));
    }
    exports_ = inner;
  }
  const Ref<EnvObj> outer = std::exchange(env_, Ref<EnvObj>(heap.make<EnvObj>(Ref<EnvObj>(), s.n_slots)));
  heap.track(env_.get());
  enter(s.frame);
  exec(s.body);
  env_ = outer;
  exports_ = outer_exports;
}

}  // namespace tally::text::jinja
