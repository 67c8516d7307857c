// Case of texts with Unicode's full mappings (Unicode 14, SpecialCasing.txt), as Python's str methods apply them.
#include <utf8proc.h>

#include <algorithm>

#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

struct SpecialCase {
  uint16_t code;
  uint16_t upper[3], title[3];
};

// Characters whose upper-case or title-case form is longer than one character.
constexpr SpecialCase kSpecialCases[] = {
    {0x00DF, {0x53, 0x53, 0}, {0x53, 0x73, 0}},
    {0x0149, {0x2BC, 0x4E, 0}, {0x2BC, 0x4E, 0}},
    {0x01F0, {0x4A, 0x30C, 0}, {0x4A, 0x30C, 0}},
    {0x0390, {0x399, 0x308, 0x301}, {0x399, 0x308, 0x301}},
    {0x03B0, {0x3A5, 0x308, 0x301}, {0x3A5, 0x308, 0x301}},
    {0x0587, {0x535, 0x552, 0}, {0x535, 0x582, 0}},
    {0x1E96, {0x48, 0x331, 0}, {0x48, 0x331, 0}},
    {0x1E97, {0x54, 0x308, 0}, {0x54, 0x308, 0}},
    {0x1E98, {0x57, 0x30A, 0}, {0x57, 0x30A, 0}},
    {0x1E99, {0x59, 0x30A, 0}, {0x59, 0x30A, 0}},
    {0x1E9A, {0x41, 0x2BE, 0}, {0x41, 0x2BE, 0}},
    {0x1F50, {0x3A5, 0x313, 0}, {0x3A5, 0x313, 0}},
    {0x1F52, {0x3A5, 0x313, 0x300}, {0x3A5, 0x313, 0x300}},
    {0x1F54, {0x3A5, 0x313, 0x301}, {0x3A5, 0x313, 0x301}},
    {0x1F56, {0x3A5, 0x313, 0x342}, {0x3A5, 0x313, 0x342}},
    {0x1F80, {0x1F08, 0x399, 0}, {0x1F88, 0, 0}},
    {0x1F81, {0x1F09, 0x399, 0}, {0x1F89, 0, 0}},
    {0x1F82, {0x1F0A, 0x399, 0}, {0x1F8A, 0, 0}},
    {0x1F83, {0x1F0B, 0x399, 0}, {0x1F8B, 0, 0}},
    {0x1F84, {0x1F0C, 0x399, 0}, {0x1F8C, 0, 0}},
    {0x1F85, {0x1F0D, 0x399, 0}, {0x1F8D, 0, 0}},
    {0x1F86, {0x1F0E, 0x399, 0}, {0x1F8E, 0, 0}},
    {0x1F87, {0x1F0F, 0x399, 0}, {0x1F8F, 0, 0}},
    {0x1F88, {0x1F08, 0x399, 0}, {0x1F88, 0, 0}},
    {0x1F89, {0x1F09, 0x399, 0}, {0x1F89, 0, 0}},
    {0x1F8A, {0x1F0A, 0x399, 0}, {0x1F8A, 0, 0}},
    {0x1F8B, {0x1F0B, 0x399, 0}, {0x1F8B, 0, 0}},
    {0x1F8C, {0x1F0C, 0x399, 0}, {0x1F8C, 0, 0}},
    {0x1F8D, {0x1F0D, 0x399, 0}, {0x1F8D, 0, 0}},
    {0x1F8E, {0x1F0E, 0x399, 0}, {0x1F8E, 0, 0}},
    {0x1F8F, {0x1F0F, 0x399, 0}, {0x1F8F, 0, 0}},
    {0x1F90, {0x1F28, 0x399, 0}, {0x1F98, 0, 0}},
    {0x1F91, {0x1F29, 0x399, 0}, {0x1F99, 0, 0}},
    {0x1F92, {0x1F2A, 0x399, 0}, {0x1F9A, 0, 0}},
    {0x1F93, {0x1F2B, 0x399, 0}, {0x1F9B, 0, 0}},
    {0x1F94, {0x1F2C, 0x399, 0}, {0x1F9C, 0, 0}},
    {0x1F95, {0x1F2D, 0x399, 0}, {0x1F9D, 0, 0}},
    {0x1F96, {0x1F2E, 0x399, 0}, {0x1F9E, 0, 0}},
    {0x1F97, {0x1F2F, 0x399, 0}, {0x1F9F, 0, 0}},
    {0x1F98, {0x1F28, 0x399, 0}, {0x1F98, 0, 0}},
    {0x1F99, {0x1F29, 0x399, 0}, {0x1F99, 0, 0}},
    {0x1F9A, {0x1F2A, 0x399, 0}, {0x1F9A, 0, 0}},
    {0x1F9B, {0x1F2B, 0x399, 0}, {0x1F9B, 0, 0}},
    {0x1F9C, {0x1F2C, 0x399, 0}, {0x1F9C, 0, 0}},
    {0x1F9D, {0x1F2D, 0x399, 0}, {0x1F9D, 0, 0}},
    {0x1F9E, {0x1F2E, 0x399, 0}, {0x1F9E, 0, 0}},
    {0x1F9F, {0x1F2F, 0x399, 0}, {0x1F9F, 0, 0}},
    {0x1FA0, {0x1F68, 0x399, 0}, {0x1FA8, 0, 0}},
    {0x1FA1, {0x1F69, 0x399, 0}, {0x1FA9, 0, 0}},
    {0x1FA2, {0x1F6A, 0x399, 0}, {0x1FAA, 0, 0}},
    {0x1FA3, {0x1F6B, 0x399, 0}, {0x1FAB, 0, 0}},
    {0x1FA4, {0x1F6C, 0x399, 0}, {0x1FAC, 0, 0}},
    {0x1FA5, {0x1F6D, 0x399, 0}, {0x1FAD, 0, 0}},
    {0x1FA6, {0x1F6E, 0x399, 0}, {0x1FAE, 0, 0}},
    {0x1FA7, {0x1F6F, 0x399, 0}, {0x1FAF, 0, 0}},
    {0x1FA8, {0x1F68, 0x399, 0}, {0x1FA8, 0, 0}},
    {0x1FA9, {0x1F69, 0x399, 0}, {0x1FA9, 0, 0}},
    {0x1FAA, {0x1F6A, 0x399, 0}, {0x1FAA, 0, 0}},
    {0x1FAB, {0x1F6B, 0x399, 0}, {0x1FAB, 0, 0}},
    {0x1FAC, {0x1F6C, 0x399, 0}, {0x1FAC, 0, 0}},
    {0x1FAD, {0x1F6D, 0x399, 0}, {0x1FAD, 0, 0}},
    {0x1FAE, {0x1F6E, 0x399, 0}, {0x1FAE, 0, 0}},
    {0x1FAF, {0x1F6F, 0x399, 0}, {0x1FAF, 0, 0}},
    {0x1FB2, {0x1FBA, 0x399, 0}, {0x1FBA, 0x345, 0}},
    {0x1FB3, {0x391, 0x399, 0}, {0x1FBC, 0, 0}},
    {0x1FB4, {0x386, 0x399, 0}, {0x386, 0x345, 0}},
    {0x1FB6, {0x391, 0x342, 0}, {0x391, 0x342, 0}},
    {0x1FB7, {0x391, 0x342, 0x399}, {0x391, 0x342, 0x345}},
    {0x1FBC, {0x391, 0x399, 0}, {0x1FBC, 0, 0}},
    {0x1FC2, {0x1FCA, 0x399, 0}, {0x1FCA, 0x345, 0}},
    {0x1FC3, {0x397, 0x399, 0}, {0x1FCC, 0, 0}},
    {0x1FC4, {0x389, 0x399, 0}, {0x389, 0x345, 0}},
    {0x1FC6, {0x397, 0x342, 0}, {0x397, 0x342, 0}},
    {0x1FC7, {0x397, 0x342, 0x399}, {0x397, 0x342, 0x345}},
    {0x1FCC, {0x397, 0x399, 0}, {0x1FCC, 0, 0}},
    {0x1FD2, {0x399, 0x308, 0x300}, {0x399, 0x308, 0x300}},
    {0x1FD3, {0x399, 0x308, 0x301}, {0x399, 0x308, 0x301}},
    {0x1FD6, {0x399, 0x342, 0}, {0x399, 0x342, 0}},
    {0x1FD7, {0x399, 0x308, 0x342}, {0x399, 0x308, 0x342}},
    {0x1FE2, {0x3A5, 0x308, 0x300}, {0x3A5, 0x308, 0x300}},
    {0x1FE3, {0x3A5, 0x308, 0x301}, {0x3A5, 0x308, 0x301}},
    {0x1FE4, {0x3A1, 0x313, 0}, {0x3A1, 0x313, 0}},
    {0x1FE6, {0x3A5, 0x342, 0}, {0x3A5, 0x342, 0}},
    {0x1FE7, {0x3A5, 0x308, 0x342}, {0x3A5, 0x308, 0x342}},
    {0x1FF2, {0x1FFA, 0x399, 0}, {0x1FFA, 0x345, 0}},
    {0x1FF3, {0x3A9, 0x399, 0}, {0x1FFC, 0, 0}},
    {0x1FF4, {0x38F, 0x399, 0}, {0x38F, 0x345, 0}},
    {0x1FF6, {0x3A9, 0x342, 0}, {0x3A9, 0x342, 0}},
    {0x1FF7, {0x3A9, 0x342, 0x399}, {0x3A9, 0x342, 0x345}},
    {0x1FFC, {0x3A9, 0x399, 0}, {0x1FFC, 0, 0}},
    {0xFB00, {0x46, 0x46, 0}, {0x46, 0x66, 0}},
    {0xFB01, {0x46, 0x49, 0}, {0x46, 0x69, 0}},
    {0xFB02, {0x46, 0x4C, 0}, {0x46, 0x6C, 0}},
    {0xFB03, {0x46, 0x46, 0x49}, {0x46, 0x66, 0x69}},
    {0xFB04, {0x46, 0x46, 0x4C}, {0x46, 0x66, 0x6C}},
    {0xFB05, {0x53, 0x54, 0}, {0x53, 0x74, 0}},
    {0xFB06, {0x53, 0x54, 0}, {0x53, 0x74, 0}},
    {0xFB13, {0x544, 0x546, 0}, {0x544, 0x576, 0}},
    {0xFB14, {0x544, 0x535, 0}, {0x544, 0x565, 0}},
    {0xFB15, {0x544, 0x53B, 0}, {0x544, 0x56B, 0}},
    {0xFB16, {0x54E, 0x546, 0}, {0x54E, 0x576, 0}},
    {0xFB17, {0x544, 0x53D, 0}, {0x544, 0x56D, 0}},
};

