#include "text/grammar/rules.h"

namespace tally::grammar {

NodeId Rules::add(Node n) {
  nodes_.push_back(n);
  return {static_cast<int>(nodes_.size()) - 1};
}

NodeId Rules::literal(std::string_view bytes) {
  if (bytes.empty()) return empty();
  uint32_t first = static_cast<uint32_t>(literals_.size());
  literals_ += bytes;
  return add({NodeKind::Literal, first, static_cast<uint32_t>(bytes.size())});
}

NodeId Rules::set(const ByteSet& bytes) {
  sets_.push_back(bytes);
  return add({NodeKind::Set, static_cast<uint32_t>(sets_.size() - 1), 1});
}

NodeId Rules::terminal(std::shared_ptr<const Dfa> dfa) {
  dfas_.push_back(std::move(dfa));
  return add({NodeKind::Terminal, static_cast<uint32_t>(dfas_.size() - 1), 1});
}

NodeId Rules::sequence(std::span<const NodeId> parts) {
  if (parts.empty()) return empty();
  if (parts.size() == 1) return parts[0];
  uint32_t first = static_cast<uint32_t>(children_.size());
  for (NodeId p : parts) children_.push_back(p.id);
  return add({NodeKind::Sequence, first, static_cast<uint32_t>(parts.size())});
}

NodeId Rules::alternatives(std::span<const NodeId> parts) {
  if (parts.empty()) return nothing();
  if (parts.size() == 1) return parts[0];
  uint32_t first = static_cast<uint32_t>(children_.size());
  for (NodeId p : parts) children_.push_back(p.id);
  return add({NodeKind::Alternatives, first, static_cast<uint32_t>(parts.size())});
}

NodeId Rules::repeat(NodeId part, uint64_t min, uint64_t max) {
  if (max == 0) return empty();
  if (min == 1 && max == 1) return part;
  return add({NodeKind::Repeat, static_cast<uint32_t>(part.id), 1, min, max});
}

NodeId Rules::ref(RuleId rule) { return add({NodeKind::Ref, static_cast<uint32_t>(rule.id), 1}); }

RuleId Rules::add_rule(std::string name) {
  names_.push_back(std::move(name));
  bodies_.push_back({});
  return {static_cast<int>(bodies_.size()) - 1};
}

void Rules::define(RuleId rule, NodeId body) { bodies_[rule.id] = body; }

uint64_t Rules::memory_bytes() const {
  uint64_t bytes =
      nodes_.size() * sizeof(Node) + children_.size() * sizeof(int) + literals_.size() + sets_.size() * sizeof(ByteSet);
  for (const auto& d : dfas_) bytes += d->next.size() * 4 + d->accepting.size();
  return bytes;
}

}  // namespace tally::grammar
