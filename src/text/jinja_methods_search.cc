// Methods of str that look into texts and cut them.
#include <algorithm>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_ops.h"
#include "text/jinja_strings.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {
namespace {

StringObj& text_of(const Value& self) { return *self.as<StringObj>(); }

// Bytes and characters of the optional [start, end) that find, count, startswith and others take.
struct Window {
  size_t begin, end;  // bytes
  bool valid;         // false: start is behind the end of the text
};

Window window(Interp& in, StringObj& s, const Value& start_value, const Value& end_value) {
  const int64_t n = static_cast<int64_t>(s.length());
  auto bound = [&](const Value& v, int64_t otherwise) {
    if (v.missing() || v.is_none()) return otherwise;
    const int64_t i = index_of(in, v);
    return i < 0 ? std::max<int64_t>(i < -n ? 0 : i + n, 0) : i;
  };
  const int64_t start = bound(start_value, 0), end = std::min(bound(end_value, n), n);
  if (start > end || start > n) return {0, 0, false};
  in.step_bytes(s.text.size());
  if (s.ascii()) return {static_cast<size_t>(start), static_cast<size_t>(end), true};
  return {byte_offset(s.text, static_cast<size_t>(start)), byte_offset(s.text, static_cast<size_t>(end)), true};
}

template <bool from_right, bool must>
Value find(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, must ? "index" : "find", args, {"", "", ""}, 1);
  StringObj& s = text_of(self);
  const std::string& part = string_of(in, a[0], "find").text;
  const Window w = window(in, s, a[1], a[2]);
  size_t at = std::string::npos;
  if (w.valid) {
    const std::string_view text = std::string_view(s.text).substr(w.begin, w.end - w.begin);
    at = from_right ? text.rfind(part) : text.find(part);
  }
  if (at == std::string::npos) {
    if (must) in.fail(Err::Value, "substring not found");
    return Value(-1);
  }
  return Value(s.ascii() ? w.begin + at : chars_before(s.text, w.begin + at));
}

Value count(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "count", args, {"", "", ""}, 1);
  StringObj& s = text_of(self);
  const std::string& part = string_of(in, a[0], "count").text;
  const Window w = window(in, s, a[1], a[2]);
  if (!w.valid) return Value(0);
  const std::string_view text = std::string_view(s.text).substr(w.begin, w.end - w.begin);
  if (part.empty()) return Value(count_chars(text) + 1);
  int64_t n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return Value(n);
}

template <bool at_end>
Value starts(Interp& in, const Value& self, Args& args) {
  const char* name = at_end ? "endswith" : "startswith";
  const auto a = bind(in, name, args, {"", "", ""}, 1);
  StringObj& s = text_of(self);
  std::vector<Value> parts;
  if (a[0].is(Kind::Tuple))
    parts = a[0].as<ListObj>()->items;
  else
    parts.push_back(a[0]);
  const Window w = a[1].missing() && a[2].missing() ? Window{0, s.text.size(), true} : window(in, s, a[1], a[2]);
  for (const auto& part : parts) {
    if (part.undefined()) in.fail_undefined(part);
    if (!part.is_string())
      in.fail(Err::Type, "{} first arg must be str or a tuple of str, not {}", name, type_name(part));
    const std::string_view text = w.valid ? std::string_view(s.text).substr(w.begin, w.end - w.begin) : "";
    const std::string& p = part.as<StringObj>()->text;
    in.step_bytes(p.size());
    if (w.valid && (at_end ? text.ends_with(p) : text.starts_with(p))) return Value(true);
  }
  return Value(false);
}

Value texts(Interp& in, const std::vector<std::string_view>& parts, bool markup) {
  std::vector<Value> items;
  in.reserve(parts.size(), sizeof(Value) + sizeof(StringObj));
  items.reserve(parts.size());
  for (auto part : parts) items.push_back(in.str(std::string(part), markup));
  return in.list(std::move(items));
}

// From the right, without a separator.
std::vector<std::string_view> rsplit_words(std::string_view text, int64_t max) {
  std::vector<std::string_view> words;
  text = strip_right(text);
  size_t next;
  while (!text.empty()) {
    if (max >= 0 && static_cast<int64_t>(words.size()) >= max) {
      words.push_back(strip_left(text));
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      const size_t at = previous_char(text, begin);
      if (is_space(char_at(text, at, &next))) break;
      begin = at;
    }
    words.push_back(text.substr(begin));
    text = strip_right(text.substr(0, begin));
  }
  std::reverse(words.begin(), words.end());
  return words;
}

