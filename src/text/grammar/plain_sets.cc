#include "text/grammar/plain_sets.h"

#include <algorithm>

namespace tally::grammar {

PlainSet::PlainSet(const TokenTrie& trie, const ByteSet& set)
    : bytes(set), row(trie.n_words(), 0), lengths(trie.n_nodes(), kNone) {
  const uint32_t n = trie.n_nodes();
  // By node: whether its path is plain, and whether its subtree (itself included) has a path that is not.
  std::vector<uint8_t> plain(n, 0), kept(n, 0);
  std::vector<uint32_t> path(trie.longest() + 1, 0);
  plain[0] = 1;
  for (uint32_t i = 1; i < n; ++i) {
    const TrieNode& node = trie.node(i);
    path[node.depth] = i;
    plain[i] = plain[path[node.depth - 1]] && set.has(node.byte);
    if (plain[i]) {
      trie.set_tokens(node, row.data());
      if (trie.has_children(i)) lengths[i] = node.depth;
      add_length(trie, node);
    } else if (!kept[i]) {
      for (uint32_t d = node.depth; d > 0 && !kept[path[d]]; --d) kept[path[d]] = 1;
    }
  }
  std::vector<uint32_t> open;  // entries of `rest` whose subtrees are not over
  for (uint32_t i = 1; i < n; ++i) {
    if (!kept[i]) continue;
    const uint32_t at = static_cast<uint32_t>(rest.size());
    for (; !open.empty() && trie.node(rest[open.back()].node).skip <= i; open.pop_back()) rest[open.back()].skip = at;
    rest.push_back({i, 0});
    open.push_back(at);
  }
  for (uint32_t at : open) rest[at].skip = static_cast<uint32_t>(rest.size());
}

void PlainSet::add_length(const TokenTrie& trie, const TrieNode& node) {
  if (node.token < 0) return;
  longest = std::max<uint32_t>(longest, node.depth);
  if (node.depth > kRows) return trie.for_tokens(node, [&](int32_t id) { longer.emplace_back(node.depth, id); });
  if (node.depth > by_length.size()) by_length.resize(node.depth, std::vector<uint64_t>(trie.n_words(), 0));
  trie.set_tokens(node, by_length[node.depth - 1].data());
}

std::vector<PlainSet> plain_sets(const TokenTrie& trie) {
  ByteSet letters, words, no_digits, printable, no_space;
  letters.add_range('a', 'z');
  std::vector<ByteSet> sets{letters};
  letters.add_range('A', 'Z'), letters.add_range('0', '9');
  sets.push_back(letters);
  words = letters;
  words.add('_'), words.add('-');
  sets.push_back(words);
  letters.add(' ');
  sets.push_back(letters);
  no_space.add_range('!', '~');
  for (uint8_t b : {'"', '\\'}) no_space.bits[b >> 6] &= ~(uint64_t(1) << (b & 63));
  sets.push_back(no_space);
  printable = no_space;
  printable.add(' ');
  no_digits = printable;
  for (uint8_t b = '0'; b <= '9'; ++b) no_digits.bits[b >> 6] &= ~(uint64_t(1) << (b & 63));
  sets.push_back(no_digits);
  sets.push_back(printable);
  std::vector<PlainSet> out;
  for (size_t i = sets.size(); i-- > 0;) out.emplace_back(trie, sets[i]);
  return out;
}

}  // namespace tally::grammar
