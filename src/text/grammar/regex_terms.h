// Regular expressions as terms that share their parts. A term's derivative by a character is the term of what may
// follow it (Brzozowski, "Derivatives of regular expressions", 1964); look-ahead becomes an intersection with what
// follows, look-behind and \b ask automata that run along. So all of ECMA-262's expressions but back references become
// deterministic automata without backtracking.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/grammar/symbol_dfa.h"

namespace tally::grammar {

enum class TermKind : uint8_t {
  Nothing,
  Empty,
  Chars,   // a = index of the set
  Cat,     // a, b
  Alt,     // kids
  And,     // kids
  Not,     // a
  Repeat,  // a, min, max
  Look,    // a; negative: min = 1
  Behind,  // a = index of the look-behind; negative: min = 1
  Start,   // ^
  End,     // $
  Word     // \b; \B: min = 1
};

struct Term {
  TermKind kind = TermKind::Nothing;
  int a = -1, b = -1;
  uint64_t min = 0, max = 0;
  uint32_t first_kid = 0, n_kids = 0;
  bool asserts = false;   // holds an assertion somewhere
  bool nullable = false;  // matches the empty text; only meaningful without assertions
};

class TermPool {
 public:
  TermPool();
  int nothing() const { return 0; }
  int empty() const { return 1; }
  int anything() const { return all_; }  // any text
  int chars(const CharSet& set);
  int cat(int a, int b);
  int alt(std::vector<int> kids);
  int both(std::vector<int> kids);  // intersection
  int negate(int a);
  int repeat(int a, uint64_t min, uint64_t max);
  int look(int a, bool negative);
  int behind(int a, bool negative);  // a matches what ends here
  int assertion(TermKind kind, bool negative = false);

  const Term& operator[](int t) const { return terms_[t]; }
  int kid(const Term& t, uint32_t i) const { return kids_[t.first_kid + i]; }
  const std::vector<CharSet>& sets() const { return sets_; }
  const std::vector<int>& behinds() const { return behinds_; }
  uint64_t work() const { return work_; }  // steps spent on making terms so far

 private:
  int intern(Term t, const std::vector<int>& kids);

  std::vector<Term> terms_;
  std::vector<int> kids_;
  std::vector<CharSet> sets_;
  std::vector<int> behinds_;
  std::unordered_multimap<size_t, int> index_;
  int all_ = -1;
  uint64_t work_ = 0;
};

// Parses ECMA-262 with the u flag. Superfluous escapes of punctuation are read as the character. Throws
// ConstraintError at `path`: invalid_schema, unsupported (back references), limit. Returns the term, unanchored.
int parse_regex(TermPool& pool, std::string_view pattern, const std::string& path);

// The texts in which `pattern` matches somewhere.
SymbolDfa regex_dfa(std::string_view pattern, Budget& budget);

// Sets of the escapes d, w, s and of \p{name}; null: no such property.
CharSet digit_chars();
CharSet word_chars();
CharSet space_chars();
const CharSet* property_chars(std::string_view name);

}  // namespace tally::grammar
