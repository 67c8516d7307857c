// What the hand-written passes share: a place in valid UTF-8 text with the class of the character there.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/unicode.h"
#include "text/utf8.h"

namespace tally::text {

struct ScanCursor {
  const char* p;
  const char* end;
  uint32_t code = 0;
  uint32_t length = 0;  // 0 at the end of the text
  uint8_t cls = 0;      // 0 at the end of the text
  const uint8_t* table;

  ScanCursor(const char* at, const char* stop) : p(at), end(stop), table(char_classes()) { load(); }

  void load() {
    if (p >= end) {
      code = length = cls = 0;
      return;
    }
    code = decode_valid_utf8(p, &length);
    cls = table[code];
  }
  bool at_end() const { return length == 0; }
  bool is(uint8_t classes) const { return (cls & classes) != 0; }
  bool is_newline() const { return length == 1 && (code == '\n' || code == '\r'); }
  // Some character that is in none of the classes.
  bool is_other_than(uint8_t classes) const { return length != 0 && (cls & classes) == 0; }
  void next() {
    p += length;
    load();
  }
  void skip(uint8_t classes) {
    while (is(classes)) next();
  }
  ScanCursor peek() const {
    ScanCursor copy = *this;
    copy.next();
    return copy;
  }
};

// Bytes of a contraction ('s 't 're 've 'm 'll 'd) at p, else 0.
inline uint32_t contraction_length(const char* p, const char* end, bool any_case) {
  if (end - p < 2 || *p != '\'') return 0;
  const auto lower = [any_case](char c) { return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const char a = lower(p[1]);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (end - p < 3) return 0;
  const char b = lower(p[2]);
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// End of the piece that starts with the whitespace run at `c`: \s*[\r\n]+|\s+(?!\S)|\s+, or without its first
// alternative.
inline const char* space_piece_end(ScanCursor c, bool newlines_first) {
  const char* after_newline = nullptr;
  const char* last = c.p;  // start of the run's last character
  const char* begin = c.p;
  while (c.is(kSpace)) {
    last = c.p;
    if (newlines_first && c.is_newline()) after_newline = c.p + 1;
    c.next();
  }
  if (after_newline) return after_newline;
  return !c.at_end() && last > begin ? last : c.p;
}

}  // namespace tally::text
