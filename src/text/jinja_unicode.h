// Characters of template strings as Python's str sees them: counting, classes, case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally::text::jinja {

// All texts here are valid UTF-8.
size_t count_chars(std::string_view text);
// Byte offset of character `index` (the text's size when it has no so many).
size_t byte_offset(std::string_view text, size_t index);
size_t chars_before(std::string_view text, size_t byte_offset);
// The character at byte `at`; *next is the offset behind it.
bool all_cased(std::string_view text, bool upper);  // str.islower, str.isupper
uint32_t char_at(std::string_view text, size_t at, size_t* next);
// Offset of the character that ends at byte `at` (at > 0).
size_t previous_char(std::string_view text, size_t at);

bool is_space(uint32_t c);      // str.isspace, and \s of Python's re
bool is_printable(uint32_t c);  // str.isprintable: what repr leaves as it is
bool is_alpha(uint32_t c);
bool is_decimal(uint32_t c);
bool is_digit(uint32_t c);
bool is_numeric(uint32_t c);
inline bool is_alnum(uint32_t c) { return is_alpha(c) || is_decimal(c) || is_digit(c) || is_numeric(c); }
inline bool is_word(uint32_t c) { return c == '_' || is_alnum(c); }  // \w of Python's re
bool is_lower(uint32_t c);
bool is_upper(uint32_t c);
bool is_title(uint32_t c);
bool is_identifier(std::string_view text);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);  // str.title
std::string to_swapcase(std::string_view text);
std::string to_capitalized(std::string_view text);  // str.capitalize
std::string to_casefold(std::string_view text);

std::string_view strip_left(std::string_view text);  // of is_space
std::string_view strip_right(std::string_view text);

}  // namespace tally::text::jinja
