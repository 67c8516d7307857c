// Intersection, union, complement and emptiness of sets of values.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/grammar/schema_compiler.h"

namespace tally::grammar {
namespace {

constexpr size_t kShapesMax = 6000;
constexpr int kEmptyDepth = 6;
constexpr uint64_t kFullComparison = 300;
constexpr int kDepthMax = 600;

bool everything(const ArrayShape& a) {
  return a.prefix.empty() && a.rest == kAny && a.min == 0 && a.max == kUnbounded && a.contains.empty() && !a.unique &&
         !a.repeats && !a.declares && !a.said && a.seen == 0;
}

bool everything(const ObjectShape& o) {
  return o.properties.empty() && o.required.empty() && o.every.empty() && o.some.empty() && o.min == 0 &&
         o.max == kUnbounded && !o.declares && !o.said && o.seen.empty() && !o.seen_all;
}

template <typename Shape>
bool everything(const std::vector<Shape>& shapes) {
  return shapes.size() == 1 && everything(shapes[0]);
}

GoalId item_goal(const ArrayShape& a, size_t i) { return i < a.prefix.size() ? a.prefix[i] : a.rest; }

}  // namespace

Values Values::none() {
  Values v;
  v.null = v.yes = v.no = false;
  v.number = v.string = ExprPool::kBottom;
  v.arrays.clear();
  v.objects.clear();
  return v;
}

bool Values::everything() const {
  return null && yes && no && number == ExprPool::kTop && string == ExprPool::kTop && grammar::everything(arrays) &&
         grammar::everything(objects);
}

// Goals.

GoalId SchemaCompiler::goal(std::vector<Literal> literals) {
  std::sort(literals.begin(), literals.end());
  literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
  for (size_t i = 1; i < literals.size(); ++i)
    if (literals[i] == (literals[i - 1] | 1)) return kNever;  // plain and negated
  budget_.spend(literals.size() + 1);
  auto [it, fresh] = goal_ids_.try_emplace(literals, static_cast<int>(goals_.size()));
  if (fresh) goals_.push_back(std::move(literals));
  return it->second;
}

GoalId SchemaCompiler::schema_goal(int schema) {
  schema = document_.follow(schema);
  if (json().is(schema, JsonKind::False)) return kNever;
  if (!document_.restricts(schema)) return kAny;
  return goal({literal(Part::Schema, schema, false)});
}

GoalId SchemaCompiler::both(GoalId a, GoalId b) {
  if (a == b || b == kAny) return a;
  if (a == kAny) return b;
  if (a == kNever || b == kNever) return kNever;
  std::vector<Literal> all = goals_[a];
  all.insert(all.end(), goals_[b].begin(), goals_[b].end());
  return goal(std::move(all));
}

GoalId SchemaCompiler::negated(GoalId g) {
  if (g == kAny) return kNever;
  if (g == kNever) return kAny;
  if (goals_[g].size() == 1) return goal({goals_[g][0] ^ 1});
  return goal({literal(Part::Goal, g, true)});
}

SchemaCompiler::Deeper::Deeper(SchemaCompiler& compiler, int schema) : depth(compiler.depth_) {
  if (++depth <= kDepthMax) return;
  --depth;
  throw ConstraintError(schema < 0 ? "" : compiler.json().pointer(schema),
                        fmt::format("schemas that speak of one value refer to each other more than {} deep", kDepthMax),
                        kDepthMax, static_cast<uint64_t>(kDepthMax) + 1);
}

const Values& SchemaCompiler::expand(GoalId g) {
  if (auto it = expanded_.find(g); it != expanded_.end()) return *it->second;
  auto v = std::make_unique<Values>();
  if (g == kNever) *v = Values::none();
  if (g > kNever) {
    const Deeper deeper(*this, -1);
    const std::vector<Literal> literals = goals_[g];
    for (Literal l : literals) meet(*v, expand_literal(l));
  }
  return *expanded_.emplace(g, std::move(v)).first->second;
}

// Emptiness: true is certain, false may mean that it was not looked at deeply enough.

bool SchemaCompiler::empty(GoalId g) {
  if (g == kAny || g == kNever) return g == kNever;
  if (auto it = empty_.find(g); it != empty_.end()) return it->second;
  if (empty_depth_ >= kEmptyDepth) return false;
  const Values& v = expand(g);
  bool none = !v.null && !v.yes && !v.no && exprs_.empty_numbers(v.number) && exprs_.empty_strings(v.string);
  for (const ArrayShape& a : v.arrays) none = none && empty(a);
  for (const ObjectShape& o : v.objects) none = none && empty(o);
  if (none || empty_depth_ == 0) empty_[g] = none;
  return none;
}

bool SchemaCompiler::empty(const ArrayShape& a) {
  if (a.min > a.max) return true;
  ++empty_depth_;
  bool none = a.min > a.prefix.size() && empty(a.rest);
  for (size_t i = 0; i < a.prefix.size() && i < a.min && !none; ++i) none = empty(a.prefix[i]);
  --empty_depth_;
  return none;
}

bool SchemaCompiler::empty(const ObjectShape& o) {
  if (o.min > o.max || o.required.size() > o.max) return true;
  ++empty_depth_;
  bool none = false;
  for (std::string_view name : o.required) {
    if (none) break;
    GoalId g = kAny;
    for (const Property& p : o.properties)
      if (p.name == name) g = p.goal;
    for (const KeyRule& r : o.every)
      if (in(r.keys, name)) g = both(g, r.goal);
    none = empty(g);
  }
  --empty_depth_;
  return none;
}

// Intersection.

void SchemaCompiler::check_count(size_t n) const {
  if (n <= kShapesMax) return;
  throw ConstraintError(budget_.path,
                        fmt::format("the conditions on an array or object combine to more than {} cases", kShapesMax),
                        kShapesMax, n);
}

bool SchemaCompiler::meet(ArrayShape& a, const ArrayShape& b) {
  for (size_t i = 0; i < std::max(a.prefix.size(), b.prefix.size()); ++i) {
    GoalId g = both(item_goal(a, i), item_goal(b, i));
    if (i < a.prefix.size()) {
      a.prefix[i] = g;
    } else {
      a.prefix.push_back(g);
    }
  }
  a.rest = both(a.rest, b.rest);
  a.min = std::max(a.min, b.min);
  a.max = std::min(a.max, b.max);
  a.contains.insert(a.contains.end(), b.contains.begin(), b.contains.end());
  a.unique |= b.unique;
  a.repeats |= b.repeats;
  a.declares |= b.declares;
  a.said |= b.said;
  a.seen = std::max(a.seen, b.seen);
  for (size_t i = 0; i < a.prefix.size(); ++i)
    if (a.prefix[i] == kNever) a.max = std::min<uint64_t>(a.max, i);
  if (a.rest == kNever) a.max = std::min<uint64_t>(a.max, a.prefix.size());
  return a.min <= a.max;
}

bool SchemaCompiler::meet(ObjectShape& a, const ObjectShape& b) {
  std::unordered_map<std::string_view, size_t> at;
  const bool wide = a.properties.size() * b.properties.size() > 256;
  if (wide)
    for (size_t i = 0; i < a.properties.size(); ++i) at.emplace(a.properties[i].name, i);
  const size_t n = a.properties.size();
  for (const Property& p : b.properties) {
    size_t i = 0;
    if (wide) {
      auto it = at.find(p.name);
      i = it == at.end() ? n : it->second;
    } else {
      while (i < n && a.properties[i].name != p.name) ++i;
    }
    if (i < n) {
      a.properties[i].goal = both(a.properties[i].goal, p.goal);
    } else {
      a.properties.push_back(p);
    }
  }
  budget_.spend(b.properties.size() + b.required.size() + a.required.size() * b.required.size() / 16 + 1);
  if (a.required.empty()) {
    a.required = b.required;
  } else {
    for (std::string_view name : b.required)
      if (std::find(a.required.begin(), a.required.end(), name) == a.required.end()) a.required.push_back(name);
  }
  a.every.insert(a.every.end(), b.every.begin(), b.every.end());
  a.some.insert(a.some.end(), b.some.begin(), b.some.end());
  a.min = std::max(a.min, b.min);
  a.max = std::min(a.max, b.max);
  a.declares |= b.declares;
  a.said |= b.said;
  a.seen.insert(a.seen.end(), b.seen.begin(), b.seen.end());
  a.seen_patterns.insert(a.seen_patterns.end(), b.seen_patterns.begin(), b.seen_patterns.end());
  a.seen_all |= b.seen_all;
  if (a.min > a.max) return false;
  for (const Property& p : a.properties)
    if (p.goal == kNever && std::find(a.required.begin(), a.required.end(), p.name) != a.required.end()) return false;
  return true;
}

template <typename Shape>
void SchemaCompiler::meet_lists(std::vector<Shape>& a, const std::vector<Shape>& b) {
  if (everything(b)) return;
  if (everything(a)) {
    a = b;
    return;
  }
  std::vector<Shape> out;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      budget_.spend(20);
      Shape x = j + 1 == b.size() ? std::move(a[i]) : a[i];
      if (meet(x, b[j])) out.push_back(std::move(x));
    }
    if (b.size() > 1) check_count(out.size());
  }
  a = std::move(out);
}

