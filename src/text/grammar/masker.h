// Which tokens may follow: a row of bits over a vocabulary for each state of a Matcher.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/grammar/matcher.h"
#include "text/grammar/terminal_rows.h"

namespace tally::grammar {

class Masker {
 public:
  // Both live longer than this. byte_limit: of the rows kept.
  Masker(Matcher& matcher, std::shared_ptr<MaskVocabulary> vocabulary, uint64_t byte_limit = 32u << 20);

  // The row of the matcher's state: bit id (word id / 64, lowest bit first) is set when the token's bytes may follow,
  // or when it ends a generation and the text may end here. Not copied: valid until kKept further rows were asked for,
  // or the matcher's generation changes. Throws ConstraintError ("limit").
  std::span<const uint64_t> row();
  const MaskVocabulary& vocabulary() const { return *vocabulary_; }

  static constexpr size_t kKept = 32;

 private:
  void compute(StateId state, uint64_t* row);
  void add_frame(uint32_t frame, uint64_t* row);
  void add_direct(uint32_t frame, uint64_t* row);
  void add_rows(uint32_t frame, uint64_t* row);
  void add_subtree(uint32_t begin, uint32_t end, StateId above, uint64_t* row);
  const TerminalRow& terminal_row(const Instr& instr, int state);
  size_t free_slot();

  Matcher& matcher_;
  StateTable& table_;
  std::shared_ptr<MaskVocabulary> vocabulary_;
  const TokenTrie& trie_;
  size_t n_words_, n_slots_;
  uint64_t generation_ = 0;
  std::vector<uint32_t> slot_of_;  // by state: its slot plus 1; 0: none
  struct Slot {
    std::unique_ptr<uint64_t[]> row;
    StateId state = 0;
    uint64_t used = 0;  // the last time
  };
  std::vector<Slot> slots_;
  uint64_t clock_ = 0;
  size_t hand_ = 0;
  std::vector<std::shared_ptr<TerminalRows>> terminals_;  // by number
  std::vector<StateId> path_;                             // by depth
};

}  // namespace tally::grammar
