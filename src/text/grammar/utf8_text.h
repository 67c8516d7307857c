// Code points to and from UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tally::grammar {

// The first character of a text that is not empty, and its bytes; null when they are not UTF-8.
inline std::optional<uint32_t> decode_utf8(std::string_view s, size_t* n_bytes) {
  auto at = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  uint8_t c = at(0);
  if (c < 0x80) {
    *n_bytes = 1;
    return c;
  }
  const size_t n = c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (n == 0 || s.size() < n) return std::nullopt;
  uint32_t cp = c & (0xFFu >> (n + 1));
  for (size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xC0) != 0x80) return std::nullopt;
    cp = cp << 6 | (at(i) & 0x3Fu);
  }
  static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (cp < least[n] || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) return std::nullopt;
  *n_bytes = n;
  return cp;
}

inline void append_utf8(std::string& out, uint32_t cp) {
  auto put = [&](uint32_t b) { out += static_cast<char>(b); };
  if (cp < 0x80) {
    put(cp);
  } else if (cp < 0x800) {
    put(0xC0 | cp >> 6), put(0x80 | (cp & 0x3F));
  } else if (cp < 0x10000) {
    put(0xE0 | cp >> 12), put(0x80 | (cp >> 6 & 0x3F)), put(0x80 | (cp & 0x3F));
  } else {
    put(0xF0 | cp >> 18), put(0x80 | (cp >> 12 & 0x3F)), put(0x80 | (cp >> 6 & 0x3F)), put(0x80 | (cp & 0x3F));
  }
}

}  // namespace tally::grammar
