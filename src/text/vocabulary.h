// The token table of a tokenizer: texts, types, scores, tokens with a role, and which of them end a generation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/text_index.h"
#include "text/tokenizer.h"

namespace tally::text {

class Vocabulary {
 public:
  // Throws Error (BadInput): no tokens, duplicates, lists of the wrong length.
  explicit Vocabulary(const TokenizerSpec& spec);

  int32_t size() const { return static_cast<int32_t>(types_.size()); }
  std::string_view text(int32_t id) const { return index_.text(static_cast<uint32_t>(id)); }
  TokenType type(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  float score(int32_t id) const { return scores_.empty() ? 0 : scores_[static_cast<size_t>(id)]; }
  int32_t find(std::string_view text) const { return index_.find(text); }
  size_t longest() const { return longest_; }  // bytes of the longest text
  // The token "<0xXX>" of a byte, or -1.
  int32_t find_byte(uint8_t byte) const;

  bool is_eog(int32_t id) const { return eog_[static_cast<size_t>(id)]; }
  const std::vector<int32_t>& eog_ids() const { return eog_ids_; }
  const SpecialIds& special() const { return special_; }
  void drop_bos() { special_.bos = -1; }

 private:
  void read_tokens(const TokenizerSpec& spec);
  void read_special_ids(const TokenizerSpec& spec);
  void detect_roles_by_text();
  void collect_eog();

  TextIndex index_;
  std::vector<TokenType> types_;
  std::vector<float> scores_;
  size_t longest_ = 0;
  SpecialIds special_;
  std::vector<bool> eog_;
  std::vector<int32_t> eog_ids_;
};

}  // namespace tally::text
