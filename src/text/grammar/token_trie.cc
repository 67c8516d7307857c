#include "text/grammar/token_trie.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tally::grammar {

TokenTrie::TokenTrie(std::span<const std::string> tokens, std::span<const int32_t> end_ids)
    : end_ids_(end_ids.begin(), end_ids.end()) {
  if (tokens.size() > size_t(1) << 26) fail(ErrorCode::BadInput, "a vocabulary of {} tokens", tokens.size());
  n_tokens_ = static_cast<int32_t>(tokens.size());
  for (int32_t id : end_ids)
    if (id < 0 || id >= n_tokens_)
      fail(ErrorCode::BadInput, "the token {} that ends a text is not among the {} of the vocabulary", id, n_tokens_);
  std::sort(end_ids_.begin(), end_ids_.end());
  std::vector<int32_t> order;
  for (int32_t id = 0; id < n_tokens_; ++id) {
    const std::string& token = tokens[id];
    if (token.size() > kLongest)
      fail(ErrorCode::BadInput, "token {} has {} bytes; at most {} are supported", id, token.size(), kLongest);
    begin_.push_back(static_cast<uint32_t>(text_.size()));
    text_ += token;
    if (!token.empty() && !is_end(id)) order.push_back(id);
  }
  begin_.push_back(static_cast<uint32_t>(text_.size()));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int c = tokens[a].compare(tokens[b]);
    return c != 0 ? c < 0 : a < b;
  });
  nodes_.push_back({0, -1, 0, 0, 0});
  std::vector<uint32_t> path{0};  // the nodes of the last token's prefixes
  const auto leave = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].skip = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view last;
  for (int32_t id : order) {
    const std::string_view token = tokens[id];
    const size_t shared =
        static_cast<size_t>(std::mismatch(last.begin(), last.end(), token.begin(), token.end()).first - last.begin());
    leave(shared);
    for (size_t d = shared; d < token.size(); ++d) {
      const uint8_t byte = static_cast<uint8_t>(token[d]);
      const uint32_t node = static_cast<uint32_t>(nodes_.size());
      if (d == 0)
        first_[byte] = node;
      else
        by_byte_[byte].push_back({node, path.back()});
      nodes_.push_back({0, -1, static_cast<uint16_t>(d + 1), byte, 0});
      path.push_back(node);
    }
    TrieNode& end = nodes_[path.back()];
    if (end.token < 0)
      end.token = id;
    else
      others_.emplace_back(end.token, id), end.has_other = 1;
    longest_ = std::max(longest_, static_cast<uint16_t>(token.size()));
    last = token;
  }
  std::sort(others_.begin(), others_.end());
  leave(0);
  nodes_[0].skip = static_cast<uint32_t>(nodes_.size());
}

bool TokenTrie::is_end(int32_t id) const { return std::binary_search(end_ids_.begin(), end_ids_.end(), id); }

uint32_t TokenTrie::child(uint32_t node, uint8_t byte) const {
  if (node == 0) return first_[byte];
  for (uint32_t i = node + 1; i < nodes_[node].skip; i = nodes_[i].skip)
    if (nodes_[i].byte == byte) return i;
  return 0;
}

void TokenTrie::set_others(const TrieNode& node, uint64_t* row) const {
  auto at = std::lower_bound(others_.begin(), others_.end(), std::pair(node.token, int32_t(0)));
  for (; at != others_.end() && at->first == node.token; ++at) row[at->second >> 6] |= uint64_t(1) << (at->second & 63);
}

}  // namespace tally::grammar
