// From a checked schema to rules. What values a schema allows is kept per type: numbers and strings as boolean
// expressions, arrays and objects as lists of shapes, each a conjunction. Shapes have intersection and complement, so
// allOf, anyOf, oneOf, not and if need no special cases later. Children are goals: sets of schemas, plain or negated,
// that a value must satisfy together; a goal is expanded when it is needed, which makes recursion harmless.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/grammar/schema.h"
#include "text/grammar/schema_document.h"
#include "text/grammar/schema_expr.h"
#include "text/grammar/schema_graph.h"

namespace tally::grammar {

using GoalId = int;
inline constexpr GoalId kAny = 0, kNever = 1;

// Keys that match `patterns[0]`; outside: keys that are none of `names` and match none of `patterns`. The shape that
// holds it also lists the names among its properties.
struct KeySet {
  bool outside = false;
  std::vector<std::string_view> names;  // sorted
  std::vector<int> patterns;            // expressions
};

struct Contains {
  GoalId goal = kAny;
  uint64_t min = 1, max = kUnbounded;
  uint64_t from = 0;       // only items at this index and later count
  bool evaluates = false;  // its items count as evaluated
};

struct ArrayShape {
  std::vector<GoalId> prefix;
  GoalId rest = kAny;
  uint64_t min = 0, max = kUnbounded;
  std::vector<Contains> contains;
  bool unique = false, repeats = false;  // uniqueItems, and its negation
  bool declares = false;                 // prefixItems was given
  bool said = false;                     // something was said about the items beyond it
  uint64_t seen = 0;                     // items from the start that count as evaluated; kUnbounded: all
};

struct Property {
  std::string_view name;
  GoalId goal = kAny;
};
struct KeyRule {
  KeySet keys;
  GoalId goal = kAny;
};

struct ObjectShape {
  std::vector<Property> properties;  // no name twice
  std::vector<std::string_view> required;
  std::vector<KeyRule> every;  // each key of the set has a value of the goal
  std::vector<KeyRule> some;   // some key of the set is there and has one
  uint64_t min = 0, max = kUnbounded;
  bool declares = false, said = false;  // as in ArrayShape
  std::vector<std::string_view> seen;
  std::vector<int> seen_patterns;
  bool seen_all = false;
};

struct Values {
  bool null = true, yes = true, no = true;
  int number = ExprPool::kTop, string = ExprPool::kTop;
  std::vector<ArrayShape> arrays{1};
  std::vector<ObjectShape> objects{1};
  static Values none();
  bool everything() const;
};

class SchemaCompiler {
 public:
  SchemaCompiler(std::string_view text, const SchemaOptions& options, std::vector<std::string>* warnings);

  int root_node();  // in graph()
  SchemaObject object(Rules& rules);
  Graph& graph() { return graph_; }
  NodeId write(Rules& rules, int node);  // throws "unsatisfiable" when it takes no text

 private:
  enum class Part : uint8_t { Schema, Const, Goal };
  using Literal = uint64_t;  // id × 8 + part × 2 + negated
  static Literal literal(Part part, int id, bool negated) {
    return static_cast<uint64_t>(id) * 8 + static_cast<uint64_t>(part) * 2 + (negated ? 1 : 0);
  }

  // Goals.
  GoalId goal(std::vector<Literal> literals);
  GoalId schema_goal(int schema);
  GoalId const_goal(int value) { return goal({literal(Part::Const, value, false)}); }
  GoalId both(GoalId a, GoalId b);
  GoalId either(GoalId a, GoalId b) { return negated(both(negated(a), negated(b))); }
  GoalId negated(GoalId g);
  const Values& expand(GoalId g);
  bool empty(GoalId g);
  bool empty(const ArrayShape& a);
  bool empty(const ObjectShape& o);
  struct Deeper {                                  // counts how deep expansion is, and refuses to go too deep
    Deeper(SchemaCompiler& compiler, int schema);  // −1: no place to name
    ~Deeper() { --depth; }
    int& depth;
  };