std::vector<std::string_view> split_by(std::string_view text, std::string_view separator, int64_t max,
                                       bool from_right) {
  std::vector<std::string_view> parts;
  while (max < 0 || static_cast<int64_t>(parts.size()) < max) {
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    if (from_right) {
      parts.push_back(text.substr(at + separator.size()));
      text = text.substr(0, at);
    } else {
      parts.push_back(text.substr(0, at));
      text = text.substr(at + separator.size());
    }
  }
  parts.push_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool from_right>
Value split(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, from_right ? "rsplit" : "split", args, {"sep", "maxsplit"}, 0);
  const StringObj& s = text_of(self);
  const int64_t max = a[1].missing() ? -1 : index_of(in, a[1]);
  in.step_bytes(s.text.size());
  if (a[0].missing() || a[0].is_none())
    return texts(in, from_right ? rsplit_words(s.text, max) : split_words(s.text, max), s.markup);
  const std::string& separator = string_of(in, a[0], "split").text;
  if (separator.empty()) in.fail(Err::Value, "empty separator");
  return texts(in, split_by(s.text, separator, max, from_right), s.markup);
}

Value splitlines(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "splitlines", args, {"keepends"}, 0);
  return texts(in, split_lines(text_of(self).text, !a[0].missing() && truthy(a[0])), text_of(self).markup);
}

template <bool from_right>
Value partition(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, from_right ? "rpartition" : "partition", args, {""}, 1);
  const StringObj& s = text_of(self);
  const std::string& separator = string_of(in, a[0], "partition").text;
  if (separator.empty()) in.fail(Err::Value, "empty separator");
  in.step_bytes(s.text.size());
  const size_t at = from_right ? s.text.rfind(separator) : s.text.find(separator);
  auto piece = [&](std::string text) { return in.str(std::move(text), s.markup); };
  if (at == std::string::npos)
    return from_right ? in.tuple({piece(""), piece(""), piece(s.text)})
                      : in.tuple({piece(s.text), piece(""), piece("")});
  return in.tuple({piece(s.text.substr(0, at)), piece(separator), piece(s.text.substr(at + separator.size()))});
}

template <bool (*f)(uint32_t)>
Value all(Interp& in, const Value& self, Args& args) {
  bind(in, "str method", args, 0, {}, 0, nullptr);
  const std::string& text = text_of(self).text;
  in.step_bytes(text.size());
  for (size_t at = 0, next = 0; at < text.size(); at = next)
    if (!f(char_at(text, at, &next))) return Value(false);
  return Value(!text.empty());
}

Value isascii(Interp& in, const Value& self, Args& args) {
  bind(in, "isascii", args, 0, {}, 0, nullptr);
  return Value(text_of(self).ascii());
}
Value isprintable(Interp& in, const Value& self, Args& args) {
  if (text_of(self).text.empty()) return Value(true);
  return all<is_printable>(in, self, args);
}
template <bool upper>
Value iscased(Interp& in, const Value& self, Args& args) {
  bind(in, "str method", args, 0, {}, 0, nullptr);
  return Value(all_cased(text_of(self).text, upper));
}
Value isidentifier(Interp& in, const Value& self, Args& args) {
  bind(in, "isidentifier", args, 0, {}, 0, nullptr);
  return Value(is_identifier(text_of(self).text));
}

Value istitle(Interp& in, const Value& self, Args& args) {
  bind(in, "istitle", args, 0, {}, 0, nullptr);
  const std::string& text = text_of(self).text;
  bool any = false, in_word = false;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    const bool begins = is_upper(c) || is_title(c), follows = is_lower(c);
    if ((begins && in_word) || (follows && !in_word)) return Value(false);
    in_word = begins || follows;
    any = any || in_word;
  }
  return Value(any);
}

constexpr Method kMethods[] = {{"find", find<false, false>},
                               {"rfind", find<true, false>},
                               {"index", find<false, true>},
                               {"rindex", find<true, true>},
                               {"count", count},
                               {"startswith", starts<false>},
                               {"endswith", starts<true>},
                               {"split", split<false>},
                               {"rsplit", split<true>},
                               {"splitlines", splitlines},
                               {"partition", partition<false>},
                               {"rpartition", partition<true>},
                               {"isalpha", all<is_alpha>},
                               {"isalnum", all<is_alnum>},
                               {"isdigit", all<is_digit>},
                               {"isdecimal", all<is_decimal>},
                               {"isnumeric", all<is_numeric>},
                               {"isspace", all<is_space>},
                               {"isascii", isascii},
                               {"isprintable", isprintable},
                               {"isupper", iscased<true>},
                               {"islower", iscased<false>},
                               {"istitle", istitle},
                               {"isidentifier", isidentifier}};

}  // namespace

std::span<const Method> string_search_methods() { return kMethods; }

}  // namespace tally::text::jinja
