// The definition of what Rules accept: which pieces of a text each node can be, by a least fixed point over all of
// them. Slow, for short texts only.
#pragma once

#include <string_view>
#include <vector>

#include "text/grammar/rules.h"

namespace tally::test {

// Whether `rules` take the text (at most 60 bytes) as a whole.
inline bool reference_accepts(const grammar::Rules& rules, std::string_view text) {
  using grammar::Node;
  using grammar::NodeId;
  using grammar::NodeKind;
  const size_t n = text.size();
  const int n_nodes = rules.n_nodes();
  // ends[node][i]: bit j says that text[i, j) is a text of the node.
  std::vector<std::vector<uint64_t>> ends(n_nodes, std::vector<uint64_t>(n + 1, 0));
  const auto after = [&](int node, uint64_t begins) {
    uint64_t out = 0;
    for (size_t i = 0; i <= n; ++i)
      if (begins >> i & 1) out |= ends[node][i];
    return out;
  };
  const auto value = [&](const Node& node, size_t i) -> uint64_t {
    const uint64_t here = uint64_t(1) << i;
    switch (node.kind) {
      case NodeKind::Empty:
        return here;
      case NodeKind::Nothing:
        return 0;
      case NodeKind::Literal:
        return text.substr(i).starts_with(rules.bytes_of(node)) ? here << node.n : 0;
      case NodeKind::Set:
        return i < n && rules.set_of(node).has(static_cast<uint8_t>(text[i])) ? here << 1 : 0;
      case NodeKind::Terminal: {
        const grammar::Dfa& dfa = *rules.dfa_of(node);
        uint64_t out = 0;
        int state = dfa.start;
        for (size_t j = i; state >= 0; ++j) {
          if (dfa.accepting[state]) out |= uint64_t(1) << j;
          if (j == n) break;
          state = dfa.step(state, static_cast<uint8_t>(text[j]));
        }
        return out;
      }
      case NodeKind::Sequence: {
        uint64_t at = here;
        for (uint32_t k = 0; k < node.n; ++k) at = after(rules.child(node, k).id, at);
        return at;
      }
      case NodeKind::Alternatives: {
        uint64_t out = 0;
        for (uint32_t k = 0; k < node.n; ++k) out |= ends[rules.child(node, k).id][i];
        return out;
      }
      case NodeKind::Repeat: {
        uint64_t at = here, out = node.min == 0 ? here : 0;
        for (uint64_t k = 1; k <= node.max && k <= node.min + 2 * n + 2; ++k) {
          at = after(static_cast<int>(node.first), at);
          if (k >= node.min) out |= at;
        }
        return out;
      }
      case NodeKind::Ref:
        return ends[rules.body_of({static_cast<int>(node.first)}).id][i];
    }
    return 0;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (int node = 0; node < n_nodes; ++node)
      for (size_t i = 0; i <= n; ++i) {
        const uint64_t now = ends[node][i] | value(rules.node({node}), i);
        changed = changed || now != ends[node][i];
        ends[node][i] = now;
      }
  }
  return ends[rules.root().id][0] >> n & 1;
}

}  // namespace tally::test
