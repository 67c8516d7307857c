#include "text/jinja_unicode.h"

#include <utf8proc.h>

#include <cstring>

#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

struct Range {
  uint32_t first, last;
};

template <size_t N>
bool contains(const Range (&ranges)[N], uint32_t c) {
  for (const auto& r : ranges)
    if (c >= r.first && c <= r.last) return true;
  return false;
}

// Unicode 14: Other_Lowercase outside category Ll, Other_Uppercase outside Lu, Numeric_Type=Digit outside Nd.
constexpr Range kOtherLower[] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},     {0x345, 0x345},
    {0x37A, 0x37A},   {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
    {0x2090, 0x209C}, {0x2170, 0x217F}, {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},
    {0xA7F8, 0xA7F9}, {0xAB5C, 0xAB5F}, {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
constexpr Range kOtherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
constexpr Range kOtherDigit[] = {{0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
                                 {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
                                 {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
                                 {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
                                 {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};

utf8proc_category_t category(uint32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

}  // namespace

size_t count_chars(std::string_view text) {
  size_t n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

size_t byte_offset(std::string_view text, size_t index) {
  size_t at = 0;
  while (index-- > 0 && at < text.size()) at += utf8_length(text[at]);
  return at < text.size() ? at : text.size();
}

size_t chars_before(std::string_view text, size_t offset) { return count_chars(text.substr(0, offset)); }

uint32_t char_at(std::string_view text, size_t at, size_t* next) {
  const Utf8Char c = decode_utf8(text.data() + at, text.data() + text.size());
  *next = at + c.length;
  return c.code;
}

size_t previous_char(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

bool is_space(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_printable(uint32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_alpha(uint32_t c) {
  if (c < 0x80) return (c | 32) >= 'a' && (c | 32) <= 'z';
  const auto k = category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(uint32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : category(c) == UTF8PROC_CATEGORY_ND; }
bool is_digit(uint32_t c) { return is_decimal(c) || (c >= 0x80 && contains(kOtherDigit, c)); }
bool is_numeric(uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const auto k = category(c);
  return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}
bool is_lower(uint32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  return category(c) == UTF8PROC_CATEGORY_LL || contains(kOtherLower, c);
}
bool is_upper(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return category(c) == UTF8PROC_CATEGORY_LU || contains(kOtherUpper, c);
}
bool is_title(uint32_t c) { return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_LT; }

bool is_identifier(std::string_view text) {
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (c == '_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL) continue;
    const auto k = category(c);
    const bool may_follow =
        is_decimal(c) || k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_PC;
    if (at == 0 || !may_follow) return false;
  }
  return !text.empty();
}

bool all_cased(std::string_view text, bool upper) {
  bool any = false;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (is_title(c) || (upper ? is_lower(c) : is_upper(c))) return false;
    any = any || (upper ? is_upper(c) : is_lower(c));
  }
  return any;
}

std::string_view strip_left(std::string_view text) {
  size_t at = 0, next = 0;
  while (at < text.size() && is_space(char_at(text, at, &next))) at = next;
  return text.substr(at);
}

std::string_view strip_right(std::string_view text) {
  size_t end = text.size(), next;
  while (end > 0) {
    const size_t at = previous_char(text, end);
    if (!is_space(char_at(text, at, &next))) break;
    end = at;
  }
  return text.substr(0, end);
}

}  // namespace tally::text::jinja