void SchemaCompiler::meet(Values& a, const Values& b) {
  a.null &= b.null;
  a.yes &= b.yes;
  a.no &= b.no;
  a.number = exprs_.both(a.number, b.number);
  a.string = exprs_.both(a.string, b.string);
  meet_lists(a.arrays, b.arrays);
  meet_lists(a.objects, b.objects);
}

// Union. A shape that takes everything makes the others superfluous.
void SchemaCompiler::unite(Values& a, const Values& b) {
  a.null |= b.null;
  a.yes |= b.yes;
  a.no |= b.no;
  a.number = exprs_.either({a.number, b.number});
  a.string = exprs_.either({a.string, b.string});
  auto join = [&](auto& to, const auto& from) {
    if (!document_.has_unevaluated() && everything(to)) return;
    if (!document_.has_unevaluated() && everything(from)) {
      to = from;
    } else {
      to.insert(to.end(), from.begin(), from.end());
    }
  };
  join(a.arrays, b.arrays);
  join(a.objects, b.objects);
}

// Complement: not (A and B) is (not A) or (not B), for each condition of a shape.

std::vector<ArrayShape> SchemaCompiler::complement_of(const ArrayShape& a) {
  std::vector<ArrayShape> out;
  if (a.min > 0) {
    out.emplace_back();
    out.back().max = a.min - 1;
  }
  if (a.max != kUnbounded) {
    out.emplace_back();
    out.back().min = a.max + 1;
  }
  for (size_t i = 0; i < a.prefix.size(); ++i) {
    if (a.prefix[i] == kAny) continue;
    ArrayShape s;
    s.prefix.assign(i, kAny);
    s.prefix.push_back(negated(a.prefix[i]));
    s.min = i + 1;
    out.push_back(std::move(s));
  }
  if (a.rest == kNever) {
    out.emplace_back();
    out.back().min = a.prefix.size() + 1;
  } else if (a.rest != kAny) {
    out.emplace_back();
    out.back().contains.push_back({negated(a.rest), 1, kUnbounded, a.prefix.size(), false});
  }
  for (const Contains& c : a.contains) {
    if (c.min > 0) {
      out.emplace_back();
      out.back().contains.push_back({c.goal, 0, c.min - 1, c.from, false});
    }
    if (c.max != kUnbounded) {
      out.emplace_back();
      out.back().contains.push_back({c.goal, c.max + 1, kUnbounded, c.from, false});
    }
  }
  if (a.unique) {
    out.emplace_back();
    out.back().repeats = true;
  }
  if (a.repeats) {
    out.emplace_back();
    out.back().unique = true;
  }
  return out;
}

