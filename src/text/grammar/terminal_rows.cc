#include "text/grammar/terminal_rows.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/hash.h"

namespace tally::grammar {

namespace {

void set_bit(std::vector<uint64_t>& row, int32_t id) { row[id >> 6] |= uint64_t(1) << (id & 63); }

// Whether from `state` every text over `set` is alive and none of them may end.
bool goes_on(const Dfa& dfa, int state, const ByteSet& set) {
  constexpr size_t kManyStates = 256;
  std::array<uint8_t, 256> classes{};
  int n_classes = 0;
  ByteSet seen_class;
  for (int b = 0; b < 256; ++b)
    if (set.has(static_cast<uint8_t>(b)) && !seen_class.has(dfa.class_of[b]))
      seen_class.add(dfa.class_of[b]), classes[n_classes++] = dfa.class_of[b];
  std::vector<int> states{state};
  for (size_t i = 0; i < states.size(); ++i)
    for (int c = 0; c < n_classes; ++c) {
      const int to = dfa.next[size_t(states[i]) * dfa.n_classes + classes[c]];
      if (to < 0 || dfa.accepting[to] || states.size() > kManyStates) return false;
      if (std::find(states.begin(), states.end(), to) == states.end()) states.push_back(to);
    }
  return true;
}

// Whether `state` is the start and each byte of the set is a whole text.
bool each_is_a_text(const Dfa& dfa, int state, const ByteSet& set) {
  if (state != dfa.start) return false;
  for (int b = 0; b < 256; ++b) {
    if (!set.has(static_cast<uint8_t>(b))) continue;
    const int to = dfa.step(state, static_cast<uint8_t>(b));
    if (to < 0 || !dfa.accepting[to]) return false;
  }
  return true;
}

}  // namespace

TerminalRow::TerminalRow(const TokenTrie& trie, std::span<const PlainSet> plain, const Dfa& dfa, int state,
                         bool counted)
    : trie_(&trie) {
  const PlainSet* found = nullptr;
  for (const PlainSet& set : plain)
    if (!found && (counted ? each_is_a_text(dfa, state, set.bytes) : goes_on(dfa, state, set.bytes))) found = &set;
  if (found) {
    all_ = found->row;
    if (counted) up_to_ = found->by_length, counts_at_ = found->lengths, most_ = found->longest;
    for (size_t i = 0; counted && i < found->longer.size(); ++i)
      beyond_.push_back({found->longer[i].first, found->longer[i].second});
  }
  const auto go = [&]<bool is_counted>() {
    if (found)
      walk<is_counted>(dfa, state, std::span<const PlainSet::Node>(found->rest));
    else
      walk<is_counted>(dfa, state, std::span(trie.nodes() + 1, trie.n_nodes() - 1));
  };
  if (counted)
    go.template operator()<true>(), pack();
  else
    go.template operator()<false>();
}

// Entries are the nodes of the trie themselves, from the root's first child on, or some of them by number.
template <bool counted, typename Entry>
void TerminalRow::walk(const Dfa& dfa, int state, std::span<const Entry> entries) {
  struct At {
    int32_t state;
    uint32_t count;
  };
  constexpr bool whole = std::is_same_v<Entry, TrieNode>;
  std::vector<At> path(trie_->longest() + 1);
  path[0] = {state, 0};
  const TrieNode* nodes = trie_->nodes();
  const uint32_t n = static_cast<uint32_t>(entries.size());
  for (uint32_t i = 0; i < n;) {
    uint32_t id, skip;
    if constexpr (whole)
      id = i + 1, skip = entries[i].skip - 1;
    else
      id = entries[i].node, skip = entries[i].skip;
    const TrieNode& node = nodes[id];
    At at = path[node.depth - 1];
    at.state = dfa.step(at.state, node.byte);
    if (at.state < 0) {
      i = skip;
      continue;
    }
    const bool accepts = dfa.accepting[at.state] != 0;
    if (accepts) {
      if (counted) at = {dfa.start, at.count + 1};
      if (node.skip > id + 1) add_exit(id, at.count);
    }
    if (node.token >= 0) add_token(node, counted ? at.count + !accepts : 0);
    path[node.depth] = at;
    ++i;
  }
}

inline void TerminalRow::add_token(const TrieNode& node, uint32_t texts) {
  most_ = std::max(most_, texts);
  if (all_.empty()) {
    trie_->for_tokens(node, [&](int32_t id) { few_.push_back({texts, id}); });
    if (few_.size() > kFewTokens) many_tokens();
  } else if (texts <= kRows) {
    if (texts > up_to_.size()) up_to_.resize(texts, std::vector<uint64_t>(trie_->n_words(), 0));
    trie_->set_tokens(node, texts == 0 ? all_.data() : up_to_[texts - 1].data());
  } else {
    trie_->for_tokens(node, [&](int32_t id) { beyond_.push_back({texts, id}); });
  }
}

// From a list to rows of bits; those of one number of texts each, until pack adds them up.
void TerminalRow::many_tokens() {
  all_.assign(trie_->n_words(), 0);
  for (const Need& n : few_) {
    if (n.texts > kRows) {
      beyond_.push_back(n);
      continue;
    }
    if (n.texts > up_to_.size()) up_to_.resize(n.texts, std::vector<uint64_t>(trie_->n_words(), 0));
    set_bit(n.texts == 0 ? all_ : up_to_[n.texts - 1], n.id);
  }
  few_ = {};
}

void TerminalRow::pack() {
  const auto by_texts = [](const Need& a, const Need& b) { return a.texts < b.texts; };
  std::stable_sort(few_.begin(), few_.end(), by_texts);
  std::stable_sort(beyond_.begin(), beyond_.end(), by_texts);
  for (size_t k = 1; k < up_to_.size(); ++k)
    for (size_t i = 0; i < up_to_[k].size(); ++i) up_to_[k][i] |= up_to_[k - 1][i];
  if (!up_to_.empty()) all_ = up_to_.back();
  for (const Need& n : beyond_) set_bit(all_, n.id);
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

void TerminalRow::add_inside(uint64_t room, uint64_t* row) const {
  const auto add = [&](const std::vector<uint64_t>& bits) {
    for (size_t i = 0; i < bits.size(); ++i) row[i] |= bits[i];
  };
  const auto add_list = [&](const std::vector<Need>& list) {
    for (const Need& n : list) {
      if (n.texts > room) break;
      row[n.id >> 6] |= uint64_t(1) << (n.id & 63);
    }
  };
  add_list(few_);
  if (room >= most_) return add(all_);
  if (!up_to_.empty()) add(up_to_[std::min<uint64_t>(room, up_to_.size()) - 1]);
  add_list(beyond_);
}

uint64_t TerminalRow::bytes() const {
  uint64_t n = sizeof *this + all_.size() * 8 + (few_.size() + beyond_.size()) * sizeof(Need) +
               exits_.capacity() * sizeof(TerminalExit) + counts_at_.size() * 2;
  for (const auto& row : up_to_) n += row.size() * 8;
  return n;
}

const TerminalRow& TerminalRows::row(int state, bool counted) {
  const std::lock_guard lock(mutex_);
  auto& row = rows_[int64_t(state) * 2 + counted];
  if (!row) {
    row = std::make_unique<TerminalRow>(trie_, plain_, *dfa_, state, counted);
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
  recent_.emplace_front(hash, std::make_shared<TerminalRows>(trie_, plain_, dfa));
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
