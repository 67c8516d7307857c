// Writing objects: keys that have a name come in their order, others after them.
#include <algorithm>
#include <unordered_set>

#include "text/grammar/schema_emit.h"
#include "text/grammar/spelling.h"

namespace tally::grammar {

std::optional<std::vector<std::string>> list_words(const Dfa& dfa, size_t most) {
  std::vector<std::string> out;
  std::vector<std::pair<int, std::string>> todo{{dfa.start, ""}};
  for (size_t steps = 0; !todo.empty(); ++steps) {
    auto [q, word] = std::move(todo.back());
    todo.pop_back();
    if (dfa.accepting[q]) out.push_back(word);
    if (out.size() > most || steps > most * 64) return std::nullopt;
    for (int b = 0; b < 256; ++b)
      if (int to = dfa.step(q, static_cast<uint8_t>(b)); to >= 0) todo.emplace_back(to, word + static_cast<char>(b));
  }
  return out;
}

namespace {

// The values of a key for each set of "some" rules that it may satisfy, the empty set first.
template <typename Both>
std::vector<std::pair<uint32_t, GoalId>> kinds_of(GoalId goal, const std::vector<std::pair<uint32_t, GoalId>>& rules,
                                                  Both both) {
  std::vector<std::pair<uint32_t, GoalId>> out{{0, goal}};
  for (auto [bit, g] : rules) {
    const size_t n = out.size();
    for (size_t i = 0; i < n; ++i) out.emplace_back(out[i].first | bit, both(out[i].second, g));
  }
  out.erase(std::remove_if(out.begin(), out.end(), [](const auto& k) { return k.second == kNever; }), out.end());
  return out;
}

}  // namespace

std::vector<SchemaCompiler::Cell> SchemaCompiler::cells(const ObjectShape& o,
                                                        const std::vector<std::string_view>& names) {
  struct Draft {
    Cell cell;
    std::vector<std::pair<uint32_t, GoalId>> rules;
  };
  Expr known;
  known.kind = ExprKind::Words;
  for (std::string_view name : names) known.words.emplace_back(name);
  std::vector<Draft> drafts(1);
  drafts[0].cell.keys = exprs_.negate(exprs_.add(std::move(known)));
  auto split = [&](const KeySet& keys, auto use) {
    const int set = key_expression(keys);
    std::vector<Draft> out;
    for (Draft& d : drafts) {
      Draft inside = d, outside = d;
      use(inside);
      inside.cell.keys = exprs_.both(d.cell.keys, set);
      outside.cell.keys = exprs_.both(d.cell.keys, exprs_.negate(set));
      const bool divides = set != ExprPool::kTop && set != ExprPool::kBottom;
      if (divides ? !exprs_.empty_strings(inside.cell.keys) : set == ExprPool::kTop) out.push_back(std::move(inside));
      if (divides ? !exprs_.empty_strings(outside.cell.keys) : set == ExprPool::kBottom)
        out.push_back(std::move(outside));
    }
    budget_.check_states(out.size() * 16);
    drafts = std::move(out);
  };
  for (const KeyRule& r : o.every) split(r.keys, [&](Draft& d) { d.cell.goal = both(d.cell.goal, r.goal); });
  for (size_t k = 0; k < o.some.size(); ++k)
    split(o.some[k].keys, [&](Draft& d) { d.rules.emplace_back(1u << k, o.some[k].goal); });
  std::vector<Cell> out;
  for (Draft& d : drafts) {
    if (d.cell.goal == kNever) continue;
    d.cell.kinds = kinds_of(d.cell.goal, d.rules, [&](GoalId a, GoalId b) { return both(a, b); });
    out.push_back(std::move(d.cell));
  }
  return out;
}

SchemaCompiler::ObjectPlan SchemaCompiler::plan(const ObjectShape& o) {
  if (o.some.size() > 4) unsupported(document_.root(), "more than 4 negated rules for undeclared properties");
  ObjectPlan p;
  p.min = o.min;
  p.max = o.max;
  p.all_some = (1u << o.some.size()) - 1;
  const std::unordered_set<std::string_view> required(o.required.begin(), o.required.end());
  std::unordered_set<std::string_view> named;
  std::vector<std::string_view> names;
  auto add = [&](std::string_view name, GoalId goal) {
    if (!named.insert(name).second) return;
    names.push_back(name);
    Entry e{name, required.count(name) > 0, goal, {}};
    std::vector<std::pair<uint32_t, GoalId>> rules;
    for (const KeyRule& r : o.every) {
      budget_.spend(1);
      if (in(r.keys, name)) e.goal = both(e.goal, r.goal);
    }
    for (size_t k = 0; k < o.some.size(); ++k)
      if (in(o.some[k].keys, name)) rules.emplace_back(1u << k, o.some[k].goal);
    e.kinds = kinds_of(e.goal, rules, [&](GoalId a, GoalId b) { return both(a, b); });
    if (e.required || e.goal != kNever) p.entries.push_back(std::move(e));
  };
  for (const Property& x : o.properties) add(x.name, x.goal);
  for (std::string_view name : o.required) add(name, kAny);
  if (!o.declares || o.said) p.cells = cells(o, names);
  return p;
}

int SchemaCompiler::object_node(const ObjectShape& o) {
  const ObjectPlan p = plan(o);
  uint64_t n_required = 0;
  for (const Entry& e : p.entries) n_required += e.required;
  const uint64_t most = p.cells.empty() ? p.entries.size() : kUnbounded;
  if (n_required > p.max || p.min > most) return graph_.nothing();
  const bool counts = p.min > n_required || p.max < most || p.all_some != 0;
  return graph_.sequence({graph_.literal("{"), counts ? counted_node(p) : chain_node(p), graph_.literal("}")});
}

int SchemaCompiler::pair_node(const Entry& e) {
  return graph_.sequence(
      {graph_.literal(quoted(e.name) + ":"), graph_.optional(graph_.literal(" ")), value_node(e.goal)});
}

int SchemaCompiler::pair_node(const Cell& c) {
  return graph_.sequence({strings_node(c.keys), colon_and(value_node(c.goal))});
}

// Before the first key that is required any of the optional ones may be the first that is written; after it each
// optional one stands in its place or not.
int SchemaCompiler::chain_node(const ObjectPlan& p) {
  const size_t n = p.entries.size();
  std::vector<int> pairs;
  for (const Entry& e : p.entries) pairs.push_back(pair_node(e));
  std::vector<int> others;
  for (const Cell& c : p.cells) others.push_back(pair_node(c));
  const int other = others.empty() ? -1 : graph_.alternatives(others);
  size_t first = 0;
  while (first < n && !p.entries[first].required) ++first;
  std::vector<int> tail;  // what may follow the first required key
  for (size_t i = first + 1; i < n; ++i) {
    const int group = graph_.sequence({comma(), pairs[i]});
    tail.push_back(p.entries[i].required ? group : graph_.optional(group));
  }
  const int more = other < 0 ? -1 : graph_.repeat(graph_.sequence({comma(), other}), 0, kUnbounded);
  if (more >= 0) tail.push_back(more);
  if (first == 0 && n > 0) {
    tail.insert(tail.begin(), pairs[0]);
    return graph_.sequence(tail);
  }
  std::vector<int> options;
  int after = tail.empty() ? graph_.empty() : graph_.sequence(tail);  // after the key at `first`
  if (first < n) {
    options.push_back(graph_.sequence({pairs[first], after}));
    after = graph_.sequence({comma(), pairs[first], after});
  } else {
    if (other >= 0) options.push_back(graph_.sequence({other, more}));
    options.push_back(graph_.empty());
  }
  for (size_t i = first; i-- > 0;) {  // a rule for what follows key i, shared by all that may come before
    const int rule = graph_.rule();
    graph_.define(rule, after);
    options.push_back(graph_.sequence({pairs[i], rule}));
    after = graph_.sequence({graph_.optional(graph_.sequence({comma(), pairs[i]})), rule});
  }
  std::reverse(options.begin(), options.end());
  return graph_.alternatives(options);
}

// With counts or rules that some key must satisfy: rules for (key, keys so far, rules satisfied).
int SchemaCompiler::counted_node(const ObjectPlan& p) {
  struct State {
    size_t i;
    uint64_t count;
    uint32_t done;
    bool operator<(const State& o) const { return std::tie(i, count, done) < std::tie(o.i, o.count, o.done); }
  };
  const size_t n = p.entries.size();
  const uint64_t open = p.cells.empty() ? n : kUnbounded;
  const uint64_t cap = p.max < open ? p.max : std::max<uint64_t>(p.min, 1);
  StateRules<State> rules(graph_, budget_);
  auto key_part = [&](const State& s, int key, GoalId g) {
    const int pair = graph_.sequence({key, colon_and(value_node(g))});
    return s.count == 0 ? pair : graph_.sequence({comma(), pair});
  };
  const int start = rules.of({0, 0, 0});
  while (const std::optional<State> state = rules.next()) {
    const State& s = *state;
    std::vector<int> options;
    const bool room = s.count < p.max;
    const uint64_t next = std::min(s.count + 1, std::max<uint64_t>(cap, 1));
    if (s.i < n) {
      const Entry& e = p.entries[s.i];
      if (!e.required) options.push_back(rules.of({s.i + 1, s.count, s.done}));
      for (auto [bits, g] : e.kinds) {
        if (!room) break;
        options.push_back(graph_.sequence(
            {key_part(s, graph_.literal(quoted(e.name)), g), rules.of({s.i + 1, next, s.done | bits})}));
      }
    } else if (s.done == p.all_some && s.count > 0 && !p.cells.empty()) {
      std::vector<int> others;
      for (const Cell& c : p.cells) others.push_back(pair_node(c));
      const uint64_t least = p.min > s.count ? p.min - s.count : 0;
      const uint64_t most = p.max == kUnbounded ? kUnbounded : p.max - s.count;
      options.push_back(graph_.repeat(graph_.sequence({comma(), graph_.alternatives(others)}), least, most));
    } else {
      if (s.done == p.all_some && s.count >= p.min) options.push_back(graph_.empty());
      for (const Cell& c : p.cells) {
        for (auto [bits, g] : c.kinds) {
          if (!room) break;
          options.push_back(
              graph_.sequence({key_part(s, strings_node(c.keys), g), rules.of({s.i, next, s.done | bits})}));
        }
      }
    }
    rules.define(s, options);
  }
  return start;
}

}  // namespace tally::grammar
