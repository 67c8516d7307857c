// Byte-pair merging by rank (Sennrich et al. 2016), on the byte alphabet of GPT-2 or on raw UTF-8 characters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_cache.h"
#include "text/text_index.h"
#include "text/vocabulary.h"
#include "text/word_breaks.h"

namespace tally::text {

// Byte-to-character alphabet of byte-level vocabularies: the UTF-8 text of each byte, and the way back.
const std::array<std::string, 256>& byte_alphabet();
// The bytes that a token text stands for; characters outside the alphabet stand for themselves.
std::string bytes_of_alphabet_text(std::string_view text);

struct BpeRules {
  bool ignore_merges = false;   // a piece that is a token is taken whole
  bool whole_newlines = false;  // a run of newlines that is a token is taken whole
  bool raw_utf8 = false;  // characters in place of mapped bytes, byte tokens "<0xXX>" for what is not in the vocabulary
};

class Bpe {
 public:
  // Working memory of one thread.
  struct Scratch {
    struct Symbol {
      uint32_t symbol, previous, next;
      uint32_t begin, end;  // in the piece
    };
    std::vector<Symbol> symbols;
    std::vector<uint64_t> heap;  // rank << 32 | left symbol; the lowest on top
    std::string mapped;
    PieceCache cache;
  };

  // Throws Error (BadInput) for lists that make no sense.
  Bpe(const Vocabulary& vocabulary, const std::vector<std::string_view>& merges, BpeRules rules,
      const std::string& file);

  // Appends the ids of one piece (valid UTF-8). n log n in its length.
  void encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Merge {
    uint32_t left = kNone, right = kNone, result = kNone;
  };
  struct PairSlot {
    uint64_t pair = UINT64_MAX;
    uint32_t rank = 0;
  };

  uint32_t symbol(std::string_view text);
  uint32_t find_symbol(std::string_view text) const;
  void add_pair(uint64_t pair, uint32_t rank);
  uint32_t find_rank(uint32_t left, uint32_t right) const;
  void encode_word(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;
  bool encode_whole(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const;
  void split_symbols(std::string_view piece, Scratch& scratch) const;
  void merge(Scratch& scratch) const;
  // Appends the pair that begins at `left` to the heap's array when it can merge.
  bool find_pair(uint32_t left, Scratch& scratch) const;
  void emit_bytes(std::string_view text, std::vector<int32_t>& ids) const;

  const Vocabulary* vocabulary_;
  BpeRules rules_;
  WordBreaks breaks_;                    // raw UTF-8: where words merge apart
  TextIndex extra_;                      // symbols that are no tokens; numbered from the vocabulary's size
  std::vector<Merge> merges_;            // by rank
  std::vector<PairSlot> pairs_;          // (left, right) → rank; open addressing
  std::array<uint32_t, 256> bytes_{};    // symbol of each byte (byte-level)
  std::array<int32_t, 256> fallback_{};  // token of a byte of a symbol that is no token, or -1
};

}  // namespace tally::text
