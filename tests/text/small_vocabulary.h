// Small vocabularies that tests build themselves.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "text/bpe.h"
#include "text/tokenizer.h"

namespace tally::text {

// Owns the strings of a TokenizerSpec.
struct SmallVocabulary {
  std::deque<std::string> storage;
  TokenizerSpec spec;

  int32_t add(const std::string& text, TokenType type = TokenType::Normal, float score = 0) {
    storage.push_back(text);
    spec.tokens.push_back(storage.back());
    spec.types.push_back(static_cast<int64_t>(type));
    spec.scores.push_back(score);
    return static_cast<int32_t>(spec.tokens.size()) - 1;
  }
  // "left right" in the vocabulary's own alphabet; the result becomes a token.
  int32_t merge(const std::string& left, const std::string& right) {
    storage.push_back(left + " " + right);
    spec.merges.push_back(storage.back());
    return add(left + right);
  }
  Tokenizer tokenizer() const { return Tokenizer::create(spec); }
};

inline SmallVocabulary byte_level(std::string_view pre) {
  SmallVocabulary v;
  v.spec.file = "small.gguf";
  v.spec.model = "gpt2";
  v.spec.pre = pre;
  for (const std::string& text : byte_alphabet()) v.add(text);
  return v;
}

// <unk>, <s>, </s>, the byte tokens, and the space mark.
inline SmallVocabulary sentence_pieces() {
  SmallVocabulary v;
  v.spec.file = "small.gguf";
  v.spec.model = "llama";
  v.add("<unk>", TokenType::Unknown);
  v.add("<s>", TokenType::Control);
  v.add("</s>", TokenType::Control);
  for (int b = 0; b < 256; ++b) v.add(fmt::format("<0x{:02X}>", b), TokenType::Byte);
  v.add("▁", TokenType::Normal, -1000);
  return v;
}

using Ids = std::vector<int32_t>;

}  // namespace tally::text
