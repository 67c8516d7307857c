// Sets of strings and of numbers as boolean expressions, exact under intersection, union and complement. They become
// automata only where something is written from them or their emptiness matters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "text/grammar/rules.h"
#include "text/grammar/schema_decimal.h"
#include "text/grammar/symbol_dfa.h"

namespace tally::grammar {

enum class ExprKind : uint8_t {
  Top,
  Bottom,
  And,
  Or,
  Not,
  Pattern,  // text: the regular expression
  Format,   // text: its name
  Length,   // min, max code points
  Words,    // exactly these strings
  Integer,
  AtLeast,  // bound; exclusive: min = 1
  AtMost,
  Multiple,  // of bound
  Numbers    // exactly these
};

struct Expr {
  ExprKind kind = ExprKind::Bottom;
  std::vector<int> kids;
  std::string text;
  std::string path;  // where it was written, for messages
  uint64_t min = 0, max = kUnbounded;
  std::vector<std::string> words;  // sorted
  std::vector<Decimal> numbers;    // sorted
  Decimal bound;
};

// Expressions of one schema. Top and Bottom serve both strings and numbers; all others are of one of the two.
class ExprPool {
 public:
  explicit ExprPool(Budget& budget) : budget_(budget) {
    nodes_.resize(2);
    nodes_[0].kind = ExprKind::Top;
  }
  static constexpr int kTop = 0, kBottom = 1;

  int add(Expr e);  // an atom; simplifies empty ones to Bottom
  int both(int a, int b);
  int either(const std::vector<int>& kids);
  int negate(int a);

  const Expr& operator[](int e) const { return nodes_[e]; }
  bool has(int e, std::string_view text);  // a string
  bool has(int e, const Decimal& number);
  bool empty_strings(int e);
  bool empty_numbers(int e);

  // The strings, or the spelled numbers without exponent, of an expression.
  std::shared_ptr<const SymbolDfa> strings(int e);
  std::shared_ptr<const SymbolDfa> numbers(int e);

  // Terminals: a JSON string with quotes, a number. Null when empty.
  std::shared_ptr<const Dfa> string_terminal(int e);
  std::shared_ptr<const Dfa> number_terminal(int e);
  // Of a string, and not only: whether it is nothing but a bound of the length.
  bool is_length(int e) const { return nodes_[e].kind == ExprKind::Length; }
  Budget& budget() { return budget_; }

 private:
  template <class Value>
  bool holds(int e, const Value& value);  // Value: std::string_view or Decimal
  bool atom_has(int e, std::string_view text);
  bool atom_has(int e, const Decimal& number);
  int filtered(int values, const std::vector<int>& others);
  int both_of(std::vector<int> kids);
  std::string key(int e, size_t depth = 0) const;  // equal for equal expressions; "" when too long to be worth it
  std::shared_ptr<const SymbolDfa> automaton(int e, bool number);
  SymbolDfa build(int e, bool number);

  Budget& budget_;
  std::vector<Expr> nodes_;
  std::map<std::pair<int, bool>, std::shared_ptr<const SymbolDfa>> memo_;
};

// Numbers as written: -?(0|[1-9][0-9]*)(\.[0-9]+)? without negative zero. The automata below are right on these only.
SymbolDfa plain_numbers_dfa();
SymbolDfa plain_integers_dfa();  // no fraction at all
SymbolDfa integers_dfa();        // no fraction but zeros
SymbolDfa bound_dfa(const Decimal& bound, bool at_least, bool exclusive, bool at_most, Budget& budget);
SymbolDfa multiple_dfa(const Decimal& step, Budget& budget);

// The regular expression of a format; null: not a known format. Throws ConstraintError (unsupported) at `path` for
// formats that are known and not regular.
const char* format_pattern(std::string_view name, const std::string& path);

// Terminals and automata kept for the whole process, by a text that determines them. Thread-safe, bounded.
std::shared_ptr<const Dfa> cached_terminal(const std::string& key);
void cache_terminal(const std::string& key, const std::shared_ptr<const Dfa>& dfa);
std::shared_ptr<const SymbolDfa> cached_automaton(const std::string& key);
void cache_automaton(const std::string& key, const std::shared_ptr<const SymbolDfa>& dfa);

}  // namespace tally::grammar
