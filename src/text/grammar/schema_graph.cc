#include "text/grammar/schema_graph.h"

#include <algorithm>

namespace tally::grammar {

int Graph::add(Item item) {
  if (nodes_.size() >= max_nodes_)
    throw ConstraintError("", "the schema makes too large a grammar", max_nodes_, max_nodes_ + 1);
  nodes_.push_back(std::move(item));
  return static_cast<int>(nodes_.size()) - 1;
}

int Graph::literal(std::string text) {
  Item n;
  n.kind = text.empty() ? NodeKind::Empty : NodeKind::Literal;
  n.text = std::move(text);
  return add(std::move(n));
}

int Graph::terminal(std::shared_ptr<const Dfa> dfa) {
  Item n;
  if (dfa) n.kind = NodeKind::Terminal;
  n.dfa = std::move(dfa);
  return add(std::move(n));
}

int Graph::sequence(std::vector<int> parts) {
  if (parts.size() == 1) return parts[0];
  Item n;
  n.kind = NodeKind::Sequence;
  n.kids = std::move(parts);
  return add(std::move(n));
}

int Graph::alternatives(std::vector<int> parts) {
  if (parts.size() == 1) return parts[0];
  Item n;
  n.kind = NodeKind::Alternatives;
  n.kids = std::move(parts);
  return add(std::move(n));
}

int Graph::repeat(int part, uint64_t min, uint64_t max) {
  Item n;
  n.kind = NodeKind::Repeat;
  n.kids = {part};
  n.min = min;
  n.max = max;
  return add(std::move(n));
}

int Graph::rule() {
  Item n;
  n.kind = NodeKind::Ref;
  return add(std::move(n));
}

bool Graph::takes_text(const Item& n, const std::vector<uint8_t>& good) const {
  auto is_good = [&](int k) { return good[k] != 0; };
  switch (n.kind) {
    case NodeKind::Nothing:
      return false;
    case NodeKind::Alternatives:
      return std::any_of(n.kids.begin(), n.kids.end(), is_good);
    case NodeKind::Repeat:
      return n.min == 0 || is_good(n.kids[0]);
    case NodeKind::Sequence:
    case NodeKind::Ref:
      return std::all_of(n.kids.begin(), n.kids.end(), is_good) && !(n.kind == NodeKind::Ref && n.kids.empty());
    default:
      return true;
  }
}

std::vector<uint8_t> Graph::productive() {
  // Rules of children are made after those of their parents, and within one rule parts come before the whole: hence
  // both directions in turn.
  std::vector<uint8_t> good(nodes_.size(), 0);
  const int n = static_cast<int>(nodes_.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (bool forward : {false, true}) {
      budget_.spend(static_cast<uint64_t>(n) / 4 + 1);
      for (int k = 0; k < n; ++k) {
        const int i = forward ? k : n - 1 - k;
        if (good[i] != 0 || !takes_text(nodes_[i], good)) continue;
        good[i] = 1;
        changed = true;
      }
    }
  }
  return good;
}

std::vector<NodeId> Graph::write(Rules& rules, const std::vector<int>& roots) {
  const std::vector<uint8_t> good = productive();
  std::vector<NodeId> written(nodes_.size());
  std::vector<RuleId> rule_ids(nodes_.size());
  std::vector<uint8_t> wanted(nodes_.size(), 0);
  std::vector<int> stack(roots), rules_wanted;
  while (!stack.empty()) {
    int i = stack.back();
    stack.pop_back();
    if (wanted[i] != 0 || good[i] == 0) continue;
    wanted[i] = 1;
    if (nodes_[i].kind == NodeKind::Ref) rules_wanted.push_back(i);
    for (int k : nodes_[i].kids) stack.push_back(k);
  }
  for (int r : rules_wanted) {
    rule_ids[r] = rules.add_rule("");
    written[r] = rules.ref(rule_ids[r]);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Item& n = nodes_[i];
    if (wanted[i] == 0 || n.kind == NodeKind::Ref) continue;
    std::vector<NodeId> kids;
    for (int k : n.kids)
      if (good[k] != 0) kids.push_back(written[k]);
    switch (n.kind) {
      case NodeKind::Literal:
        written[i] = rules.literal(n.text);
        break;
      case NodeKind::Terminal:
        written[i] = rules.terminal(n.dfa);
        break;
      case NodeKind::Sequence:
        written[i] = rules.sequence(kids);
        break;
      case NodeKind::Alternatives:
        written[i] = rules.alternatives(kids);
        break;
      case NodeKind::Repeat:
        written[i] = kids.empty() ? rules.empty() : rules.repeat(kids[0], n.min, n.max);
        break;
      default:
        written[i] = rules.empty();
    }
  }
  for (int r : rules_wanted) rules.define(rule_ids[r], written[nodes_[r].kids[0]]);
  std::vector<NodeId> out;
  for (int r : roots) out.push_back(good[r] != 0 ? written[r] : rules.nothing());
  return out;
}

}  // namespace tally::grammar
