// Rules compiled: a recursive transition network over terminals, immutable and shared. What runs it is StateTable.
//
// Each rule is a list of instructions with explicit continuations; a rule that refers to another one in its middle
// pushes a frame (a pushdown automaton), one that refers at its end does not. Repetitions count in their frame.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/grammar/rules.h"
#include "text/grammar/terminal.h"

namespace tally::grammar {

enum class InstrOp : uint8_t {
  Term,     // a text of terminal a, then next
  Counted,  // min to max texts of the prefix-free terminal a, then next
  Alt,      // any of the instructions [a, a + n)
  Jump,     // next
  Call,     // the rule that begins at a, then next
  Tail,     // the rule that begins at a, and with it the end of this one
  Loop,     // min to max times the rule that begins at a, then next
  Return,   // the end of a rule
  End       // below the first frame: the end of the text
};

struct Instr {
  InstrOp op = InstrOp::Return;
  bool skip = false;      // what it stands for may be empty: next follows at once
  bool may_end = false;   // from here the rule may end without another byte
  uint32_t a = 0, n = 0;  // see InstrOp
  uint32_t next = 0;
  uint32_t group = 0;  // instructions that reach each other without a byte or frame share one; groups are in order:
                       // what can be reached without a byte has a higher number
  uint64_t min = 0, max = 0;
};

class Automaton {
 public:
  // Throws ConstraintError: "unsatisfiable" when no finite text obeys the rules, "unsupported" for left recursion
  // (path: the rule's name), "limit" when the compiled form passes kMaxInstrs.
  static std::shared_ptr<const Automaton> compile(const Rules& rules);

  const Instr& instr(uint32_t pc) const { return instrs_[pc]; }
  const Terminal& terminal(uint32_t i) const { return terminals_[i]; }
  uint32_t n_terminals() const { return static_cast<uint32_t>(terminals_.size()); }
  uint32_t n_groups() const { return static_cast<uint32_t>(group_begin_.size()) - 1; }
  std::span<const uint32_t> group(uint32_t g) const {
    return std::span(members_).subspan(group_begin_[g], group_begin_[g + 1] - group_begin_[g]);
  }
  uint32_t start() const { return kFirst; }
  uint32_t n_instrs() const { return static_cast<uint32_t>(instrs_.size()); }
  uint64_t memory_bytes() const;

  static constexpr uint32_t kReturn = 0, kEnd = 1, kFirst = 2;
  static constexpr uint32_t kMaxInstrs = 1u << 20;

 private:
  friend class AutomatonBuilder;
  std::vector<Instr> instrs_;
  std::deque<std::string> texts_;  // of literals; never moved
  std::vector<Terminal> terminals_;
  std::vector<uint32_t> members_, group_begin_;
};

// By node of `rules`: whether a finite text can come of it, whether the empty text can, and how many other nodes or
// rules (the root included) that can be reached refer to it (0: it cannot be reached).
struct RulesAnalysis {
  std::vector<uint8_t> productive, nullable;
  std::vector<uint32_t> referred;
};
RulesAnalysis analyse(const Rules& rules);

}  // namespace tally::grammar
