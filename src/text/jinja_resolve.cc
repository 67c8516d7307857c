#include "text/jinja_resolve.h"

#include <memory>

#include "base/check.h"
#include "text/jinja_builtins.h"
#include "text/jinja_error.h"
#include "text/jinja_symbols.h"

namespace tally::text::jinja {
namespace {

struct Frame {
  Symbols* symbols;
  bool toplevel = false;
  bool soft = false;     // inside if or an inline condition: unknown filters are errors only when reached
  bool in_loop = false;  // break and continue have a loop in this function
};

ExprPtr clone_target(const Expr& e) {
  auto copy = std::make_unique<Expr>(e.kind, e.line);
  copy->name = e.name;
  copy->store = true;
  copy->value = e.value;
  for (const auto& item : e.items) copy->items.push_back(clone_target(*item));
  return copy;
}

bool stores_loop(const Expr& e) {
  if (e.kind == ExprKind::Name) return e.store && e.name == "loop";
  for (const auto& item : e.items)
    if (stores_loop(*item)) return true;
  return false;
}

class Resolver {
 public:
  explicit Resolver(Program* program) : program_(program) {}

  void run() {
    FunctionScope* function = new_function(nullptr);
    Symbols root(nullptr, function);
    analyze(program_->body, &root);
    Frame frame{&root, true};
    visit(program_->body, frame);
    program_->frame = root.frame();
    program_->n_slots = static_cast<int>(function->slots.size());
  }

 private:
  FunctionScope* new_function(FunctionScope* parent) {
    functions_.push_back(std::make_unique<FunctionScope>(parent));
    return functions_.back().get();
  }

  void place(Expr* e, const Frame& frame) {
    const Variable* v = frame.symbols->find(e->name);
    CHECK(v, "name {}", e->name);
    e->place = place_of(*v, frame.symbols->function());
  }

  // ---- expressions

  void visit(Expr* e, Frame frame) {
    if (!e) return;
    if (e->kind == ExprKind::Name || e->kind == ExprKind::NsRef) return place(e, frame);
    if (e->kind == ExprKind::Cond) frame.soft = true;
    if (e->kind == ExprKind::Filter || e->kind == ExprKind::Test) find_builtin(e, frame);
    for (auto& item : e->items) visit(item.get(), frame);
    if (!e->args) return;
    for (auto& a : e->args->positional) visit(a.get(), frame);
    for (auto& [key, a] : e->args->keywords) visit(a.get(), frame);
    visit(e->args->star.get(), frame);
    visit(e->args->star_star.get(), frame);
  }

  void find_builtin(Expr* e, const Frame& frame) {
    const bool filter = e->kind == ExprKind::Filter;
    e->builtin = filter ? find_filter(e->name) : find_test(e->name);
    if (!e->builtin && !frame.soft)
      raise(Err::Assertion, e->line, fmt::format("No {} named '{}'.", filter ? "filter" : "test", e->name));
  }

  // ---- statements

  void visit(Body& body, const Frame& frame) {
    for (auto& s : body) visit(*s, frame);
  }

  void visit(Stmt& s, const Frame& frame) {
    switch (s.kind) {
      case StmtKind::Output:
        for (auto& e : s.exprs) visit(e.get(), frame);
        break;
      case StmtKind::For:
        visit_for(s, frame);
        break;
      case StmtKind::If:
        visit_if(s, frame);
        break;
      case StmtKind::Macro:
        visit_function(s, frame);
        place(s.target.get(), frame);
        s.place = s.target->place;
        if (frame.toplevel) s.exports.emplace_back(s.target->name, s.place);
        break;
      case StmtKind::CallBlock:
        visit_function(s, frame);
        visit(s.expr.get(), frame);
        break;
      case StmtKind::Set:
        visit(s.target.get(), frame);
        visit(s.expr.get(), frame);
        if (frame.toplevel) add_exports(*s.target, &s);
        break;
      case StmtKind::SetBlock:
        visit_set_block(s, frame);
        break;
      case StmtKind::FilterBlock:
        visit_filter_block(s, frame);
        break;
      case StmtKind::With:
        visit_with(s, frame);
        break;
      case StmtKind::Block:
        visit_block(s, frame);
        break;
      case StmtKind::Scope:
        visit_scope(s, frame);
        break;
      case StmtKind::Include:
        visit(s.expr.get(), frame);
        break;
      case StmtKind::Break:
      case StmtKind::Continue:
        if (!frame.in_loop)
          raise(Err::Syntax, s.line,
                s.kind == StmtKind::Break ? "'break' outside loop" : "'continue' not properly in loop");
        break;
    }
  }

