// One line of tally grammar check: a schema or grammar with texts that it must take and must refuse.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/masker.h"
#include "text/tokenizer.h"

namespace tally::cli {

enum class Splits { Bytes, Tokens, Random };

struct TextVerdict {
  bool accepted = false;
  size_t at = 0;  // refused: the byte that cannot follow, or the length when the text may not end there
};

// Feeds texts through masks, piece by piece, and times the masks. Each piece's bit must say what the automaton says of
// its bytes; when they differ, an Error (Internal) names the piece.
class TextFeeder {
 public:
  // tokenizer may be null; then tokens are the longest ones that fit, from the left.
  TextFeeder(std::shared_ptr<const grammar::Automaton> automaton, std::shared_ptr<grammar::MaskVocabulary> vocabulary,
             const text::Tokenizer* tokenizer, Splits splits, uint64_t seed);

  TextVerdict feed(std::string_view text);
  std::vector<double>& mask_us() { return mask_us_; }

 private:
  std::vector<int32_t> split(std::string_view text);
  int32_t next_token(std::string_view rest);

  grammar::Matcher matcher_;
  grammar::Masker masker_;
  const text::Tokenizer* tokenizer_;
  Splits splits_;
  uint64_t seed_, n_drawn_ = 0;
  std::vector<double> mask_us_;
};

}  // namespace tally::cli
