// A context-free grammar over bytes: the one form between the front ends (JSON Schema, GBNF, tool-call formats) and the
// automaton that obeys it. Front ends build Rules; the automaton only reads them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::grammar {

struct ByteSet {
  std::array<uint64_t, 4> bits{};
  void add(uint8_t b) { bits[b >> 6] |= uint64_t(1) << (b & 63); }
  void add_range(uint8_t first, uint8_t last) {
    for (int b = first; b <= last; ++b) add(static_cast<uint8_t>(b));
  }
  bool has(uint8_t b) const { return bits[b >> 6] >> (b & 63) & 1; }
  bool operator==(const ByteSet&) const = default;
};

// A deterministic automaton over bytes, complete in itself: a terminal of the grammar. Bytes are grouped in classes.
// Every state can still reach an accepting one (no dead states but −1), so a byte it takes is never a dead end.
struct Dfa {
  std::array<uint8_t, 256> class_of{};
  int n_classes = 1;
  std::vector<int32_t> next;       // [states × n_classes]; −1: the byte is refused
  std::vector<uint8_t> accepting;  // [states]
  int start = 0;

  int n_states() const { return static_cast<int>(accepting.size()); }
  int step(int state, uint8_t byte) const { return next[size_t(state) * n_classes + class_of[byte]]; }
};

struct NodeId {
  int id = -1;
};
struct RuleId {
  int id = -1;
};

enum class NodeKind : uint8_t { Empty, Nothing, Literal, Set, Terminal, Sequence, Alternatives, Repeat, Ref };

struct Node {
  NodeKind kind = NodeKind::Empty;
  uint32_t first = 0,
           n = 0;  // Literal: bytes in `literals`; Sequence, Alternatives: children in `children`;
                   // Set: index in `sets`; Terminal: index in `dfas`; Repeat: child = first; Ref: rule = first
  uint64_t min = 0, max = 0;  // Repeat; max = kUnbounded: no upper end
};
inline constexpr uint64_t kUnbounded = ~uint64_t(0);

// Arena of nodes; rules may refer to each other freely (right and inner recursion; left recursion is refused when the
// automaton is built). Counts of Repeat may be huge: the automaton counts, it does not copy.
class Rules {
 public:
  NodeId empty() { return add({NodeKind::Empty}); }      // the empty text
  NodeId nothing() { return add({NodeKind::Nothing}); }  // no text at all
  NodeId literal(std::string_view bytes);
  NodeId set(const ByteSet& bytes);
  NodeId terminal(std::shared_ptr<const Dfa> dfa);
  NodeId sequence(std::span<const NodeId> parts);
  NodeId alternatives(std::span<const NodeId> parts);
  NodeId repeat(NodeId part, uint64_t min, uint64_t max);
  NodeId optional(NodeId part) { return repeat(part, 0, 1); }
  NodeId ref(RuleId rule);
  NodeId sequence(std::initializer_list<NodeId> parts) { return sequence(std::span(parts.begin(), parts.size())); }
  NodeId alternatives(std::initializer_list<NodeId> parts) {
    return alternatives(std::span(parts.begin(), parts.size()));
  }

  RuleId add_rule(std::string name);  // its body is given later by define
  void define(RuleId rule, NodeId body);
  void set_root(NodeId node) { root_ = node; }

  NodeId root() const { return root_; }
  const Node& node(NodeId n) const { return nodes_[n.id]; }
  NodeId child(const Node& n, uint32_t i) const { return NodeId{children_[n.first + i]}; }
  std::string_view bytes_of(const Node& n) const { return std::string_view(literals_).substr(n.first, n.n); }
  const ByteSet& set_of(const Node& n) const { return sets_[n.first]; }
  const std::shared_ptr<const Dfa>& dfa_of(const Node& n) const { return dfas_[n.first]; }
  NodeId body_of(RuleId r) const { return bodies_[r.id]; }
  const std::string& name_of(RuleId r) const { return names_[r.id]; }
  int n_nodes() const { return static_cast<int>(nodes_.size()); }
  int n_rules() const { return static_cast<int>(bodies_.size()); }
  uint64_t memory_bytes() const;

 private:
  NodeId add(Node n);

  std::vector<Node> nodes_;
  std::vector<int> children_;
  std::string literals_;
  std::vector<ByteSet> sets_;
  std::vector<std::shared_ptr<const Dfa>> dfas_;
  std::vector<NodeId> bodies_;
  std::vector<std::string> names_;
  NodeId root_;
};

}  // namespace tally::grammar