  void add_exports(const Expr& target, Stmt* s) {
    if (target.kind == ExprKind::Name) s->exports.emplace_back(target.name, target.place);
    for (const auto& item : target.items) add_exports(*item, s);
  }

  void visit_if(Stmt& s, const Frame& outer) {
    Frame frame = outer;
    frame.soft = true;
    visit(s.test.get(), frame);
    visit(s.body, frame);
    for (auto& branch : s.elifs) visit_if(*branch, frame);
    visit(s.else_body, frame);
  }

  void visit_for(Stmt& s, const Frame& outer) {
    if (stores_loop(*s.target) || body_stores_loop(s.body) || body_stores_loop(s.else_body))
      raise(Err::Assertion, s.line, "Can't assign to special loop variable in for-loop target");
    s.extended = s.recursive || !find_undeclared(s.body, {"loop"}).empty() || has_scoped_block(s.body);
    FunctionScope* function = s.recursive ? new_function(outer.symbols->function()) : outer.symbols->function();
    Symbols loop(outer.symbols, function), orelse(outer.symbols, function);
    if (s.extended) s.slot_loop = loop.declare_parameter("loop");
    declare_targets(s.target.get(), &loop);
    analyze(s.body, &loop);
    analyze(s.else_body, &orelse);
    visit_loop_test(s, outer);
    visit(s.expr.get(), outer);
    Frame frame{&loop};
    frame.in_loop = true;
    visit(s.target.get(), frame);
    visit(s.body, frame);
    Frame else_frame{&orelse};
    else_frame.in_loop = outer.in_loop && !s.recursive;
    visit(s.else_body, else_frame);
    s.frame = loop.frame();
    s.else_frame = orelse.frame();
    if (s.recursive) s.n_slots = static_cast<int>(function->slots.size());
  }

  // The test runs in a function of its own, with its own copy of the targets.
  void visit_loop_test(Stmt& s, const Frame& outer) {
    if (!s.test) return;
    FunctionScope* function = new_function(outer.symbols->function());
    Symbols symbols(outer.symbols, function);
    s.test_target = clone_target(*s.target);
    declare_targets(s.test_target.get(), &symbols);
    analyze(s.test.get(), &symbols);
    Frame frame{&symbols};
    visit(s.test_target.get(), frame);
    visit(s.test.get(), frame);
    s.test_frame = symbols.frame();
    s.n_test_slots = static_cast<int>(function->slots.size());
  }

  static bool body_stores_loop(const Body& body) {
    for (const auto& s : body) {
      if (s->target && s->kind != StmtKind::Include && stores_loop(*s->target) && s->kind != StmtKind::Macro)
        return true;
      if (body_stores_loop(s->body) || body_stores_loop(s->else_body)) return true;
      for (const auto& branch : s->elifs)
        if (body_stores_loop(branch->body)) return true;
    }
    return false;
  }

  static bool has_scoped_block(const Body& body) {
    for (const auto& s : body) {
      if (s->kind == StmtKind::Block && s->scoped) return true;
      if (has_scoped_block(s->body) || has_scoped_block(s->else_body)) return true;
      for (const auto& branch : s->elifs)
        if (has_scoped_block(branch->body)) return true;
    }
    return false;
  }

