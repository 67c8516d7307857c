#include "text/jinja_strings.h"

#include <algorithm>

#include "text/jinja_ops.h"
#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

// A set of characters, fast for ASCII ones.
class CharSet {
 public:
  explicit CharSet(std::string_view chars) {
    for (size_t at = 0, next = 0; at < chars.size(); at = next) {
      const uint32_t c = char_at(chars, at, &next);
      if (c < 0x80)
        ascii_[c] = true;
      else
        others_.push_back(c);
    }
    std::sort(others_.begin(), others_.end());
  }
  bool has(uint32_t c) const { return c < 0x80 ? ascii_[c] : std::binary_search(others_.begin(), others_.end(), c); }

 private:
  bool ascii_[128] = {};
  std::vector<uint32_t> others_;
};

}  // namespace

Value strip_text(Interp& in, const Value& value, const Value& chars, bool left, bool right) {
  const StringObj& s = *value.as<StringObj>();
  std::string_view text = s.text;
  in.step_bytes(text.size());
  if (chars.missing() || chars.is_none()) {
    if (left) text = strip_left(text);
    if (right) text = strip_right(text);
  } else {
    if (!chars.is_string()) in.fail(Err::Type, "strip arg must be None or str");
    const CharSet set(chars.as<StringObj>()->text);
    size_t begin = 0, end = text.size(), next = 0;
    while (left && begin < end && set.has(char_at(text, begin, &next))) begin = next;
    while (right && end > begin) {
      const size_t at = previous_char(text, end);
      if (!set.has(char_at(text, at, &next))) break;
      end = at;
    }
    text = text.substr(begin, end - begin);
  }
  if (text.size() == s.text.size()) return value;
  return in.str(std::string(text), s.markup);
}

std::string replace_text(Interp& in, const std::string& text, const std::string& from, const std::string& to,
                         int64_t count) {
  std::string out;
  in.step_bytes(text.size());
  size_t at = 0;
  if (from.empty()) {  // before every character and at the end
    in.reserve(text.size() + (count < 0 ? text.size() + 1
                                        : static_cast<uint64_t>(
                                              std::min<int64_t>(count, static_cast<int64_t>(text.size()) + 1))) *
                                 to.size(),
               1);
    for (; count != 0; --count) {
      out += to;
      if (at >= text.size()) break;
      const size_t n = utf8_length(text[at]);
      out.append(text, at, n);
      at += n;
    }
  } else {
    for (; count != 0; --count) {
      const size_t found = text.find(from, at);
      if (found == std::string::npos) break;
      out.append(text, at, found - at);
      out += to;
      at = found + from.size();
      if (out.size() > in.limits.memory_bytes)
        in.fail(Err::Limit, "a text of more than {} bytes", in.limits.memory_bytes);
    }
  }
  in.step_bytes(out.size());
  if (at < text.size()) out.append(text, at);
  return out;
}

