// A terminal of the compiled automaton: a deterministic automaton over bytes in one of three forms. Long literals and
// large sets of literals stay as small as their text; everything else is a table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/rules.h"

namespace tally::grammar {

class Terminal {
 public:
  static Terminal of_literal(std::string_view bytes);  // a view: the bytes must outlive the terminal
  // The union of literals (at least one, none empty).
  static Terminal of_literals(std::span<const std::string_view> literals);
  static Terminal of_dfa(std::shared_ptr<const Dfa> dfa);

  int start() const { return start_; }
  // The state after `byte`, or −1 when it is refused.
  int step(int state, uint8_t byte) const {
    if (form_ == Form::Table) return dfa_->step(state, byte);
    if (form_ == Form::Literal) return size_t(state) < text_.size() && uint8_t(text_[state]) == byte ? state + 1 : -1;
    return step_trie(state, byte);
  }
  bool accepting(int state) const {
    return form_ == Form::Literal ? size_t(state) == text_.size() : (parts_->flags[state] & kAccepting) != 0;
  }
  // Whether any byte may follow.
  bool has_edges(int state) const {
    return form_ == Form::Literal ? size_t(state) < text_.size() : (parts_->flags[state] & kEdges) != 0;
  }
  void add_allowed(int state, ByteSet& to) const;
  bool empty_text() const { return accepting(start_); }
  // No accepted text begins another, and the empty one is refused: repetitions are deterministic.
  bool prefix_free() const { return prefix_free_; }
  const std::shared_ptr<const Dfa>& dfa() const { return dfa_; }  // null for the other forms
  bool is_literal() const { return form_ == Form::Literal; }
  std::string_view literal() const { return text_; }
  uint64_t memory_bytes() const;

 private:
  enum class Form : uint8_t { Literal, Trie, Table };
  static constexpr uint8_t kAccepting = 1, kEdges = 2;
  struct Parts {
    std::vector<uint8_t> flags;        // Trie, Table: by state
    std::vector<uint32_t> edge_begin;  // Trie: edges of state s are [edge_begin[s], edge_begin[s + 1])
    std::vector<uint8_t> edge_byte;    // ascending within a state
    std::vector<int32_t> edge_to;
  };

  int step_trie(int state, uint8_t byte) const;

  Form form_ = Form::Literal;
  bool prefix_free_ = false;
  int start_ = 0;
  std::string_view text_;  // Literal: the bytes; the state is how many were taken
  std::shared_ptr<const Parts> parts_;
  std::shared_ptr<const Dfa> dfa_;
};

// The automaton of one byte out of a set.
std::shared_ptr<const Dfa> dfa_of_set(const ByteSet& set);

}  // namespace tally::grammar