const SpecialCase* special_case(uint32_t c) {
  if (c < 0xDF || c > 0xFFFF) return nullptr;
  const auto* end = std::end(kSpecialCases);
  const auto* it = std::lower_bound(std::begin(kSpecialCases), end, c,
                                    [](const SpecialCase& s, uint32_t code) { return s.code < code; });
  return it != end && it->code == c ? it : nullptr;
}

void append_three(std::string& out, const uint16_t (&codes)[3]) {
  for (uint16_t code : codes)
    if (code) append_utf8(out, code);
}

void append_upper(std::string& out, uint32_t c) {
  if (const auto* s = special_case(c)) return append_three(out, s->upper);
  append_utf8(out, static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

void append_title(std::string& out, uint32_t c) {
  if (const auto* s = special_case(c)) return append_three(out, s->title);
  append_utf8(out, static_cast<uint32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

bool is_cased(uint32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

bool is_case_ignorable(uint32_t c) {
  if (c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xA8 || c == 0xAD || c == 0xAF || c == 0xB4 ||
      c == 0xB7 || c == 0xB8 || c == 0x2018 || c == 0x2019 || c == 0x2024 || c == 0x2027)
    return true;
  if (c < 0x80) return false;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

// A capital sigma at the end of a word becomes a final small sigma (SpecialCasing.txt, Final_Sigma).
bool is_final_sigma(std::string_view text, size_t at, size_t after) {
  size_t next;
  bool cased_before = false;
  for (size_t p = at; p > 0;) {
    p = previous_char(text, p);
    const uint32_t c = char_at(text, p, &next);
    if (is_case_ignorable(c)) continue;
    cased_before = is_cased(c);
    break;
  }
  if (!cased_before) return false;
  for (size_t p = after; p < text.size(); p = next) {
    const uint32_t c = char_at(text, p, &next);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, size_t at, size_t next, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 32 : c);
  } else if (c == 0x130) {
    out += "i\xCC\x87";
  } else if (c == 0x3A3) {
    append_utf8(out, is_final_sigma(text, at, next) ? 0x3C2 : 0x3C3);
  } else {
    append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

}  // namespace

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0, next = 0; at < text.size(); at = next) append_upper(out, char_at(text, at, &next));
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    append_lower(out, text, at, next, c);
  }
  return out;
}

std::string to_title(std::string_view text) {
  std::string out;
  bool in_word = false;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (in_word)
      append_lower(out, text, at, next, c);
    else
      append_title(out, c);
    in_word = is_cased(c);
  }
  return out;
}

std::string to_swapcase(std::string_view text) {
  std::string out;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (is_upper(c))
      append_lower(out, text, at, next, c);
    else if (is_lower(c))
      append_upper(out, c);
    else
      append_utf8(out, c);
  }
  return out;
}

std::string to_capitalized(std::string_view text) {
  std::string out;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (at == 0)
      append_title(out, c);
    else
      append_lower(out, text, at, next, c);
  }
  return out;
}

std::string to_casefold(std::string_view text) {
  std::string out;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    utf8proc_int32_t folded[8];
    int last_class = 0;
    const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 8, UTF8PROC_CASEFOLD, &last_class);
    if (n <= 0 || n > 8) append_utf8(out, c);
    for (utf8proc_ssize_t i = 0; i < n && n <= 8; ++i) append_utf8(out, static_cast<uint32_t>(folded[i]));
  }
  return out;
}

}  // namespace tally::text::jinja