std::vector<ObjectShape> SchemaCompiler::complement_of(const ObjectShape& o) {
  std::vector<ObjectShape> out;
  for (std::string_view name : o.required) {
    out.emplace_back();
    out.back().properties.push_back({name, kNever});
  }
  for (const Property& p : o.properties) {
    if (p.goal == kAny) continue;
    out.emplace_back();
    out.back().properties.push_back({p.name, negated(p.goal)});
    out.back().required.push_back(p.name);
  }
  for (const std::vector<KeyRule>* rules : {&o.every, &o.some}) {
    for (const KeyRule& r : *rules) {
      ObjectShape s;
      for (std::string_view name : r.keys.names) s.properties.push_back({name, kAny});
      (rules == &o.every ? s.some : s.every).push_back({r.keys, negated(r.goal)});
      out.push_back(std::move(s));
    }
  }
  if (o.min > 0) {
    out.emplace_back();
    out.back().max = o.min - 1;
  }
  if (o.max != kUnbounded) {
    out.emplace_back();
    out.back().min = o.max + 1;
  }
  return out;
}

template <typename Shape>
std::vector<Shape> SchemaCompiler::complement_of(const std::vector<Shape>& shapes) {
  std::vector<Shape> out(1);
  for (const Shape& s : shapes) {
    budget_.spend(20);
    const std::vector<Shape> parts = complement_of(s);
    meet_lists(out, parts);
    out.erase(std::remove_if(out.begin(), out.end(), [&](const Shape& x) { return empty(x); }), out.end());
  }
  return out;
}

