// Names of one scope while a program is resolved (see jinja_resolve.h).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.h"

namespace tally::text::jinja {

// What is one activation at run time: the root, a block, a macro, a caller, a recursive loop, the test of a loop.
struct FunctionScope {
  explicit FunctionScope(FunctionScope* outer) : parent(outer), depth(outer ? outer->depth + 1 : 0) {}
  FunctionScope* parent;
  int depth;
  int slot(int level, const std::string& name) {
    return slots.try_emplace({level, name}, static_cast<int>(slots.size())).first->second;
  }
  std::map<std::pair<int, std::string>, int> slots;
};

struct Variable {
  FunctionScope* function;
  int slot;
};

class Symbols {
 public:
  Symbols(Symbols* parent, FunctionScope* function)
      : parent_(parent), function_(function), level_(parent ? parent->level_ + 1 : 0) {}

  const Variable* find(const std::string& name) const;
  int declare_parameter(const std::string& name);  // returns its slot
  void store(const std::string& name);
  void load(const std::string& name);

  // Branches of an `if`: what is stored between the two calls may or may not have happened.
  size_t begin_branches() const { return stored_.size(); }
  void end_branches(size_t begin);

  FunctionScope* function() const { return function_; }
  FrameInfo frame() const;
  // All stored names of this and outer scopes, inner ones first.
  std::vector<std::pair<std::string, Variable>> visible() const;

 private:
  Variable define(const std::string& name, Load load, const Variable* from);
  struct Source {
    Load load;
    Variable from;
  };
  Symbols* parent_;
  FunctionScope* function_;
  int level_;
  std::map<std::string, Variable> refs_;
  std::map<int, Source> loads_;  // by slot
  std::set<std::string> stores_;
  std::vector<std::string> stored_;  // stores_ in order
};

Place place_of(const Variable& variable, const FunctionScope* from);

// Which of `names` the nodes read before they set them, in any scope below (blocks excepted).
std::set<std::string> find_undeclared(const Body& body, std::set<std::string> names);

// Visits expressions as the analysis of one scope does.
void analyze(const Expr* e, Symbols* symbols);
void analyze(const Body& body, Symbols* symbols);
void declare_targets(const Expr* target, Symbols* symbols);

}  // namespace tally::text::jinja
