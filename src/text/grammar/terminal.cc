#include "text/grammar/terminal.h"

#include <algorithm>

#include "base/check.h"

namespace tally::grammar {

Terminal Terminal::of_literal(std::string_view bytes) {
  Terminal t;
  t.text_ = bytes;
  t.prefix_free_ = !bytes.empty();
  return t;
}

Terminal Terminal::of_literals(std::span<const std::string_view> literals) {
  std::vector<std::string_view> sorted(literals.begin(), literals.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  CHECK(!sorted.empty() && !sorted.front().empty());
  Terminal t;
  t.form_ = Form::Trie;
  t.prefix_free_ = true;
  auto parts = std::make_shared<Parts>();
  // Level by level: a state is a range of the sorted literals that share `depth` bytes.
  struct Range {
    uint32_t begin, end, depth;
  };
  std::vector<Range> states{{0, static_cast<uint32_t>(sorted.size()), 0}};
  for (size_t s = 0; s < states.size(); ++s) {
    Range r = states[s];
    parts->edge_begin.push_back(static_cast<uint32_t>(parts->edge_byte.size()));
    uint8_t flags = 0;
    uint32_t i = r.begin;
    if (sorted[i].size() == r.depth) flags |= kAccepting, ++i;  // the shortest stands first
    while (i < r.end) {
      uint32_t j = i;
      const char c = sorted[i][r.depth];
      while (j < r.end && sorted[j][r.depth] == c) ++j;
      parts->edge_byte.push_back(static_cast<uint8_t>(c));
      parts->edge_to.push_back(static_cast<int32_t>(states.size()));
      states.push_back({i, j, r.depth + 1});
      flags |= kEdges;
      i = j;
    }
    if (flags == (kAccepting | kEdges)) t.prefix_free_ = false;
    parts->flags.push_back(flags);
  }
  parts->edge_begin.push_back(static_cast<uint32_t>(parts->edge_byte.size()));
  t.parts_ = std::move(parts);
  return t;
}

Terminal Terminal::of_dfa(std::shared_ptr<const Dfa> dfa) {
  Terminal t;
  t.form_ = Form::Table;
  t.start_ = dfa->start;
  const int n = dfa->n_states(), width = dfa->n_classes;
  auto parts = std::make_shared<Parts>();
  parts->flags.resize(n);
  t.prefix_free_ = !dfa->accepting[dfa->start];
  for (int s = 0; s < n; ++s) {
    const int32_t* row = dfa->next.data() + size_t(s) * width;
    const bool edges = std::any_of(row, row + width, [](int32_t to) { return to >= 0; });
    parts->flags[s] = static_cast<uint8_t>((dfa->accepting[s] ? kAccepting : 0) | (edges ? kEdges : 0));
    if (dfa->accepting[s] && edges) t.prefix_free_ = false;
  }
  t.parts_ = std::move(parts);
  t.dfa_ = std::move(dfa);
  return t;
}

int Terminal::step_trie(int state, uint8_t byte) const {
  const Parts& p = *parts_;
  const uint8_t* begin = p.edge_byte.data() + p.edge_begin[state];
  const uint8_t* end = p.edge_byte.data() + p.edge_begin[state + 1];
  const uint8_t* at = std::lower_bound(begin, end, byte);
  return at != end && *at == byte ? p.edge_to[at - p.edge_byte.data()] : -1;
}

void Terminal::add_allowed(int state, ByteSet& to) const {
  if (form_ == Form::Literal) {
    if (has_edges(state)) to.add(static_cast<uint8_t>(text_[state]));
  } else if (form_ == Form::Trie) {
    for (uint32_t e = parts_->edge_begin[state]; e < parts_->edge_begin[state + 1]; ++e) to.add(parts_->edge_byte[e]);
  } else {
    const int32_t* row = dfa_->next.data() + size_t(state) * dfa_->n_classes;
    for (int word = 0; word < 4; ++word) {
      uint64_t bits = 0;
      for (int b = 0; b < 64; ++b) bits |= uint64_t(row[dfa_->class_of[word * 64 + b]] >= 0) << b;
      to.bits[word] |= bits;
    }
  }
}

uint64_t Terminal::memory_bytes() const {
  uint64_t bytes = sizeof *this + text_.size();
  if (parts_) bytes += parts_->flags.size() + parts_->edge_begin.size() * 4 + parts_->edge_byte.size() * 5;
  if (dfa_) bytes += dfa_->next.size() * 4 + dfa_->accepting.size();
  return bytes;
}

std::shared_ptr<const Dfa> dfa_of_set(const ByteSet& set) {
  auto dfa = std::make_shared<Dfa>();
  dfa->n_classes = 2;
  for (int b = 0; b < 256; ++b) dfa->class_of[b] = set.has(static_cast<uint8_t>(b));
  dfa->next = {-1, 1, -1, -1};
  dfa->accepting = {0, 1};
  return dfa;
}

}  // namespace tally::grammar
