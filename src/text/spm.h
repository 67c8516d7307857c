// SentencePiece-style merging: neighbours whose concatenation is a token merge, the highest score first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/piece_cache.h"
#include "text/vocabulary.h"
#include "text/word_breaks.h"

namespace tally::text {

class Spm {
 public:
  // Working memory of one thread.
  struct Scratch {
    struct Symbol {
      uint32_t begin, length;  // in the text; length 0: merged away
      uint32_t previous, next;
    };
    struct Pair {
      uint64_t order;   // the highest score, then the lowest left index, is the smallest
      uint32_t length;  // of both together, when pushed
    };
    std::vector<Symbol> symbols;
    std::vector<Pair> heap;
    PieceCache cache;
  };

  explicit Spm(const Vocabulary& vocabulary);

  // Appends the ids of `text`, whose spaces are U+2581 already; any bytes. n log n in its length.
  void encode(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void encode_word(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const;
  // Appends the pair that begins at `left` to the heap's array when it can merge.
  bool find_pair(std::string_view text, uint32_t left, Scratch& scratch) const;
  void emit(std::string_view symbol, std::vector<int32_t>& ids) const;

  const Vocabulary* vocabulary_;
  WordBreaks breaks_;
  std::array<int32_t, 256> fallback_;  // token of a byte that no token covers, or -1
};

}  // namespace tally::text