  // Set operations. The result replaces `a`.
  void meet(Values& a, const Values& b);
  void unite(Values& a, const Values& b);
  Values complement_of(const Values& a);
  bool meet(ArrayShape& a, const ArrayShape& b);  // false: contradictory
  bool meet(ObjectShape& a, const ObjectShape& b);
  template <typename Shape>
  void meet_lists(std::vector<Shape>& a, const std::vector<Shape>& b);
  std::vector<ArrayShape> complement_of(const ArrayShape& a);
  std::vector<ObjectShape> complement_of(const ObjectShape& o);
  template <typename Shape>
  std::vector<Shape> complement_of(const std::vector<Shape>& shapes);
  bool disjoint(const ArrayShape& a, const ArrayShape& b);
  bool disjoint(const ObjectShape& a, const ObjectShape& b);
  bool plainly_apart(GoalId a, GoalId b);
  void check_count(size_t n_shapes) const;

  // Keywords.
  const Values& expand_schema(int schema);
  Values expand_literal(Literal l);
  Values expand_const(int value);
  Values expand_enum(int list);
  Values expand_types(int value);
  void apply(Values& v, int schema, Keyword k, int value);
  void apply_logic(Values& v, int schema, Keyword k, int value);
  void apply_numeric(Values& v, Keyword k, int value);
  void apply_string(Values& v, Keyword k, int value);
  void apply_array(Values& v, int schema, Keyword k, int value);
  void apply_object(Values& v, int schema, Keyword k, int value);
  void apply_dependent(Values& v, Keyword k, int value);
  void apply_unevaluated(Values& v, int schema);
  Values expand_any_of(int list);
  Values expand_one_of(int list);
  int exactly_one_of(const std::vector<int>& branches);
  Values expand_if(int schema, int condition);
  const Values& expand_reference(int value, bool dynamic);
  KeySet outside_of(int schema);
  int key_expression(const KeySet& keys);  // for keys that are none of the shape's names
  bool in(const KeySet& keys, std::string_view name);
  int pattern(std::string_view text, const std::string& path);
  Decimal decimal(int value) const { return parse_decimal(json().text(value), json().pointer(value)); }
  const JsonDocument& json() const { return document_.json(); }
  [[noreturn]] void unsupported(int value, const std::string& what) const;

  // Writing.
  int value_node(GoalId g);  // a reference to the goal's rule, or a terminal
  int any_value_rule();
  int body(const Values& v);
  int strings_node(int e);
  int numbers_node(int e);
  int comma();
  int colon_and(int value);
  int array_node(const ArrayShape& a);
  int list_node(const ArrayShape& a);
  int counted_list_node(const ArrayShape& a);
  int unique_list_node(const ArrayShape& a);
  std::optional<std::vector<std::string>> finite(GoalId g);  // its values as JSON, when there are few
  bool pairwise_disjoint(const ArrayShape& a, uint64_t max);
  struct Entry;
  struct Cell;
  struct ObjectPlan;
  ObjectPlan plan(const ObjectShape& o);
  std::vector<Cell> cells(const ObjectShape& o, const std::vector<std::string_view>& names);
  int object_node(const ObjectShape& o);
  int chain_node(const ObjectPlan& p);
  int counted_node(const ObjectPlan& p);
  int pair_node(const Entry& e);
  int pair_node(const Cell& c);

  SchemaOptions options_;
  Budget budget_;
  SchemaDocument document_;
  ExprPool exprs_;
  Graph graph_;
  std::vector<std::string>* warnings_;
  std::vector<std::vector<Literal>> goals_;
  std::map<std::vector<Literal>, GoalId> goal_ids_;
  std::unordered_map<GoalId, std::unique_ptr<Values>> expanded_;
  std::unordered_map<GoalId, bool> empty_;
  std::unordered_map<int, std::unique_ptr<Values>> schemas_;
  std::vector<uint8_t> open_;  // schemas being expanded
  int depth_ = 0, empty_depth_ = 0;
  std::unordered_map<GoalId, int> goal_rules_;
  std::deque<GoalId> to_write_;
  int any_rule_ = -1;
  std::map<std::string, int> patterns_;
};

}  // namespace tally::grammar
