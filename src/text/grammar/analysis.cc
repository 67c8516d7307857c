// Which nodes can produce a finite text, and which the empty one: least fixed points by counting what is missing,
// linear in the size of the rules.
#include <numeric>

#include "text/grammar/automaton.h"

namespace tally::grammar {

namespace {

// Calls f(child) for every node that `node` refers to.
template <typename F>
void for_children(const Rules& rules, const Node& node, const F& f) {
  switch (node.kind) {
    case NodeKind::Sequence:
    case NodeKind::Alternatives:
      for (uint32_t i = 0; i < node.n; ++i) f(rules.child(node, i).id);
      break;
    case NodeKind::Repeat:
      f(static_cast<int>(node.first));
      break;
    case NodeKind::Ref:
      if (NodeId body = rules.body_of({static_cast<int>(node.first)}); body.id >= 0) f(body.id);
      break;
    default:
      break;
  }
}

bool has_text(const Dfa& dfa) {  // every state reaches an accepting one, so one state is enough
  return dfa.n_states() > 0;
}

// How many children must have the property before a node has it; 0: it has it by itself, −1: never.
int64_t missing_for_text(const Rules& rules, const Node& node) {
  switch (node.kind) {
    case NodeKind::Nothing:
      return -1;
    case NodeKind::Set:
      return rules.set_of(node) == ByteSet{} ? -1 : 0;
    case NodeKind::Terminal:
      return has_text(*rules.dfa_of(node)) ? 0 : -1;
    case NodeKind::Sequence:
      return node.n;
    case NodeKind::Repeat:
      return node.min > node.max ? -1 : node.min == 0 ? 0 : 1;
    case NodeKind::Alternatives:
    case NodeKind::Ref:
      return 1;
    default:
      return 0;
  }
}

int64_t missing_for_empty(const Rules& rules, const Node& node) {
  switch (node.kind) {
    case NodeKind::Empty:
      return 0;
    case NodeKind::Terminal: {
      const Dfa& dfa = *rules.dfa_of(node);
      return has_text(dfa) && dfa.accepting[dfa.start] ? 0 : -1;
    }
    case NodeKind::Sequence:
    case NodeKind::Repeat:
    case NodeKind::Alternatives:
    case NodeKind::Ref:
      return missing_for_text(rules, node);
    default:
      return -1;
  }
}

struct Parents {
  std::vector<uint32_t> begin, list;
};

Parents parents_of(const Rules& rules) {
  const size_t n = static_cast<size_t>(rules.n_nodes());
  Parents p;
  p.begin.assign(n + 1, 0);
  for (size_t i = 0; i < n; ++i)
    for_children(rules, rules.node({static_cast<int>(i)}), [&](int c) { ++p.begin[c + 1]; });
  std::partial_sum(p.begin.begin(), p.begin.end(), p.begin.begin());
  p.list.resize(p.begin[n]);
  std::vector<uint32_t> at(p.begin.begin(), p.begin.end() - 1);
  for (size_t i = 0; i < n; ++i)
    for_children(rules, rules.node({static_cast<int>(i)}), [&](int c) { p.list[at[c]++] = static_cast<uint32_t>(i); });
  return p;
}

template <typename Missing>
std::vector<uint8_t> least(const Rules& rules, const Parents& parents, const Missing& missing_for) {
  const size_t n = static_cast<size_t>(rules.n_nodes());
  std::vector<uint8_t> has(n, 0);
  std::vector<int64_t> missing(n);
  std::vector<uint32_t> work;
  const auto gain = [&](uint32_t node) { has[node] = 1, work.push_back(node); };
  for (size_t i = 0; i < n; ++i) {
    missing[i] = missing_for(rules, rules.node({static_cast<int>(i)}));
    if (missing[i] == 0) gain(static_cast<uint32_t>(i));
  }
  while (!work.empty()) {
    const uint32_t node = work.back();
    work.pop_back();
    for (uint32_t e = parents.begin[node]; e < parents.begin[node + 1]; ++e) {
      const uint32_t parent = parents.list[e];
      if (!has[parent] && missing[parent] > 0 && --missing[parent] == 0) gain(parent);
    }
  }
  return has;
}

}  // namespace

RulesAnalysis analyse(const Rules& rules) {
  RulesAnalysis a;
  const Parents parents = parents_of(rules);
  a.productive = least(rules, parents, missing_for_text);
  a.nullable = least(rules, parents, missing_for_empty);
  a.referred.assign(a.productive.size(), 0);
  std::vector<int> work;
  const auto refer = [&](int node) {
    if (a.productive[node] && a.referred[node]++ == 0) work.push_back(node);
  };
  if (rules.root().id >= 0) refer(rules.root().id);
  while (!work.empty()) {
    const int node = work.back();
    work.pop_back();
    for_children(rules, rules.node({node}), refer);
  }
  return a;
}

}  // namespace tally::grammar