  void visit_function(Stmt& s, const Frame& outer) {
    FunctionInfo& f = *s.function;
    FunctionScope* function = new_function(outer.symbols->function());
    Symbols symbols(outer.symbols, function);
    bool own_kwargs = false, own_varargs = false;
    for (const auto& p : f.parameters) {
      f.slots.push_back(symbols.declare_parameter(p->name));
      f.explicit_caller = f.explicit_caller || p->name == "caller";
      own_kwargs = own_kwargs || p->name == "kwargs";
      own_varargs = own_varargs || p->name == "varargs";
    }
    for (const auto& d : f.defaults) analyze(d.get(), &symbols);
    analyze(s.body, &symbols);
    const auto special = find_undeclared(s.body, {"caller", "kwargs", "varargs"});
    if (special.count("caller")) {
      if (f.explicit_caller)
        check_explicit_caller(s);
      else
        f.slot_caller = symbols.declare_parameter("caller");
    }
    if (special.count("kwargs") && !own_kwargs) f.slot_kwargs = symbols.declare_parameter("kwargs");
    if (special.count("varargs") && !own_varargs) f.slot_varargs = symbols.declare_parameter("varargs");
    Frame frame{&symbols};
    for (auto& d : f.defaults) visit(d.get(), frame);
    visit(s.body, frame);
    s.frame = symbols.frame();
    f.n_slots = static_cast<int>(function->slots.size());
  }

  static void check_explicit_caller(const Stmt& s) {
    const FunctionInfo& f = *s.function;
    for (size_t i = 0; i < f.parameters.size(); ++i)
      if (f.parameters[i]->name == "caller" && f.parameters.size() - i > f.defaults.size())
        raise(Err::Assertion, s.line,
              "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a "
              "default.");
  }

  void visit_set_block(Stmt& s, const Frame& outer) {
    Symbols symbols(outer.symbols, outer.symbols->function());
    analyze(s.body, &symbols);
    visit(s.target.get(), outer);
    Frame frame{&symbols};
    frame.in_loop = outer.in_loop;
    // The filter belongs to the inner scope, but what it reads must be known there.
    if (s.expr) analyze(s.expr.get(), &symbols);
    visit(s.body, frame);
    visit(s.expr.get(), frame);
    s.frame = symbols.frame();
    if (outer.toplevel) add_exports(*s.target, &s);
  }

  void visit_filter_block(Stmt& s, const Frame& outer) {
    Symbols symbols(outer.symbols, outer.symbols->function());
    analyze(s.body, &symbols);
    analyze(s.expr.get(), &symbols);
    Frame frame{&symbols};
    frame.in_loop = outer.in_loop;
    visit(s.body, frame);
    visit(s.expr.get(), frame);
    s.frame = symbols.frame();
  }

  void visit_with(Stmt& s, const Frame& outer) {
    Symbols symbols(outer.symbols, outer.symbols->function());
    for (const auto& target : s.targets) declare_targets(target.get(), &symbols);
    analyze(s.body, &symbols);
    for (auto& e : s.exprs) visit(e.get(), outer);
    Frame frame{&symbols};
    frame.in_loop = outer.in_loop;
    for (auto& target : s.targets) visit(target.get(), frame);
    visit(s.body, frame);
    s.frame = symbols.frame();
  }

  void visit_scope(Stmt& s, const Frame& outer) {
    Symbols symbols(outer.symbols, outer.symbols->function());
    analyze(s.body, &symbols);
    Frame frame{&symbols};
    frame.in_loop = outer.in_loop;
    visit(s.body, frame);
    s.frame = symbols.frame();
  }

  // A block sees the template's variables and the top-level names set so far, but no scope around it.
  void visit_block(Stmt& s, const Frame& outer) {
    if (s.scoped)
      for (const auto& [name, v] : outer.symbols->visible())
        s.exports.emplace_back(name, place_of(v, outer.symbols->function()));
    FunctionScope* function = new_function(nullptr);
    Symbols symbols(nullptr, function);
    analyze(s.body, &symbols);
    Frame frame{&symbols};
    visit(s.body, frame);
    s.frame = symbols.frame();
    s.n_slots = static_cast<int>(function->slots.size());
  }

  Program* program_;
  std::vector<std::unique_ptr<FunctionScope>> functions_;
};

}  // namespace

void resolve(Program* program) { Resolver(program).run(); }

}  // namespace tally::text::jinja
