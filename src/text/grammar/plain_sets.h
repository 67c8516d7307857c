// Most tokens are plain words. Where an automaton takes every text over such a set of bytes and none of them ends it,
// as in a JSON string, all tokens over the set are inside, and only the others need a walk.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "text/grammar/rules.h"
#include "text/grammar/token_trie.h"

namespace tally::grammar {

struct PlainSet {
  PlainSet(const TokenTrie& trie, const ByteSet& set);

  struct Node {
    uint32_t node;  // of the trie
    uint32_t skip;  // the first entry of `rest` behind its subtree
  };
  ByteSet bytes;
  std::vector<uint64_t> row;  // the tokens of these bytes alone
  std::vector<Node> rest;     // the nodes on the way to all other tokens, in order

  // Where every byte counts as one text.
  static constexpr uint32_t kRows = 16;
  static constexpr uint16_t kNone = 0xFFFF;
  std::vector<std::vector<uint64_t>> by_length;      // [k − 1]: the tokens of k bytes, k ≤ kRows
  std::vector<std::pair<uint32_t, int32_t>> longer;  // length and id of the others
  std::vector<uint16_t> lengths;                     // by node: its depth, when plain and with children; else kNone
  uint32_t longest = 0;

 private:
  void add_length(const TokenTrie& trie, const TrieNode& node);
};

// The sets that are worth having, the largest first.
std::vector<PlainSet> plain_sets(const TokenTrie& trie);

}  // namespace tally::grammar
