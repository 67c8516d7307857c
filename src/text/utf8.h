// UTF-8: decoding one character, and replacing what is ill-formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally::text {

struct Utf8Char {
  uint32_t code = 0xFFFD;  // U+FFFD when ill-formed
  uint32_t length = 1;  // bytes; of an ill-formed sequence: its maximal subpart (Unicode 15, section 3.9), at least 1
  bool valid = false;
};

// The character at `p`, p < end. Overlong forms, surrogates and values above U+10FFFF are ill-formed.
Utf8Char decode_utf8(const char* p, const char* end);

// The same for text known to be valid; the fast form of the scanners.
inline uint32_t decode_valid_utf8(const char* p, uint32_t* length) {
  const auto* b = reinterpret_cast<const unsigned char*>(p);
  if (b[0] < 0x80) {
    *length = 1;
    return b[0];
  }
  if (b[0] < 0xE0) {
    *length = 2;
    return (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu);
  }
  if (b[0] < 0xF0) {
    *length = 3;
    return (b[0] & 0x0Fu) << 12 | (b[1] & 0x3Fu) << 6 | (b[2] & 0x3Fu);
  }
  *length = 4;
  return (b[0] & 0x07u) << 18 | (b[1] & 0x3Fu) << 12 | (b[2] & 0x3Fu) << 6 | (b[3] & 0x3Fu);
}

// Length that a lead byte announces (1 for ASCII and for anything that is no lead byte).
inline uint32_t utf8_length(char lead) {
  const auto b = static_cast<unsigned char>(lead);
  return b < 0xC0 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : b < 0xF8 ? 4 : 1;
}

void append_utf8(std::string& out, uint32_t code);

bool is_valid_utf8(std::string_view text);

enum class Replace { EachByte, EachSequence };
// `text` with U+FFFD in place of every ill-formed byte, or of every maximal ill-formed sequence.
std::string replace_ill_formed(std::string_view text, Replace how);

// Bytes of an unfinished but so far well-formed character at the end of `text` (0 to 3).
size_t unfinished_suffix(std::string_view text);

}  // namespace tally::text
