#include "text/jinja_symbols.h"

#include "base/check.h"

namespace tally::text::jinja {

const Variable* Symbols::find(const std::string& name) const {
  for (const Symbols* s = this; s; s = s->parent_)
    if (auto it = s->refs_.find(name); it != s->refs_.end()) return &it->second;
  return nullptr;
}

Variable Symbols::define(const std::string& name, Load load, const Variable* from) {
  const Variable v{function_, function_->slot(level_, name)};
  refs_[name] = v;
  load.slot = v.slot;
  loads_[v.slot] = {std::move(load), from ? *from : Variable{nullptr, -1}};
  return v;
}

int Symbols::declare_parameter(const std::string& name) {
  if (stores_.insert(name).second) stored_.push_back(name);
  return define(name, {Load::Kind::Parameter, 0, {}, ""}, nullptr).slot;
}

void Symbols::store(const std::string& name) {
  if (stores_.insert(name).second) stored_.push_back(name);
  if (refs_.count(name)) return;
  if (const Variable* outer = parent_ ? parent_->find(name) : nullptr)
    define(name, {Load::Kind::Alias, 0, {}, ""}, outer);
  else
    define(name, {Load::Kind::Undefined, 0, {}, ""}, nullptr);
}

void Symbols::load(const std::string& name) {
  if (!find(name)) define(name, {Load::Kind::Resolve, 0, {}, name}, nullptr);
}

void Symbols::end_branches(size_t begin) {
  for (size_t i = begin; i < stored_.size(); ++i) {
    const std::string& name = stored_[i];
    const Variable* v = find(name);
    CHECK(v, "name {}", name);
    Source& source = loads_[v->slot];
    if (const Variable* outer = parent_ ? parent_->find(name) : nullptr)
      source = {{Load::Kind::Alias, v->slot, {}, ""}, *outer};
    else
      source = {{Load::Kind::Resolve, v->slot, {}, name}, {nullptr, -1}};
  }
}

FrameInfo Symbols::frame() const {
  FrameInfo info;
  for (const auto& [slot, source] : loads_) {
    Load load = source.load;
    load.slot = slot;
    if (load.kind == Load::Kind::Alias) load.from = place_of(source.from, function_);
    info.loads.push_back(std::move(load));
  }
  return info;
}

std::vector<std::pair<std::string, Variable>> Symbols::visible() const {
  std::vector<std::pair<std::string, Variable>> all;
  std::set<std::string> seen;
  for (const Symbols* s = this; s; s = s->parent_)
    for (const auto& name : s->stores_)
      if (seen.insert(name).second) all.emplace_back(name, *find(name));
  return all;
}

Place place_of(const Variable& variable, const FunctionScope* from) {
  return {from->depth - variable.function->depth, variable.slot};
}

// ---- what a scope reads and sets

namespace {

void analyze_args(const CallArgs& args, Symbols* symbols) {
  for (const auto& a : args.positional) analyze(a.get(), symbols);
  for (const auto& [key, a] : args.keywords) analyze(a.get(), symbols);
  analyze(args.star.get(), symbols);
  analyze(args.star_star.get(), symbols);
}

void analyze_statement(const Stmt& s, Symbols* symbols);

void analyze_if(const Stmt& s, Symbols* symbols) {
  analyze(s.test.get(), symbols);
  const size_t begin = symbols->begin_branches();
  analyze(s.body, symbols);
  for (const auto& branch : s.elifs) analyze_if(*branch, symbols);
  analyze(s.else_body, symbols);
  symbols->end_branches(begin);
}

// Inner scopes are not entered: only what is evaluated outside of them counts.
void analyze_statement(const Stmt& s, Symbols* symbols) {
  switch (s.kind) {
    case StmtKind::Output:
      for (const auto& e : s.exprs) analyze(e.get(), symbols);
      break;
    case StmtKind::For:
      analyze(s.expr.get(), symbols);
      break;
    case StmtKind::If:
      analyze_if(s, symbols);
      break;
    case StmtKind::Macro:
      symbols->store(s.target->name);
      break;
    case StmtKind::CallBlock:
      analyze(s.expr.get(), symbols);
      break;
    case StmtKind::Set:
      analyze(s.expr.get(), symbols);
      analyze(s.target.get(), symbols);
      break;
    case StmtKind::SetBlock:
      analyze(s.target.get(), symbols);
      break;
    case StmtKind::FilterBlock:
      analyze(s.expr.get(), symbols);
      break;
    case StmtKind::With:
      for (const auto& e : s.exprs) analyze(e.get(), symbols);
      break;
    case StmtKind::Include:
      analyze(s.expr.get(), symbols);
      if (s.target) symbols->store(s.target->name);
      break;
    default:
      break;
  }
}

class Undeclared {
 public:
  explicit Undeclared(std::set<std::string> names) : names_(std::move(names)) {}
  const std::set<std::string>& found() const { return found_; }

  void visit(const Expr* e) {
    if (!e || done()) return;
    if (e->kind == ExprKind::Name) {
      if (!names_.count(e->name)) return;
      if (e->store)
        names_.erase(e->name);
      else
        found_.insert(e->name);
      return;
    }
    for (const auto& item : e->items) visit(item.get());
    if (!e->args) return;
    for (const auto& a : e->args->positional) visit(a.get());
    for (const auto& [key, a] : e->args->keywords) visit(a.get());
    visit(e->args->star.get());
    visit(e->args->star_star.get());
  }

  void visit(const Body& body) {
    for (const auto& s : body) visit(*s);
  }

  void visit(const Stmt& s) {
    if (s.kind == StmtKind::Block || done()) return;
    if (s.kind == StmtKind::CallBlock) visit(s.expr.get());
    if (s.kind == StmtKind::If) visit(s.test.get());
    if (s.kind != StmtKind::Macro) visit(s.target.get());
    if (s.function) {
      for (const auto& p : s.function->parameters) visit(p.get());
      for (const auto& d : s.function->defaults) visit(d.get());
    }
    if (s.kind != StmtKind::CallBlock && s.kind != StmtKind::FilterBlock) visit(s.expr.get());
    for (const auto& t : s.targets) visit(t.get());
    for (const auto& e : s.exprs) visit(e.get());
    visit(s.body);
    for (const auto& branch : s.elifs) visit(*branch);
    visit(s.else_body);
    if (s.kind == StmtKind::For) visit(s.test.get());
    if (s.kind == StmtKind::FilterBlock) visit(s.expr.get());
  }

 private:
  bool done() const { return found_.size() == names_.size() && found_ == names_; }
  std::set<std::string> names_, found_;
};

}  // namespace

std::set<std::string> find_undeclared(const Body& body, std::set<std::string> names) {
  Undeclared visitor(std::move(names));
  visitor.visit(body);
  return visitor.found();
}

void analyze(const Expr* e, Symbols* symbols) {
  if (!e) return;
  if (e->kind == ExprKind::Name) return e->store ? symbols->store(e->name) : symbols->load(e->name);
  if (e->kind == ExprKind::NsRef) return symbols->load(e->name);
  for (const auto& item : e->items) analyze(item.get(), symbols);
  if (e->args) analyze_args(*e->args, symbols);
}

void analyze(const Body& body, Symbols* symbols) {
  for (const auto& s : body) analyze_statement(*s, symbols);
}

void declare_targets(const Expr* target, Symbols* symbols) {
  if (target->kind == ExprKind::Name) symbols->declare_parameter(target->name);
  for (const auto& item : target->items) declare_targets(item.get(), symbols);
}

}  // namespace tally::text::jinja
