// Writing: sets of values to the nodes of a grammar.
#include "text/grammar/schema_emit.h"

#include <algorithm>

#include "text/grammar/spelling.h"

namespace tally::grammar {

int SchemaCompiler::comma() { return graph_.sequence({graph_.literal(","), graph_.optional(graph_.literal(" "))}); }

int SchemaCompiler::colon_and(int value) {
  return graph_.sequence({graph_.literal(":"), graph_.optional(graph_.literal(" ")), value});
}

int SchemaCompiler::any_value_rule() {
  if (any_rule_ >= 0) return any_rule_;
  any_rule_ = graph_.rule();
  const int item = any_rule_;
  const int pair = graph_.sequence({graph_.terminal(free_string()), colon_and(item)});
  auto list = [&](const char* open, int part, const char* close) {
    const int more = graph_.repeat(graph_.sequence({comma(), part}), 0, kUnbounded);
    return graph_.sequence(
        {graph_.literal(open), graph_.optional(graph_.sequence({part, more})), graph_.literal(close)});
  };
  graph_.define(any_rule_, graph_.alternatives({graph_.terminal(free_string()), graph_.terminal(free_number()),
                                                graph_.literal("true"), graph_.literal("false"), graph_.literal("null"),
                                                list("[", item, "]"), list("{", pair, "}")}));
  return any_rule_;
}

int SchemaCompiler::value_node(GoalId g) {
  if (g == kNever) return graph_.nothing();
  if (auto it = goal_rules_.find(g); it != goal_rules_.end()) return it->second;
  const Values& v = expand(g);
  int node = -1;
  if (v.everything()) {
    node = any_value_rule();
  } else if (v.arrays.empty() && v.objects.empty()) {
    node = body(v);  // small and without children: no rule of its own
  } else {
    node = graph_.rule();
    to_write_.push_back(g);
  }
  goal_rules_.emplace(g, node);
  return node;
}

int SchemaCompiler::strings_node(int e) {
  const Expr x = exprs_[e];
  if (x.kind == ExprKind::Or) {
    std::vector<int> parts;
    for (int k : x.kids) parts.push_back(strings_node(k));
    return graph_.alternatives(parts);
  }
  if (x.kind == ExprKind::Words && x.words.size() == 1) {
    return graph_.literal(quoted(x.words[0]));
  }
  if (x.kind == ExprKind::Length) {
    const int chars = graph_.repeat(graph_.terminal(free_string_char()), x.min, x.max);
    return graph_.sequence({graph_.literal("\""), chars, graph_.literal("\"")});
  }
  return graph_.terminal(exprs_.string_terminal(e));
}

int SchemaCompiler::numbers_node(int e) {
  const Expr x = exprs_[e];
  if (x.kind == ExprKind::Or) {
    std::vector<int> parts;
    for (int k : x.kids) parts.push_back(numbers_node(k));
    return graph_.alternatives(parts);
  }
  return graph_.terminal(exprs_.number_terminal(e));
}

int SchemaCompiler::body(const Values& v) {
  std::vector<int> parts;
  if (v.null) parts.push_back(graph_.literal("null"));
  if (v.yes) parts.push_back(graph_.literal("true"));
  if (v.no) parts.push_back(graph_.literal("false"));
  if (v.number != ExprPool::kBottom) parts.push_back(numbers_node(v.number));
  if (v.string != ExprPool::kBottom) parts.push_back(strings_node(v.string));
  for (const ArrayShape& a : v.arrays) parts.push_back(array_node(a));
  for (const ObjectShape& o : v.objects) parts.push_back(object_node(o));
  return parts.empty() ? graph_.nothing() : graph_.alternatives(parts);
}

int SchemaCompiler::root_node() {
  const int root = value_node(schema_goal(document_.root()));
  while (!to_write_.empty()) {
    const GoalId g = to_write_.front();
    to_write_.pop_front();
    const int node = body(expand(g));
    graph_.define(goal_rules_.at(g), node);
  }
  return root;
}

// Arrays.

int SchemaCompiler::array_node(const ArrayShape& given) {
  ArrayShape a = given;
  if (a.repeats) unsupported(document_.root(), "the negation of uniqueItems");
  if (a.declares && !a.said && a.min <= a.prefix.size()) {
    a.rest = kNever;  // nothing is said about further items: none
    a.max = std::min<uint64_t>(a.max, a.prefix.size());
  }
  while (!a.prefix.empty() && a.prefix.back() == a.rest && a.contains.empty()) a.prefix.pop_back();
  if (a.min > a.max) return graph_.nothing();
  std::vector<Contains> contains;
  for (const Contains& c : a.contains)
    if (c.min > 0 || c.max != kUnbounded) contains.push_back(c);
  a.contains = std::move(contains);
  int inside;
  if (a.unique && a.max > 1 && !pairwise_disjoint(a, a.max)) {
    inside = unique_list_node(a);
  } else {
    inside = a.contains.empty() ? list_node(a) : counted_list_node(a);
  }
  return graph_.sequence({graph_.literal("["), inside, graph_.literal("]")});
}

int SchemaCompiler::list_node(const ArrayShape& a) {
  if (a.max == 0) return graph_.empty();
  const size_t n = std::min<uint64_t>(a.prefix.size(), a.max);
  const uint64_t first_rest = std::max<size_t>(n, 1);  // items that stand before the repeated ones
  const uint64_t least = a.min > first_rest ? a.min - first_rest : 0;
  const uint64_t most = a.max == kUnbounded ? kUnbounded : a.max - first_rest;
  int tail = graph_.empty();
  if (most > 0 && a.rest != kNever)
    tail = graph_.repeat(graph_.sequence({comma(), value_node(a.rest)}), least, most);
  else if (least > 0)
    return graph_.nothing();
  for (size_t i = n; i-- > 1;) {  // each item with what follows it; optional from min on
    tail = graph_.sequence({comma(), value_node(a.prefix[i]), tail});
    if (i >= a.min) tail = graph_.optional(tail);
  }
  const int list = graph_.sequence({value_node(n > 0 ? a.prefix[0] : a.rest), tail});
  return a.min == 0 ? graph_.optional(list) : list;
}

// With contains: rules for (items so far, how many of each kind so far).
int SchemaCompiler::counted_list_node(const ArrayShape& a) {
  if (a.contains.size() > 3) unsupported(document_.root(), "more than 3 \"contains\" on one array");
  uint64_t cap = std::max<uint64_t>({a.prefix.size(), a.min, 1});  // 0: no comma yet
  if (a.max != kUnbounded) cap = std::max(cap, a.max);
  for (const Contains& c : a.contains) cap = std::max(cap, c.from);
  using State = std::vector<uint64_t>;  // items, then one count for each `contains`
  StateRules<State> rules(graph_, budget_);
  const int start = rules.of(State(1 + a.contains.size(), 0));
  budget_.check_states(cap > kUnbounded / 2 ? cap : cap + 1);
  while (const std::optional<State> state = rules.next()) {
    const State& s = *state;
    const uint64_t i = s[0];
    std::vector<int> options;
    bool complete = i >= a.min;
    for (size_t k = 0; k < a.contains.size(); ++k) complete = complete && s[k + 1] >= a.contains[k].min;
    if (complete) options.push_back(graph_.empty());
    const GoalId item = i < a.prefix.size() ? a.prefix[i] : a.rest;
    for (int kinds = 0; kinds < 1 << a.contains.size() && i < a.max; ++kinds) {
      GoalId g = item;
      State next = s;
      next[0] = std::min(i + 1, cap);
      bool possible = true;
      for (size_t k = 0; k < a.contains.size(); ++k) {
        const Contains& c = a.contains[k];
        const bool counts = kinds >> k & 1;
        if (i < c.from && counts) possible = false;
        if (i < c.from) continue;
        if (counts) g = both(g, c.goal);
        if (!counts && c.max != kUnbounded) g = both(g, negated(c.goal));  // else it need not be counted
        if (counts) next[k + 1] = c.max == kUnbounded ? std::min(s[k + 1] + 1, c.min) : s[k + 1] + 1;
        possible = possible && next[k + 1] <= c.max;
      }
      if (!possible || g == kNever) continue;
      const int value = value_node(g), rest = rules.of(next);
      options.push_back(i == 0 ? graph_.sequence({value, rest}) : graph_.sequence({comma(), value, rest}));
    }
    rules.define(s, options);
  }
  return start;
}

// uniqueItems.

bool SchemaCompiler::pairwise_disjoint(const ArrayShape& a, uint64_t max) {
  if (max > 8) return false;
  for (uint64_t i = 0; i < max; ++i) {
    for (uint64_t j = 0; j < i; ++j) {
      auto goal_at = [&](uint64_t k) { return k < a.prefix.size() ? a.prefix[k] : a.rest; };
      if (!empty(both(goal_at(i), goal_at(j)))) return false;
    }
  }
  return true;
}

std::optional<std::vector<std::string>> SchemaCompiler::finite(GoalId g) {
  if (g == kNever) return std::vector<std::string>{};
  if (g == kAny) return std::nullopt;
  const Values& v = expand(g);
  std::vector<std::string> out;
  if (v.null) out.push_back("null");
  if (v.yes) out.push_back("true");
  if (v.no) out.push_back("false");
  if (v.number != ExprPool::kBottom) {
    if (exprs_[v.number].kind != ExprKind::Numbers) {
      auto listed = list_words(*exprs_.number_terminal(v.number), 64);
      if (!listed) return std::nullopt;
      for (const std::string& s : *listed)
        if (s.find('.') == std::string::npos) out.push_back(s);
      // 1 and 1.0 are one value; only whole numbers are listed from an automaton.
      if (out.size() < listed->size()) return std::nullopt;
    } else {
      for (const Decimal& d : exprs_[v.number].numbers) out.push_back(to_text(d));
    }
  }
  if (v.string != ExprPool::kBottom) {
    if (exprs_[v.string].kind != ExprKind::Words) return std::nullopt;
    for (const std::string& w : exprs_[v.string].words) out.push_back(quoted(w));
  }
  if (!v.arrays.empty() || !v.objects.empty()) return std::nullopt;
  return out;
}

// Few possible items: rules for (items so far, which values have been used).
int SchemaCompiler::unique_list_node(const ArrayShape& a) {
  constexpr size_t kValuesMax = 12;
  if (!a.contains.empty()) unsupported(document_.root(), "uniqueItems beside contains");
  std::vector<std::string> values;
  std::vector<std::vector<std::string>> at;
  const size_t n = a.prefix.size() + 1;
  for (size_t i = 0; i < n; ++i) {
    auto f = finite(i + 1 < n ? a.prefix[i] : a.rest);
    if (!f) unsupported(document_.root(), "uniqueItems with items that are not few scalar values (enum or const)");
    for (const std::string& s : *f)
      if (std::find(values.begin(), values.end(), s) == values.end()) values.push_back(s);
    at.push_back(std::move(*f));
  }
  if (values.size() > kValuesMax) {
    throw ConstraintError("", "uniqueItems with too many possible items", kValuesMax, values.size());
  }
  using State = std::pair<size_t, uint32_t>;  // items so far (up to the last kind), values used
  StateRules<State> rules(graph_, budget_);
  const int start = rules.of({0, 0});
  while (const std::optional<State> state = rules.next()) {
    const auto [i, used] = *state;
    std::vector<int> options;
    const uint64_t count = static_cast<uint64_t>(__builtin_popcount(used));
    if (count >= a.min) options.push_back(graph_.empty());
    for (const std::string& s : at[std::min(i, n - 1)]) {
      const uint32_t bit = 1u << (std::find(values.begin(), values.end(), s) - values.begin());
      if ((used & bit) != 0 || count >= a.max) continue;
      const int rest = rules.of({std::min(i + 1, n - 1), used | bit});
      options.push_back(i == 0 && used == 0 ? graph_.sequence({graph_.literal(s), rest})
                                            : graph_.sequence({comma(), graph_.literal(s), rest}));
    }
    rules.define(*state, options);
  }
  return start;
}

}  // namespace tally::grammar
