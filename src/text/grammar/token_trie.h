// The tokens of a vocabulary as a tree of bytes, in depth-first order: a subtree is a range, and leaving it a jump.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tally::grammar {

struct TrieNode {
  uint32_t skip;      // the first node behind this one's subtree
  int32_t token;      // the lowest id with these bytes, or −1
  uint16_t depth;     // bytes; the root has 0
  uint8_t byte;       // the last one
  uint8_t has_other;  // more tokens have these bytes: see TokenTrie::others
};

class TokenTrie {
 public:
  // tokens[id]: its bytes; empty ones (control tokens) are in no mask. end_ids: the tokens that end a generation,
  // whatever their bytes. Throws Error (BadInput) for tokens of more than kLongest bytes and for more than 2^26 tokens.
  TokenTrie(std::span<const std::string> tokens, std::span<const int32_t> end_ids);

  uint32_t n_nodes() const { return static_cast<uint32_t>(nodes_.size()); }
  const TrieNode& node(uint32_t i) const { return nodes_[i]; }
  const TrieNode* nodes() const { return nodes_.data(); }
  bool has_children(uint32_t i) const { return nodes_[i].skip > i + 1; }
  // The root's child by byte; 0: none.
  uint32_t first(uint8_t byte) const { return first_[byte]; }
  // Any node's child; 0: none.
  uint32_t child(uint32_t node, uint8_t byte) const;
  // All nodes (but the root's children) that end in this byte, ascending, and the node above each.
  struct Step {
    uint32_t node, parent;
  };
  std::span<const Step> by_byte(uint8_t byte) const { return by_byte_[byte]; }
  uint16_t longest() const { return longest_; }

  int32_t n_tokens() const { return n_tokens_; }
  size_t n_words() const { return (static_cast<size_t>(n_tokens_) + 63) / 64; }
  std::span<const int32_t> end_ids() const { return end_ids_; }
  bool is_end(int32_t id) const;
  std::string_view bytes(int32_t id) const {
    return std::string_view(text_).substr(begin_[id], begin_[id + 1] - begin_[id]);
  }
  // Sets the bits of a node's tokens.
  void set_tokens(const TrieNode& node, uint64_t* row) const {
    if (node.token < 0) return;
    row[node.token >> 6] |= uint64_t(1) << (node.token & 63);
    if (node.has_other) set_others(node, row);
  }
  // Calls f(id) for each token of a node.
  template <typename F>
  void for_tokens(const TrieNode& node, const F& f) const {
    if (node.token < 0) return;
    f(node.token);
    if (!node.has_other) return;
    auto at = std::lower_bound(others_.begin(), others_.end(), std::pair(node.token, int32_t(0)));
    for (; at != others_.end() && at->first == node.token; ++at) f(at->second);
  }

  static constexpr size_t kLongest = 4096;

 private:
  void set_others(const TrieNode& node, uint64_t* row) const;

  std::vector<TrieNode> nodes_;
  std::array<uint32_t, 256> first_{};
  std::array<std::vector<Step>, 256> by_byte_;
  std::vector<std::pair<int32_t, int32_t>> others_;  // lowest id with these bytes, another id
  std::vector<int32_t> end_ids_;
  std::vector<uint32_t> begin_;
  std::string text_;
  int32_t n_tokens_ = 0;
  uint16_t longest_ = 0;
};

}  // namespace tally::grammar
