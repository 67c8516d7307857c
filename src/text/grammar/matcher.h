// A text being matched token by token: where it stands, and the way back. States are numbers, so each token costs one
// number of history, and going back n tokens is cutting n numbers off.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/grammar/state_table.h"

namespace tally::grammar {

class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const Automaton> automaton, StateLimits limits = {});

  // One entry of history; false (and nothing changes) when no text begins so. Throws ConstraintError ("limit").
  bool accept(std::string_view token);
  bool accept(uint8_t byte) { return accept(std::string_view(reinterpret_cast<const char*>(&byte), 1)); }
  bool can_end() const { return table_.can_end(state()); }
  StateId state() const { return history_.back(); }
  // Takes back the last n tokens, at most max_rollback().
  void rollback(size_t n);
  size_t max_rollback() const { return history_.size() - 1; }
  // Begins a new text; what was learnt about the grammar stays.
  void reset();

  StateTable& table() { return table_; }
  // Changes when states get new numbers: in accept and reset, after StateLimits::bytes were filled. Then only the last
  // kKept tokens can be taken back.
  uint64_t generation() const { return generation_; }
  static constexpr size_t kKept = 64;

 private:
  void make_room();

  StateTable table_;
  std::vector<StateId> history_;  // the start first
  uint64_t generation_ = 0;
};

}  // namespace tally::grammar
