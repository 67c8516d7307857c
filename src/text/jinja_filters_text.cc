// Filters on texts.
#include <algorithm>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_ops.h"
#include "text/jinja_strings.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {

// str(v), but what is a text already stays as it is (and Markup stays Markup).
Value soft_str(Interp& in, const Value& v) { return v.is_string() ? v : in.str(to_str(in, v)); }

namespace {

Value mapped(Interp& in, const char* name, Args& args, std::string (*f)(std::string_view)) {
  const auto a = bind(in, name, args, {"s"}, 1);
  const Value s = soft_str(in, a[0]);
  in.step_bytes(s.as<StringObj>()->text.size());
  return in.str(f(s.as<StringObj>()->text), s.as<StringObj>()->markup);
}

Value upper(Interp& in, Args& args) { return mapped(in, "upper", args, to_upper); }
Value lower(Interp& in, Args& args) { return mapped(in, "lower", args, to_lower); }
Value capitalize(Interp& in, Args& args) { return mapped(in, "capitalize", args, to_capitalized); }

// Jinja's own rule: a word begins after - ( { [ < or whitespace.
std::string title_words(std::string_view text) {
  std::string out;
  size_t next = 0, word = 0;
  auto flush = [&](size_t end) {
    if (end <= word) return;
    size_t second;
    char_at(text, word, &second);
    out += to_upper(text.substr(word, second - word));
    out += to_lower(text.substr(second, end - second));
  };
  for (size_t at = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (c != '-' && c != '(' && c != '{' && c != '[' && c != '<' && !is_space(c)) continue;
    flush(at);
    out += text.substr(at, next - at);
    word = next;
  }
  flush(text.size());
  return out;
}

Value title(Interp& in, Args& args) {
  const auto a = bind(in, "title", args, {"s"}, 1);
  const Value s = soft_str(in, a[0]);
  in.step_bytes(s.as<StringObj>()->text.size());
  return in.str(title_words(s.as<StringObj>()->text));
}

Value trim(Interp& in, Args& args) {
  const auto a = bind(in, "trim", args, {"value", "chars"}, 1);
  return strip_text(in, soft_str(in, a[0]), a[1], true, true);
}

Value replace(Interp& in, Args& args) {
  const auto a = bind(in, "replace", args, {"s", "old", "new", "count"}, 3);
  const int64_t count = a[3].missing() || a[3].is_none() ? -1 : index_of(in, a[3]);
  return in.str(replace_text(in, to_str(in, a[0]), to_str(in, a[1]), to_str(in, a[2]), count));
}

Value center(Interp& in, Args& args) {
  const auto a = bind(in, "center", args, {"value", "width"}, 1);
  return justify(in, soft_str(in, a[0]), a[1].missing() ? Value(80) : a[1], Value(), Justify::Center);
}

Value string(Interp& in, Args& args) {
  const auto a = bind(in, "string", args, {"s"}, 1);
  return soft_str(in, a[0]);
}

Value wordcount(Interp& in, Args& args) {
  const auto a = bind(in, "wordcount", args, {"s"}, 1);
  const std::string text = to_str(in, a[0]);
  int64_t n = 0;
  bool inside = false;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const bool word = is_word(char_at(text, at, &next));
    n += word && !inside;
    inside = word;
  }
  return Value(n);
}

Value indent(Interp& in, Args& args) {
  const auto a = bind(in, "indent", args, {"s", "width", "first", "blank"}, 1);
  const Value s = binary(in, Op::Add, a[0], in.str("\n", a[0].is_string() && a[0].as<StringObj>()->markup));
  if (!s.is_string()) in.fail(Err::Attribute, "'{}' object has no attribute 'splitlines'", type_name(s));
  const StringObj& text = *s.as<StringObj>();
  std::string width = "    ";
  if (a[1].is_string()) {
    width = a[1].as<StringObj>()->text;
    if (text.markup && !a[1].as<StringObj>()->markup) width = a[1].as<StringObj>()->text;
  } else if (!a[1].missing()) {
    const int64_t n = std::max<int64_t>(0, index_of(in, a[1]));
    in.reserve(static_cast<uint64_t>(n), 1);
    width.assign(static_cast<size_t>(n), ' ');
  }
  const bool first = !a[2].missing() && truthy(a[2]), blank = !a[3].missing() && truthy(a[3]);
  const auto lines = split_lines(text.text, false);
  in.reserve(text.text.size() + lines.size() * width.size(), 1);
  std::string out = first ? width : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out += '\n';
      if (blank || !lines[i].empty()) out += width;
    }
    out += lines[i];
  }
  return in.str(std::move(out), text.markup);
}

Value truncate(Interp& in, Args& args) {
  const auto a = bind(in, "truncate", args, {"s", "length", "killwords", "end", "leeway"}, 1);
  const int64_t length = a[1].missing() ? 255 : index_of(in, a[1]),
                leeway = a[4].missing() || a[4].is_none() ? 5 : index_of(in, a[4]);
  const Value end = a[3].missing() ? in.str("...") : a[3];
  const int64_t n_end = static_cast<int64_t>(string_of(in, end, "truncate").length());
  if (length < n_end) in.fail(Err::Assertion, "expected length >= {}, got {}", n_end, length);
  if (leeway < 0) in.fail(Err::Assertion, "expected leeway >= 0, got {}", leeway);
  int64_t n = 0;
  if (!length_of(in, a[0], &n)) in.fail(Err::Type, "object of type '{}' has no len()", type_name(a[0]));
  if (n <= length || n - length <= leeway) return a[0];
  StringObj& s = string_of(in, a[0], "truncate");
  std::string head = s.text.substr(0, byte_offset(s.text, static_cast<size_t>(length - n_end)));
  if (a[2].missing() || !truthy(a[2]))
    if (const size_t space = head.rfind(' '); space != std::string::npos) head.resize(space);
  return binary(in, Op::Add, in.str(std::move(head), s.markup), end);
}

Value format(Interp& in, Args& args) {
  if (args.pos.size() > 1 && !args.kw.empty())
    in.fail(Err::FilterArgument, "can't handle positional and keyword arguments at the same time");
  const Value s = soft_str(in, args.pos[0]);
  if (args.kw.empty()) return percent_format(in, *s.as<StringObj>(), in.tuple({args.pos.begin() + 1, args.pos.end()}));
  auto mapping = in.dict();
  for (const auto& [key, value] : args.kw) mapping->set(in, key, hash_value(in, key), value);
  return percent_format(in, *s.as<StringObj>(), Value(mapping));
}

constexpr Builtin kFilters[] = {{"upper", upper},   {"lower", lower},       {"capitalize", capitalize},
                                {"title", title},   {"trim", trim},         {"replace", replace},
                                {"center", center}, {"string", string},     {"wordcount", wordcount},
                                {"indent", indent}, {"truncate", truncate}, {"format", format}};

}  // namespace

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace tally::text::jinja
