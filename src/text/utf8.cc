#include "text/utf8.h"

#include <cstring>

namespace tally::text {
namespace {

bool is_continuation(unsigned char b) { return (b & 0xC0) == 0x80; }

// Allowed range of the second byte after each lead byte (Unicode 15, table 3-7).
bool second_byte_fits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return is_continuation(second);
  }
}

// Length of the ASCII prefix, eight bytes at a time.
size_t ascii_prefix(const char* p, const char* end) {
  const char* start = p;
  while (end - p >= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    if (word & 0x8080808080808080ull) break;
    p += 8;
  }
  while (p < end && static_cast<unsigned char>(*p) < 0x80) ++p;
  return static_cast<size_t>(p - start);
}

}  // namespace

Utf8Char decode_utf8(const char* p, const char* end) {
  const auto lead = static_cast<unsigned char>(*p);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const uint32_t n = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code = lead & (0x7Fu >> n);
  for (uint32_t i = 1; i < n; ++i) {
    if (p + i >= end) return {0xFFFD, i, false};
    const auto b = static_cast<unsigned char>(p[i]);
    if (i == 1 ? !second_byte_fits(lead, b) : !is_continuation(b)) return {0xFFFD, i, false};
    code = code << 6 | (b & 0x3Fu);
  }
  return {code, n, true};
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    p += ascii_prefix(p, end);
    if (p == end) break;
    const Utf8Char c = decode_utf8(p, end);
    if (!c.valid) return false;
    p += c.length;
  }
  return true;
}

std::string replace_ill_formed(std::string_view text, Replace how) {
  std::string out;
  out.reserve(text.size());
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Utf8Char c = decode_utf8(p, end);
    if (c.valid) {
      out.append(p, c.length);
    } else {
      const uint32_t n = how == Replace::EachByte ? c.length : 1;
      for (uint32_t i = 0; i < n; ++i) out += "\xEF\xBF\xBD";
    }
    p += c.length;
  }
  return out;
}

size_t unfinished_suffix(std::string_view text) {
  const char* end = text.data() + text.size();
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const char* p = end - back;
    if (is_continuation(static_cast<unsigned char>(*p))) continue;
    const Utf8Char c = decode_utf8(p, end);
    // Ill-formed up to the very end, and the lead byte announces more: the rest may still come.
    const bool unfinished = !c.valid && c.length == back && utf8_length(*p) > back;
    return unfinished && static_cast<unsigned char>(*p) >= 0xC2 && static_cast<unsigned char>(*p) <= 0xF4 ? back : 0;
  }
  return 0;
}

}  // namespace tally::text
