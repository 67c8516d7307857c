// The for statement and its `loop` variable.
#include "text/jinja_interp.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"

namespace tally::text::jinja {

void LoopObj::clear() {
  iterable = after = current = before = last_changed = Value();
  iterator = {};
  env = {};
}

const Value& LoopObj::peek(Interp& in) {
  if (after.missing() && iterator) {
    Value v;
    if (iterator->next(in, &v)) after = std::move(v);
  }
  return after;
}

bool LoopObj::advance(Interp& in, Value* item) {
  if (!after.missing())
    *item = std::exchange(after, Value());
  else if (!iterator || !iterator->next(in, item))
    return false;
  ++index0;
  before = std::exchange(current, *item);
  return true;
}

int64_t LoopObj::length(Interp& in) {
  if (n_items >= 0) return n_items;
  if (length_of(in, iterable, &n_items)) return n_items;
  // A generator has no length: what is left is collected.
  std::vector<Value> rest = iterator ? to_vector(in, Value(iterator)) : std::vector<Value>();
  n_items = static_cast<int64_t>(rest.size()) + index0 + 1 + !after.missing();
  iterator = iterate(in, in.list(std::move(rest)));
  return n_items;
}

namespace {

// Items that pass the test of `for x in xs if test`; lazy, as in Python.
struct FilteredIterator : IteratorObj {
  FilteredIterator(const Stmt* s, Ref<IteratorObj> f, Ref<EnvObj> e)
      : IteratorObj("generator"), stmt(s), from(std::move(f)), env(std::move(e)) {}
  void clear() override {
    from = {};
    env = {};
  }
  bool next(Interp& in, Value* out) override {
    const Interp::Nested nested(in);
    for (Value item; from && from->next(in, &item);)
      if (in.passes_test(*stmt, env, item, out)) return true;
    return false;
  }
  const Stmt* stmt;
  Ref<IteratorObj> from;
  Ref<EnvObj> env;
};

}  // namespace

struct Interp::Activation {
  Activation(Interp* in, Ref<EnvObj> env) : in_(in), outer_(std::exchange(in->env_, std::move(env))) {}
  ~Activation() { in_->env_ = outer_; }
  Interp* in_;
  Ref<EnvObj> outer_;
};

bool Interp::passes_test(const Stmt& s, const Ref<EnvObj>& test_env, const Value& item, Value* result) {
  Activation activation(this, test_env);
  assign(*s.test_target, item);
  if (!truthy(eval(*s.test))) return false;
  // The generator yields its targets, so an unpacked item becomes a tuple.
  struct Rebuild {
    static Value of(Interp& in, const Expr& target) {
      if (target.kind != ExprKind::Tuple) return in.slot(target.place);
      std::vector<Value> items;
      for (const auto& t : target.items) items.push_back(of(in, *t));
      return in.tuple(std::move(items));
    }
  };
  *result = Rebuild::of(*this, *s.test_target);
  return true;
}

// The test is a function beside the loop's, so `outer` is the scope around both.
Ref<IteratorObj> Interp::filtered(const Stmt& s, const Value& iterable, const Ref<EnvObj>& outer) {
  Ref<EnvObj> env(heap.make<EnvObj>(outer, s.n_test_slots));
  heap.track(env.get());
  {
    Activation activation(this, env);
    enter(s.test_frame);
  }
  return Ref<IteratorObj>(heap.make<FilteredIterator>(&s, iterate(*this, iterable), env));
}

Interp::Flow Interp::exec_for(const Stmt& s) {
  const Value iterable = eval(*s.expr);
  line = s.line;
  if (s.recursive) {
    print(render_loop(s, env_, iterable, 0));
    return Flow::Normal;
  }
  return loop_over(s, iterable, 0, {});
}

// One level of a recursive loop: a function of its own. `env` is a copy: env_ itself changes while this runs.
Value Interp::render_loop(const Stmt& s, Ref<EnvObj> env, const Value& iterable, int64_t depth0) {
  const Nested nested(*this);
  heap.track(env.get());
  std::string text;
  std::string* outer = std::exchange(out_, &text);
  struct Restore {
    ~Restore() { in->out_ = outer; }
    Interp* in;
    std::string* outer;
  } restore{this, outer};
  const Ref<EnvObj> own(heap.make<EnvObj>(env, s.n_slots));
  Activation activation(this, own);
  loop_over(s, iterable, depth0, env);
  return str(std::move(text));
}

Interp::Flow Interp::loop_over(const Stmt& s, const Value& iterable, int64_t depth0, const Ref<EnvObj>& recursive_env) {
  Ref<IteratorObj> iterator;
  Ref<LoopObj> loop;
  if (s.test) {
    iterator = filtered(s, iterable, s.recursive ? recursive_env : env_);
  } else {
    iterator = iterate(*this, iterable);
  }
  if (s.extended) {
    loop = Ref<LoopObj>(heap.make<LoopObj>());
    loop->iterable = s.test ? Value(iterator) : iterable;
    loop->iterator = iterator;
    loop->depth0 = depth0;
    if (s.recursive) {
      loop->recursive = &s;
      loop->env = recursive_env;
    }
  }
  bool run_else = true;  // until an iteration ends without break or continue
  for (Value item; loop ? loop->advance(*this, &item) : iterator->next(*this, &item);) {
    step();
    assign(*s.target, item);
    if (loop) env_->slots[static_cast<size_t>(s.slot_loop)] = Value(loop);
    enter(s.frame);
    const Flow flow = exec(s.body);
    if (flow == Flow::Break) break;
    if (flow == Flow::Normal) run_else = false;
    line = s.line;
  }
  leave(s.frame);
  if (!run_else || s.else_body.empty()) return Flow::Normal;
  enter(s.else_frame);
  const Flow flow = exec(s.else_body);
  leave(s.else_frame);
  return flow;
}

}  // namespace tally::text::jinja
