// From automata over characters to terminals over the bytes of JSON text.
#pragma once

#include <memory>

#include "text/grammar/rules.h"
#include "text/grammar/symbol_dfa.h"

namespace tally::grammar {

// The JSON strings whose values the automaton takes: characters raw, escapes where JSON needs them. With quotes, or
// only what stands between them. Null when there is none.
std::shared_ptr<const Dfa> spell_string(const SymbolDfa& values, bool quotes, Budget& budget);

// The texts themselves, of ASCII characters (numbers). Null when there is none.
std::shared_ptr<const Dfa> spell_ascii(const SymbolDfa& texts, Budget& budget);

// Exactly these byte sequences (sorted, no two equal, at least one), as a minimal automaton.
std::shared_ptr<const Dfa> spell_words(const std::vector<std::string>& sorted, Budget& budget);

std::string quoted(std::string_view utf8);  // the JSON string of a text

// Shared by all schemas of the process, so that what is cached per terminal is shared too.
std::shared_ptr<const Dfa> free_string();       // any string, with quotes
std::shared_ptr<const Dfa> free_string_char();  // one character of a string
std::shared_ptr<const Dfa> free_number();
std::shared_ptr<const Dfa> free_integer();

}  // namespace tally::grammar
