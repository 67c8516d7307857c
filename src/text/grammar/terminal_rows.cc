#include "text/grammar/terminal_rows.h"

#include <algorithm>

#include "base/hash.h"

namespace tally::grammar {

TerminalRow::TerminalRow(const TokenTrie& trie, const Dfa& dfa, int state, bool counted) : trie_(&trie) {
  std::vector<Need> needs;
  walk(dfa, state, counted, needs);
  pack(needs, counted);
}

void TerminalRow::walk(const Dfa& dfa, int state, bool counted, std::vector<Need>& needs) {
  struct At {
    int32_t state;
    uint32_t count;
  };
  std::vector<At> path(trie_->longest() + 1);
  path[0] = {state, 0};
  const int32_t* next = dfa.next.data();
  const size_t width = static_cast<size_t>(dfa.n_classes);
  const TrieNode* nodes = trie_->nodes();
  const auto subtree = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end;) {
      const TrieNode& node = nodes[i];
      At at = path[node.depth - 1];
      at.state = next[size_t(at.state) * width + dfa.class_of[node.byte]];
      if (at.state < 0) {
        i = node.skip;
        continue;
      }
      bool complete = false;
      if (dfa.accepting[at.state]) {
        complete = counted;
        if (counted) at = {dfa.start, at.count + 1};
        if (node.skip > i + 1) add_exit(i, at.count);
      }
      if (node.token >= 0) {
        const uint32_t texts = counted ? at.count + !complete : 0;
        trie_->for_tokens(node, [&](int32_t id) { needs.push_back({texts, id}); });
      }
      path[node.depth] = at;
      ++i;
    }
  };
  for (int b = 0; b < 256; ++b)
    if (const uint32_t first = trie_->first(static_cast<uint8_t>(b));
        first != 0 && next[size_t(state) * width + dfa.class_of[b]] >= 0)
      subtree(first, nodes[first].skip);
}

void TerminalRow::add_exit(uint32_t node, uint32_t count) {
  if (counts_at_.empty()) {
    if (exits_.size() < kFewExits) return exits_.push_back({node, count});
    counts_at_.assign(trie_->n_nodes(), kNoExit);
    for (const TerminalExit& e : exits_) counts_at_[e.node] = static_cast<uint16_t>(e.count);
    exits_ = {};
  }
  counts_at_[node] = static_cast<uint16_t>(count);
}

void TerminalRow::pack(std::vector<Need>& needs, bool counted) {
  const auto set = [](std::vector<uint64_t>& row, int32_t id) { row[id >> 6] |= uint64_t(1) << (id & 63); };
  for (const Need& n : needs) most_ = std::max(most_, n.texts);
  if (counted) {
    std::stable_sort(needs.begin(), needs.end(), [](const Need& a, const Need& b) { return a.texts < b.texts; });
    beyond_ = needs;
  }
  if (needs.size() <= kFewTokens) {
    for (const Need& n : needs) few_.push_back(n.id);
    return;
  }
  all_.assign(trie_->n_words(), 0);
  if (counted) {
    std::erase_if(beyond_, [](const Need& n) { return n.texts <= kRows; });
    size_t i = 0;
    for (uint32_t k = 1; k <= std::min(most_, kRows); ++k) {
      for (; i < needs.size() && needs[i].texts <= k; ++i) set(all_, needs[i].id);
      up_to_.push_back(all_);
    }
    for (const Need& n : beyond_) set(all_, n.id);
  } else {
    for (const Need& n : needs) set(all_, n.id);
  }
}

void TerminalRow::add_inside(uint64_t room, uint64_t* row) const {
  const auto set = [&](int32_t id) { row[id >> 6] |= uint64_t(1) << (id & 63); };
  const auto add = [&](const std::vector<uint64_t>& bits) {
    for (size_t i = 0; i < bits.size(); ++i) row[i] |= bits[i];
  };
  if (room >= most_) {
    add(all_);
    for (int32_t id : few_) set(id);
    return;
  }
  if (!up_to_.empty()) add(up_to_[std::min<uint64_t>(room, up_to_.size()) - 1]);
  for (const Need& n : beyond_) {
    if (n.texts > room) break;
    set(n.id);
  }
}

uint64_t TerminalRow::bytes() const {
  uint64_t n = sizeof *this + all_.size() * 8 + few_.size() * 4 + beyond_.size() * sizeof(Need) +
               exits_.capacity() * sizeof(TerminalExit) + counts_at_.size() * 2;
  for (const auto& row : up_to_) n += row.size() * 8;
  return n;
}

const TerminalRow& TerminalRows::row(int state, bool counted) {
  const std::lock_guard lock(mutex_);
  auto& row = rows_[int64_t(state) * 2 + counted];
  if (!row) {
    row = std::make_unique<TerminalRow>(trie_, *dfa_, state, counted);
    bytes_ += row->bytes() + 64;
  }
  return *row;
}

uint64_t TerminalRows::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_ + dfa_->next.size() * 4 + dfa_->accepting.size() + sizeof(Dfa);
}

std::shared_ptr<TerminalRows> MaskVocabulary::rows_of(const std::shared_ptr<const Dfa>& dfa) {
  uint64_t hash = hash_bytes(dfa->class_of.data(), dfa->class_of.size(), static_cast<uint64_t>(dfa->start));
  hash = hash_bytes(dfa->next.data(), dfa->next.size() * 4, hash);
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const Dfa& other = at->second->second->dfa();
    if (&other != dfa.get() && (other.start != dfa->start || other.class_of != dfa->class_of ||
                                other.accepting != dfa->accepting || other.next != dfa->next))
      continue;
    recent_.splice(recent_.begin(), recent_, at->second);
    return at->second->second;
  }
  if (++n_since_count_ >= 16) make_room();
  recent_.emplace_front(hash, std::make_shared<TerminalRows>(trie_, dfa));
  by_hash_.emplace(hash, recent_.begin());
  return recent_.front().second;
}

void MaskVocabulary::make_room() {
  n_since_count_ = 0;
  uint64_t bytes = 0;
  for (auto at = recent_.begin(); at != recent_.end();) {
    bytes += at->second->bytes();
    if (bytes <= byte_limit_) {
      ++at;
      continue;
    }
    const auto [begin, end] = by_hash_.equal_range(at->first);
    by_hash_.erase(std::find_if(begin, end, [&](const auto& entry) { return entry.second == at; }));
    at = recent_.erase(at);
  }
}

}  // namespace tally::grammar