Value justify(Interp& in, const Value& value, const Value& width_value, const Value& fill_value, Justify how) {
  StringObj& s = *value.as<StringObj>();
  std::string fill = " ";
  if (!fill_value.missing()) {
    if (!fill_value.is_string() || fill_value.as<StringObj>()->length() != 1)
      in.fail(Err::Type, "The fill character must be exactly one character long");
    fill = fill_value.as<StringObj>()->text;
    if (s.markup && escape_html(fill) != fill)
      in.fail(Err::Type, "The fill character must be exactly one character long");
  }
  const int64_t width = index_of(in, width_value), n = static_cast<int64_t>(s.length());
  if (width <= n) return value;
  in.reserve(static_cast<uint64_t>(width), fill.size());
  const int64_t pad = width - n;
  // As CPython's str.center: the odd one goes left when width and padding are odd.
  const int64_t left = how == Justify::Left ? 0 : how == Justify::Right ? pad : pad / 2 + (pad & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += s.text;
  for (int64_t i = left; i < pad; ++i) out += fill;
  return in.str(std::move(out), s.markup);
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    const bool ends = (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!ends) continue;
    if (c == '\r' && next < text.size() && text[next] == '\n') ++next;
    lines.push_back(text.substr(start, (keep_ends ? next : at) - start));
    start = next;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

std::vector<std::string_view> split_words(std::string_view text, int64_t max) {
  std::vector<std::string_view> words;
  text = strip_left(text);
  while (!text.empty()) {
    if (max >= 0 && static_cast<int64_t>(words.size()) >= max) {
      words.push_back(strip_right(text));
      break;
    }
    size_t at = 0, next = 0;
    while (at < text.size() && !is_space(char_at(text, at, &next))) at = next;
    words.push_back(text.substr(0, at));
    text = strip_left(text.substr(at));
  }
  return words;
}

namespace {

struct Entity {
  const char* name;
  uint32_t code;
};
// The named references that text from models and tools contains; others stay as they are.
constexpr Entity kEntities[] = {
    {"amp", '&'},       {"lt", '<'},       {"gt", '>'},       {"quot", '"'},     {"apos", '\''},    {"nbsp", 0xA0},
    {"copy", 0xA9},     {"reg", 0xAE},     {"laquo", 0xAB},   {"raquo", 0xBB},   {"deg", 0xB0},     {"plusmn", 0xB1},
    {"para", 0xB6},     {"sect", 0xA7},    {"middot", 0xB7},  {"frac12", 0xBD},  {"frac14", 0xBC},  {"times", 0xD7},
    {"divide", 0xF7},   {"euro", 0x20AC},  {"pound", 0xA3},   {"yen", 0xA5},     {"cent", 0xA2},    {"szlig", 0xDF},
    {"agrave", 0xE0},   {"aacute", 0xE1},  {"acirc", 0xE2},   {"auml", 0xE4},    {"aring", 0xE5},   {"aelig", 0xE6},
    {"ccedil", 0xE7},   {"egrave", 0xE8},  {"eacute", 0xE9},  {"ecirc", 0xEA},   {"euml", 0xEB},    {"iacute", 0xED},
    {"ntilde", 0xF1},   {"oacute", 0xF3},  {"ocirc", 0xF4},   {"ouml", 0xF6},    {"uacute", 0xFA},  {"ucirc", 0xFB},
    {"uuml", 0xFC},     {"Auml", 0xC4},    {"Ouml", 0xD6},    {"Uuml", 0xDC},    {"Eacute", 0xC9},  {"ndash", 0x2013},
    {"mdash", 0x2014},  {"lsquo", 0x2018}, {"rsquo", 0x2019}, {"ldquo", 0x201C}, {"rdquo", 0x201D}, {"bull", 0x2022},
    {"hellip", 0x2026}, {"trade", 0x2122}, {"larr", 0x2190},  {"rarr", 0x2192},  {"harr", 0x2194},  {"le", 0x2264},
    {"ge", 0x2265},     {"ne", 0x2260},    {"infin", 0x221E}};

// The reference at text[at] = '&'; sets *next behind it. False: not one.
bool entity_at(std::string_view text, size_t at, uint32_t* code, size_t* next) {
  const size_t end = text.find(';', at);
  if (end == std::string_view::npos || end - at > 12 || end - at < 2) return false;
  const std::string_view name = text.substr(at + 1, end - at - 1);
  *next = end + 1;
  if (name[0] == '#') {
    const bool hex = name.size() > 1 && (name[1] | 32) == 'x';
    uint32_t value = 0;
    const auto digits = name.substr(hex ? 2 : 1);
    if (digits.empty()) return false;
    for (char c : digits) {
      const int d = c >= '0' && c <= '9'                        ? c - '0'
                    : hex && (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                : -1;
      if (d < 0) return false;
      value = std::min<uint32_t>(value * (hex ? 16 : 10) + static_cast<uint32_t>(d), 0x110000);
    }
    *code = value == 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) ? 0xFFFD : value;
    return true;
  }
  for (const auto& e : kEntities)
    if (name == e.name) {
      *code = e.code;
      return true;
    }
  return false;
}

}  // namespace

std::string unescape_html(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    uint32_t code;
    size_t next;
    if (text[at] == '&' && entity_at(text, at, &code, &next)) {
      append_utf8(out, code);
      at = next;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::string strip_tags(std::string_view text) {
  std::string kept;
  size_t at = 0;
  for (size_t start; (start = text.find('<', at)) != std::string_view::npos;) {
    const bool comment = text.substr(start, 4) == "<!--";
    size_t end = comment ? text.find("-->", start + 4) : text.find('>', start);
    if (end == std::string_view::npos) break;
    kept += text.substr(at, start - at);
    at = end + (comment ? 3 : 1);
  }
  kept += text.substr(at);
  std::string joined;
  for (auto word : split_words(kept, -1)) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  return unescape_html(joined);
}

}  // namespace tally::text::jinja
