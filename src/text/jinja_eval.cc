// Expressions.
#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_interp.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {

Value& Interp::slot(Place place) {
  EnvObj* env = env_.get();
  for (int i = 0; i < place.hops; ++i) env = env->parent.get();
  return env->slots[static_cast<size_t>(place.slot)];
}

Value Interp::eval_folded(const Expr& e) {
  folding_ = true;
  Value v = eval(e);
  folding_ = false;
  return v;
}

Value Interp::eval(const Expr& e) {
  if (e.kind == ExprKind::Const) return e.value;
  const Nested nested(*this);
  step();
  line = e.line;
  // The reference folds constant expressions, and subscripts inside them are lenient then.
  if (e.is_const && !folding_ && e.kind != ExprKind::GetItem) return eval_folded(e);
  switch (e.kind) {
    case ExprKind::Const:
      return e.value;
    case ExprKind::Name:
      return eval_name(e);
    case ExprKind::NsRef:
      fail(Err::Runtime, "a namespace reference is no value");
    case ExprKind::Tuple:
    case ExprKind::List: {
      std::vector<Value> items;
      items.reserve(e.items.size());
      for (const auto& item : e.items) items.push_back(eval(*item));
      return e.kind == ExprKind::List ? list(std::move(items)) : tuple(std::move(items));
    }
    case ExprKind::Dict:
      return eval_dict(e);
    case ExprKind::Unary:
      return unary(*this, e.op, eval(*e.items[0]));
    case ExprKind::Binary: {
      const Value left = eval(*e.items[0]), right = eval(*e.items[1]);
      line = e.line;
      return binary(*this, e.op, left, right);
    }
    case ExprKind::Compare:
      return eval_compare(e);
    case ExprKind::Not:
      return Value(!truthy(eval(*e.items[0])));
    case ExprKind::And: {
      Value left = eval(*e.items[0]);
      return truthy(left) ? eval(*e.items[1]) : left;
    }
    case ExprKind::Or: {
      Value left = eval(*e.items[0]);
      return truthy(left) ? left : eval(*e.items[1]);
    }
    case ExprKind::Concat:
      return eval_concat(e);
    case ExprKind::Cond:
      if (truthy(eval(*e.items[0]))) return eval(*e.items[1]);
      if (e.items[2]) return eval(*e.items[2]);
      return undefined(fmt::format(
          "the inline if-expression on line {} evaluated to false and no else section was defined.", e.line));
    case ExprKind::GetAttr: {
      const Value owner = eval(*e.items[0]);
      line = e.line;
      return get_attribute(*this, owner, e.value);
    }
    case ExprKind::GetItem:
      return eval_item(e);
    case ExprKind::Slice:
      return eval_slice(e);
    case ExprKind::Call:
      return eval_call(e);
    case ExprKind::Filter:
      return eval_filter(e);
    case ExprKind::Test:
      return eval_test(e);
  }
  return Value();
}

Value Interp::eval_name(const Expr& e) {
  const Value& v = slot(e.place);
  return v.missing() ? undefined_name(e.value) : v;
}

Value Interp::eval_dict(const Expr& e) {
  auto d = dict();
  for (size_t i = 0; i < e.items.size(); i += 2) {
    const Value key = eval(*e.items[i]);
    Value value = eval(*e.items[i + 1]);
    line = e.line;
    d->set(*this, key, hash_value(*this, key), std::move(value));
  }
  return Value(d);
}

Value Interp::eval_compare(const Expr& e) {
  Value left = eval(*e.items[0]);
  for (size_t i = 0; i < e.ops.size(); ++i) {
    Value right = eval(*e.items[i + 1]);
    line = e.line;
    if (!compare(*this, e.ops[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interp::eval_concat(const Expr& e) {
  std::string text;
  for (const auto& item : e.items) {
    append_str(*this, eval(*item), &text);
    if (text.size() > limits.memory_bytes) fail(Err::Limit, "a text of more than {} bytes", limits.memory_bytes);
  }
  return str(std::move(text));
}

Value Interp::eval_slice(const Expr& e) {
  auto part = [&](size_t i) { return e.items[i] ? eval(*e.items[i]) : Value::none(); };
  const Value start = part(0), stop = part(1), step_size = part(2);
  return Value(heap.make<SliceObj>(start, stop, step_size));
}

Value Interp::eval_item(const Expr& e) {
  const Value owner = eval(*e.items[0]), key = eval(*e.items[1]);
  line = e.line;
  // Slices go to Python directly, so that their errors are errors; but constant output is folded before, leniently.
  if (e.items[1]->kind == ExprKind::Slice && !folding_) return slice_of(*this, owner, *key.as<SliceObj>());
  return get_item(*this, owner, key);
}

void Interp::eval_args(const CallArgs& from, Args* to) {
  to->pos.reserve(to->pos.size() + from.positional.size());
  for (const auto& a : from.positional) to->pos.push_back(eval(*a));
  for (const auto& [key, a] : from.keywords) to->kw.emplace_back(str(key), eval(*a));
  if (from.star) {
    const Value more = eval(*from.star);
    if (!is_iterable(more)) fail(Err::Type, "argument after * must be an iterable, not {}", type_name(more));
    for (auto& v : to_vector(*this, more)) to->pos.push_back(std::move(v));
  }
  if (!from.star_star) return;
  const Value more = eval(*from.star_star);
  if (!more.is(Kind::Dict)) fail(Err::Type, "argument after ** must be a mapping, not {}", type_name(more));
  for (const auto& entry : more.as<DictObj>()->entries) {
    if (!entry.live()) continue;
    if (!entry.key.is_string()) fail(Err::Type, "keywords must be strings");
    for (const auto& [key, value] : to->kw)
      if (equal(*this, key, entry.key))
        fail(Err::Type, "got multiple values for keyword argument {}", to_repr(*this, key));
    to->kw.emplace_back(entry.key, entry.value);
  }
}

Value Interp::eval_call(const Expr& e) {
  const Value callee = eval(*e.items[0]);
  Args args;
  eval_args(*e.args, &args);
  line = e.line;
  return call(callee, args);
}

Value Interp::eval_filter(const Expr& e) {
  if (!e.builtin) fail(Err::Runtime, "No filter named '{}' found.", e.name);
  Args args;
  args.pos.reserve(e.args->positional.size() + 1);
  args.pos.push_back(e.items[0] ? eval(*e.items[0]) : str(*filter_input_));
  eval_args(*e.args, &args);
  line = e.line;
  return e.builtin->code(*this, args);
}

Value Interp::eval_test(const Expr& e) {
  if (!e.builtin) fail(Err::Runtime, "No test named '{}' found.", e.name);
  Args args;
  args.pos.push_back(eval(*e.items[0]));
  eval_args(*e.args, &args);
  line = e.line;
  return e.builtin->code(*this, args);
}

}  // namespace tally::text::jinja
