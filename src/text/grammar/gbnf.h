// Grammars in GBNF, the notation that llama.cpp made common: rules `name ::= …`, names of [a-zA-Z0-9-], the text begins
// with `root`. Literals "…" and classes […] with the escapes \n \r \t \\ \" \[ \] \- \xXX \uXXXX \UXXXXXXXX (the last
// three name a code point), `.` for any character, groups, |, and * + ? {m} {m,} {m,n}; # begins a comment. A rule ends
// with its line, except inside groups and after ::= and |.
#pragma once

#include <memory>
#include <string_view>

#include "text/grammar/automaton.h"
#include "text/grammar/rules.h"

namespace tally::grammar {

inline constexpr uint64_t kMaxGrammarBytes = 4u << 20, kMaxGrammarNodes = 2u << 20;

// Throws ConstraintError: "invalid_grammar" (path: "line:column", both from 1, columns count characters), "unsupported"
// (references to tokens), "limit".
Rules parse_gbnf(std::string_view text);

// The same, compiled. Further errors: "unsatisfiable", and "unsupported" for left recursion, with the rule's place.
std::shared_ptr<const Automaton> compile_gbnf(std::string_view text);

}  // namespace tally::grammar
