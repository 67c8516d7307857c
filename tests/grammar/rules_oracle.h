// A slow recogniser of Rules, straight from their definition: which prefixes of a text a node can take. It knows
// nothing of automata, so it can judge them.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "text/grammar/rules.h"

namespace tally::test {

class RulesOracle {
 public:
  explicit RulesOracle(const grammar::Rules& rules) : rules_(rules) {}

  bool accepts(std::string_view text) { return accepts(rules_.root(), text); }
  bool accepts(grammar::NodeId node, std::string_view text) {
    known_.clear();
    text_ = text;
    return ends(node, 0).count(text.size()) > 0;
  }

 private:
  using Ends = std::set<size_t>;

  // The places where a text that the node takes, begun at `from`, can end. The rules are not left recursive.
  const Ends& ends(grammar::NodeId id, size_t from) {
    auto it = known_.find({id.id, from});
    if (it != known_.end()) return it->second;
    Ends out = compute(rules_.node(id), from);
    return known_[{id.id, from}] = std::move(out);
  }

  Ends compute(const grammar::Node& n, size_t from) {
    using grammar::NodeKind;
    Ends out;
    switch (n.kind) {
      case NodeKind::Empty:
        return {from};
      case NodeKind::Nothing:
        return {};
      case NodeKind::Literal:
        if (text_.substr(from, n.n) == rules_.bytes_of(n)) out.insert(from + n.n);
        return out;
      case NodeKind::Set:
        if (from < text_.size() && rules_.set_of(n).has(static_cast<uint8_t>(text_[from]))) out.insert(from + 1);
        return out;
      case NodeKind::Terminal: {
        const grammar::Dfa& dfa = *rules_.dfa_of(n);
        int q = dfa.start;
        for (size_t at = from; q >= 0; ++at) {
          if (dfa.accepting[q] != 0) out.insert(at);
          if (at == text_.size()) break;
          q = dfa.step(q, static_cast<uint8_t>(text_[at]));
        }
        return out;
      }
      case NodeKind::Sequence: {
        Ends now{from};
        for (uint32_t i = 0; i < n.n && !now.empty(); ++i) now = after(rules_.child(n, i), now);
        return now;
      }
      case NodeKind::Alternatives:
        for (uint32_t i = 0; i < n.n; ++i) {
          const Ends& e = ends(rules_.child(n, i), from);
          out.insert(e.begin(), e.end());
        }
        return out;
      case NodeKind::Ref:
        return ends(rules_.body_of({static_cast<int>(n.first)}), from);
      case NodeKind::Repeat: {
        Ends now{from};
        if (n.min == 0) out.insert(from);
        for (uint64_t count = 1; count <= n.max && !now.empty(); ++count) {
          now = after(grammar::NodeId{static_cast<int>(n.first)}, now);
          const size_t before = out.size();
          if (count >= n.min) out.insert(now.begin(), now.end());
          if (count > n.min && out.size() == before) break;
        }
        return out;
      }
    }
    return out;
  }

  Ends after(grammar::NodeId id, const Ends& from) {
    Ends out;
    for (size_t at : from) {
      const Ends& e = ends(id, at);
      out.insert(e.begin(), e.end());
    }
    return out;
  }

  const grammar::Rules& rules_;
  std::string_view text_;
  std::map<std::pair<int, size_t>, Ends> known_;
};

}  // namespace tally::test
