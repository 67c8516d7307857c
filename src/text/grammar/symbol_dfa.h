// Deterministic automata over code points: the languages of string values and of spelled numbers. They are complete
// (every state has a successor for every character), so that products and complements are exact.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/constraint_error.h"

namespace tally::grammar {

struct CharRange {
  uint32_t first, last;
  bool operator==(const CharRange&) const = default;
};
using CharSet = std::vector<CharRange>;  // sorted, disjoint, not adjacent
inline constexpr uint32_t kLastChar = 0x10FFFF;

CharSet normalized(CharSet set);
CharSet complement(const CharSet& set);
bool contains(const CharSet& set, uint32_t c);

// Steps and states that one schema may still spend; passing them throws ConstraintError (limit).
struct Budget {
  uint64_t max_states = 65'536;
  uint64_t work = 40'000'000, max_work = 40'000'000;
  std::string path;  // what is being compiled, for the message

  void spend(uint64_t steps) {
    if (steps > work)
      throw ConstraintError(path, "the schema needs too much work to compile; simplify it", max_work, max_work + 1);
    work -= steps;
  }
  void check_states(uint64_t n) const {
    if (n > max_states)
      throw ConstraintError(path, "the automaton of a pattern or length has too many states", max_states, n);
  }
};

struct SymbolDfa {
  std::vector<uint32_t> starts{0};  // character intervals: [starts[i], starts[i+1])
  std::vector<int> classes{0};      // class of interval i
  int n_classes = 1;
  std::vector<int32_t> next;  // [states × n_classes]
  std::vector<uint8_t> accepting;
  int start = 0;

  int n_states() const { return static_cast<int>(accepting.size()); }
  int class_of(uint32_t c) const;
  int step(int state, int cls) const { return next[static_cast<size_t>(state) * n_classes + cls]; }
  bool matches(std::string_view utf8) const;
  std::vector<uint8_t> useful() const;  // states from which an accepting one can be reached
  bool empty() const { return useful()[start] == 0; }
};

enum class SetOp { And, Or, AndNot };
SymbolDfa product(const SymbolDfa& a, const SymbolDfa& b, SetOp op, Budget& budget);
SymbolDfa complement(SymbolDfa a);
SymbolDfa minimized(const SymbolDfa& a);  // for automata of a few hundred states

// Texts of min to max characters (max may be kUnbounded of rules.h).
SymbolDfa length_dfa(uint64_t min, uint64_t max, Budget& budget);

// Partition of all characters by the sets: `classes` of each interval, and which classes lie in which set.
struct Partition {
  std::vector<uint32_t> starts;
  std::vector<int> classes;
  int n_classes = 0;
  std::vector<std::vector<uint8_t>> in_set;  // [set][class]
};
Partition partition(const std::vector<CharSet>& sets);

// A minimal acyclic automaton that takes exactly the given sequences of symbols (sorted, no two equal).
class WordGraph {
 public:
  void add(const std::vector<uint32_t>& word);  // in ascending order
  void finish();
  struct State {
    bool accepting = false;
    std::vector<std::pair<uint32_t, int>> edges;  // ascending symbols
  };
  const std::vector<State>& states() const { return states_; }
  int root() const { return root_; }

 private:
  void replace_from(size_t depth);
  int intern(State s);

  struct Open {
    State state;
    uint32_t symbol = 0;  // of the edge to the next one of the path
  };
  std::vector<Open> path_{1};
  std::vector<uint32_t> last_;
  std::vector<State> states_;
  std::vector<int> table_;  // open addressing over states_
  size_t used_ = 0;
  int root_ = -1;
};

// The code points of each text; exactly these texts.
SymbolDfa words_dfa(const std::vector<std::string>& sorted_utf8, Budget& budget);

}  // namespace tally::grammar
