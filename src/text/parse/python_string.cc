// Strings as Python writes them (language reference, 2.4.1): prefixes, one or three quotes, escapes.
#include <cctype>

#include "text/parse/json_reader.h"
#include "text/utf8.h"

namespace tally::parse {
namespace {

constexpr std::string_view kPrefixes = "rRuUbBfF";

int hex_digits(const Input& in, size_t at, size_t n) {  // -1: not so many
  int value = 0;
  for (size_t i = 0; i < n; ++i) {
    const char c = in.peek(at + i);
    if (!std::isxdigit(uint8_t(c))) return -1;
    value = value * 16 + (std::isdigit(uint8_t(c)) ? c - '0' : std::tolower(c) - 'a' + 10);
    if (value > 0x10FFFF) return -1;
  }
  return value;
}

std::string json_of(uint32_t code) {
  std::string utf8;
  text::append_utf8(utf8, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
  return json_escape(utf8);
}

// \xHH, \uXXXX (two where it is half a character), \UXXXXXXXX. Ended: there is not all of it.
Task<JsonEnd> copy_hex_escape(Input& in, const TextOut& out) {
  READER;
  const char e = in.peek(1);
  const size_t n = e == 'x' ? 2 : e == 'u' ? 4 : 8;
  if (!co_await in.more(2 + n)) co_return JsonEnd::Ended;
  int code = hex_digits(in, 2, n);
  if (code < 0) {
    out("\\\\");
    in.pos += 1;
    co_return JsonEnd::Complete;
  }
  size_t length = 2 + n;
  if (e == 'u' && code >= 0xD800 && code < 0xDC00 && co_await in.settle("\\u", 6) == Match::Yes &&
      co_await in.more(12)) {
    const int low = hex_digits(in, 8, 4);
    if (low >= 0xDC00 && low < 0xE000) code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), length = 12;
  }
  out(json_of(uint32_t(code)));
  in.pos += length;
  co_return JsonEnd::Complete;
}

Task<JsonEnd> copy_escape(Input& in, const TextOut& out) {
  READER;
  if (!co_await in.more(2)) co_return JsonEnd::Ended;
  const char e = in.peek(1);
  if (e == 'x' || e == 'u' || e == 'U') co_return co_await copy_hex_escape(in, out);
  static constexpr std::string_view kFrom = "abfnrtv\\'\"/", kTo = "\a\b\f\n\r\t\v\\'\"/";
  const size_t at = kFrom.find(e);
  size_t length = 2;
  if (at != kFrom.npos) {
    out(json_escape(kTo.substr(at, 1)));
  } else if (e >= '0' && e <= '7') {
    uint32_t code = 0;
    length = 1;
    while (length < 4 && co_await in.more(length + 1) && in.peek(length) >= '0' && in.peek(length) <= '7')
      code = code * 8 + uint32_t(in.peek(length++) - '0');
    out(json_of(code));
  } else if (e != '\n') {  // a line continued; any other backslash stands for itself
    out("\\\\");
    length = 1;
  }
  in.pos += length;
  co_return JsonEnd::Complete;
}

}  // namespace

bool begins_python_string(const Input& in) {
  size_t n = 0;
  while (n < 2 && n < in.available() && kPrefixes.find(in.peek(n)) != kPrefixes.npos) ++n;
  return n < in.available() && (in.peek(n) == '"' || in.peek(n) == '\'');
}

Task<JsonEnd> copy_python_string(Input& in, const TextOut& out) {
  READER;
  bool raw = false;
  for (; kPrefixes.find(in.peek()) != kPrefixes.npos; ++in.pos) raw = raw || in.peek() == 'r' || in.peek() == 'R';
  const char quote = in.peek();
  const std::string three(3, quote);
  const size_t n_quotes = co_await in.settle(three) == Match::Yes ? 3 : 1;
  const std::string_view end = std::string_view(three).substr(0, n_quotes);
  in.pos += n_quotes;
  out("\"");
  while (co_await in.more()) {
    const char c = in.peek();
    if (c == quote) {
      const Match m = co_await in.settle(end);
      if (m == Match::Beginning) co_return JsonEnd::Ended;
      if (m == Match::Yes) {
        in.pos += n_quotes;
        out("\"");
        co_return JsonEnd::Complete;
      }
    }
    if (c == '\\' && !raw) {
      if (co_await copy_escape(in, out) == JsonEnd::Ended) co_return JsonEnd::Ended;
      continue;
    }
    if (c == '\\' && !co_await in.more(2)) co_return JsonEnd::Ended;
    size_t n = c == '\\' && uint8_t(in.peek(1)) < 0x80 ? 2 : 1;
    const std::string_view rest = in.rest();
    while (n < rest.size() && rest[n] != quote && rest[n] != '\\') ++n;
    out(json_escape(rest.substr(0, n)));
    in.pos += n;
  }
  co_return JsonEnd::Ended;
}

}  // namespace tally::parse
