// Sets of characters as automata over the bytes of UTF-8.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/rules.h"

namespace tally::grammar {

struct CodeRange {
  uint32_t first, last;  // inclusive
  bool operator==(const CodeRange&) const = default;
};
inline constexpr uint32_t kLastCodePoint = 0x10FFFF;

// Sorted, joined, within Unicode and without surrogates.
std::vector<CodeRange> normal_ranges(std::vector<CodeRange> ranges);
// All other characters. `ranges` as normal_ranges gives them.
std::vector<CodeRange> complement(const std::vector<CodeRange>& ranges);

// One character of the set (as normal_ranges gives it, not empty).
std::shared_ptr<const Dfa> dfa_of_code_points(const std::vector<CodeRange>& ranges);

void append_code_point(std::string& to, uint32_t code);
// The character at text[at]: its length in bytes, 0 when ill-formed.
uint32_t code_point_at(std::string_view text, size_t at, uint32_t& code);

}  // namespace tally::grammar