Values SchemaCompiler::complement_of(const Values& a) {
  Values v;
  v.null = !a.null;
  v.yes = !a.yes;
  v.no = !a.no;
  v.number = exprs_.negate(a.number);
  v.string = exprs_.negate(a.string);
  v.arrays = complement_of(a.arrays);
  v.objects = complement_of(a.objects);
  return v;
}

bool SchemaCompiler::disjoint(const ArrayShape& a, const ArrayShape& b) {
  budget_.spend(kFullComparison);
  ArrayShape x = a;
  return !meet(x, b) || empty(x);
}

// Without making anything new: listed values that differ, or other types.
bool SchemaCompiler::plainly_apart(GoalId a, GoalId b) {
  if (a == kAny || b == kAny || a == b) return false;
  const Values &x = expand(a), &y = expand(b);
  if ((x.null && y.null) || (x.yes && y.yes) || (x.no && y.no)) return false;
  if ((!x.arrays.empty() && !y.arrays.empty()) || (!x.objects.empty() && !y.objects.empty())) return false;
  for (auto [e, f] : {std::pair(x.number, y.number), std::pair(x.string, y.string)}) {
    if (e == ExprPool::kBottom || f == ExprPool::kBottom) continue;
    const Expr &p = exprs_[e], &q = exprs_[f];
    const bool lists = p.kind == q.kind && (p.kind == ExprKind::Words || p.kind == ExprKind::Numbers);
    if (!lists || p.words.size() + p.numbers.size() > 8) return false;
    for (const std::string& w : p.words)
      if (std::binary_search(q.words.begin(), q.words.end(), w)) return false;
    for (const Decimal& d : p.numbers)
      if (std::binary_search(q.numbers.begin(), q.numbers.end(), d)) return false;
  }
  return true;
}

bool SchemaCompiler::disjoint(const ObjectShape& a, const ObjectShape& b) {
  budget_.spend(4);
  for (const Property& p : a.properties) {  // tagged objects differ in a property that one of them requires
    if (std::find(a.required.begin(), a.required.end(), p.name) == a.required.end()) continue;
    for (const Property& q : b.properties)
      if (p.name == q.name && plainly_apart(p.goal, q.goal)) return true;
    budget_.spend(b.properties.size() / 4 + 1);
  }
  budget_.spend(kFullComparison);
  ObjectShape x = a;
  return !meet(x, b) || empty(x);
}

// Used by the keywords, in another file.
template std::vector<ArrayShape> SchemaCompiler::complement_of(const std::vector<ArrayShape>& shapes);
template std::vector<ObjectShape> SchemaCompiler::complement_of(const std::vector<ObjectShape>& shapes);
template void SchemaCompiler::meet_lists(std::vector<ArrayShape>& a, const std::vector<ArrayShape>& b);
template void SchemaCompiler::meet_lists(std::vector<ObjectShape>& a, const std::vector<ObjectShape>& b);

}  // namespace tally::grammar
