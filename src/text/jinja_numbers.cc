#include "text/jinja_numbers.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "text/jinja_unicode.h"

namespace tally::text::jinja {
namespace {

// Digits of other scripts become ASCII, since Python reads them too.
std::string ascii_digits(std::string_view text) {
  std::string out;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (c >= 0x80 && is_decimal(c)) {
      uint32_t zero = c;  // blocks of decimal digits are ten in a row
      while (zero > c - 9 && is_decimal(zero - 1)) --zero;
      out += static_cast<char>('0' + (c - zero) % 10);
    } else {
      out += text.substr(at, next - at);
    }
  }
  return out;
}

// Single underscores between digits are allowed.
bool drop_underscores(std::string* text) {
  std::string out;
  for (size_t i = 0; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c != '_') {
      out += c;
      continue;
    }
    const bool inside = i > 0 && i + 1 < text->size() && std::isalnum(static_cast<unsigned char>((*text)[i - 1])) &&
                        std::isalnum(static_cast<unsigned char>((*text)[i + 1]));
    if (!inside) return false;
  }
  *text = std::move(out);
  return true;
}

}  // namespace

bool parse_int(std::string_view original, int base, BigInt* out) {
  std::string text = ascii_digits(strip_right(strip_left(original)));
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.erase(0, 1);
  int prefix = 0;
  if (text.size() > 1 && text[0] == '0') {
    const char c = static_cast<char>(text[1] | 32);
    prefix = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
  }
  if (prefix && (base == 0 || base == prefix)) {
    text.erase(0, 2);
    if (!text.empty() && text[0] == '_') text.erase(0, 1);
    base = prefix;
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string::npos) return false;
  }
  if (!drop_underscores(&text) || text.empty() || text.size() > 4300) return false;
  for (char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10 : 99;
    if (digit >= base) return false;
  }
  *out = BigInt::parse(text, base);
  if (negative) *out = -*out;
  return !out->too_large();
}

bool parse_float(std::string_view original, double* out) {
  std::string text = ascii_digits(strip_right(strip_left(original)));
  size_t start = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::string word = to_lower(std::string_view(text).substr(start));
  const double sign = start && text[0] == '-' ? -1.0 : 1.0;
  if (word == "inf" || word == "infinity" || word == "nan") {
    *out = word == "nan" ? std::copysign(NAN, sign) : sign * HUGE_VAL;
    return true;
  }
  if (!drop_underscores(&text) || text.size() > 10'000) return false;
  // Only decimal forms: strtod would also read hexadecimal ones.
  bool digits = false;
  size_t i = start;
  auto run = [&] {
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) digits = true;
  };
  run();
  if (i < text.size() && text[i] == '.') {
    ++i;
    run();
  }
  if (!digits) return false;
  if (i < text.size() && (text[i] | 32) == 'e') {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    digits = false;
    run();
    if (!digits) return false;
  }
  if (i != text.size()) return false;
  *out = std::strtod(text.c_str(), nullptr);
  return true;
}

}  // namespace tally::text::jinja
