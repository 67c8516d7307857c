// Filters that lay out text: wordwrap (Python's textwrap) and pprint.
#include <algorithm>

#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_strings.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {
namespace {

using Codes = std::u32string;

Codes decode(std::string_view text) {
  Codes out;
  for (size_t at = 0, next = 0; at < text.size(); at = next) out += char_at(text, at, &next);
  return out;
}

bool wrap_space(char32_t c) { return c == ' ' || (c >= 9 && c <= 13); }

// Chunks between which a line may break: runs of spaces, words, and parts of words behind hyphens or around dashes.
// Follows the expression textwrap.TextWrapper.wordsep_re.
std::vector<Codes> split_chunks(const Codes& s, bool hyphens) {
  std::vector<Codes> chunks;
  auto letter = [&](size_t i) { return i < s.size() && is_word(s[i]) && !is_decimal(s[i]); };
  auto punct = [&](size_t i) {
    return i < s.size() && (is_word(s[i]) || s[i] == '!' || s[i] == '"' || s[i] == '\'' || s[i] == '&' || s[i] == '.' ||
                            s[i] == ',' || s[i] == '?');
  };
  for (size_t at = 0; at < s.size();) {
    size_t end = at + 1;
    if (wrap_space(s[at])) {
      while (end < s.size() && wrap_space(s[end])) ++end;
    } else if (hyphens && s[at] == '-' && at + 1 < s.size() && s[at + 1] == '-' && at > 0 && punct(at - 1)) {
      // an em dash between words
      while (end < s.size() && s[end] == '-') ++end;
      if (!(end < s.size() && is_word(s[end])))
        while (end < s.size() && !wrap_space(s[end])) ++end;
    } else {
      for (; end < s.size() && !wrap_space(s[end]); ++end) {
        if (!hyphens) continue;
        if (s[end] == '-' && end + 1 < s.size() && s[end + 1] == '-' && punct(end - 1)) {
          size_t dash = end;
          while (dash < s.size() && s[dash] == '-') ++dash;
          if (dash < s.size() && is_word(s[dash])) break;
        }
        // hyphenated word: two letters (or letter, hyphen) before, letters after
        if (s[end] == '-' && end >= 2 && letter(end - 1) &&
            (letter(end - 2) || (end >= 3 && s[end - 2] == '-' && letter(end - 3))) && end - 1 >= at &&
            letter(end + 1) && (letter(end + 2) || (end + 2 < s.size() && s[end + 2] == '-'))) {
          ++end;
          break;
        }
      }
    }
    chunks.push_back(s.substr(at, end - at));
    at = end;
  }
  return chunks;
}

std::string encode(const Codes& s) {
  std::string out;
  for (char32_t c : s) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else {
      if (c >= 0x10000)
        out += static_cast<char>(0xF0 | c >> 18), out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
      else if (c >= 0x800)
        out += static_cast<char>(0xE0 | c >> 12);
      if (c < 0x800)
        out += static_cast<char>(0xC0 | c >> 6);
      else
        out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return out;
}

bool blank(const Codes& s) {
  return std::all_of(s.begin(), s.end(), [](char32_t c) { return is_space(c); });
}

// textwrap.wrap of one line with drop_whitespace.
std::vector<std::string> wrap_line(Interp& in, std::string_view line, size_t width, bool break_long, bool hyphens) {
  auto chunks = split_chunks(decode(line), hyphens);
  std::reverse(chunks.begin(), chunks.end());
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    in.step(chunks.back().size() / 64 + 1);
    std::vector<Codes> current;
    size_t length = 0;
    if (blank(chunks.back()) && !lines.empty()) chunks.pop_back();
    while (!chunks.empty() && length + chunks.back().size() <= width) {
      length += chunks.back().size();
      current.push_back(std::move(chunks.back()));
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().size() > width) {
      const size_t space = width - length;
      if (break_long) {
        size_t end = std::max<size_t>(space, width < 1 ? 1 : 0);
        Codes& chunk = chunks.back();
        if (hyphens && chunk.size() > space && space > 0) {
          const size_t hyphen = chunk.rfind('-', space - 1);
          if (hyphen != Codes::npos && hyphen > 0 &&
              std::any_of(chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(hyphen),
                          [](char32_t c) { return c != '-'; }))
            end = hyphen + 1;
        }
        current.push_back(chunk.substr(0, end));
        chunk.erase(0, end);
      } else if (current.empty()) {
        current.push_back(std::move(chunks.back()));
        chunks.pop_back();
      }
    }
    if (!current.empty() && blank(current.back())) current.pop_back();
    if (current.empty()) continue;
    std::string text;
    for (const auto& c : current) text += encode(c);
    lines.push_back(std::move(text));
  }
  return lines;
}

Value wordwrap(Interp& in, Args& args) {
  const auto a = bind(in, "wordwrap", args, {"s", "width", "break_long_words", "wrapstring", "break_on_hyphens"}, 1);
  const StringObj& s = string_of(in, a[0], "wordwrap");
  const int64_t width = a[1].missing() ? 79 : index_of(in, a[1]);
  if (width <= 0) in.fail(Err::Value, "invalid width {} (must be > 0)", width);
  const std::string separator = a[3].missing() || a[3].is_none() ? "\n" : string_of(in, a[3], "wordwrap").text;
  const bool break_long = a[2].missing() || truthy(a[2]), hyphens = a[4].missing() || truthy(a[4]);
  std::string out;
  bool first = true;
  in.step_bytes(s.text.size() * 8);
  for (auto line : split_lines(s.text, false)) {
    const auto wrapped = wrap_line(in, line, static_cast<size_t>(width), break_long, hyphens);
    if (!first) out += separator;
    first = false;
    for (size_t i = 0; i < wrapped.size(); ++i) out += (i ? separator : "") + wrapped[i];
    if (out.size() > in.limits.memory_bytes)
      in.fail(Err::Limit, "a text of more than {} bytes", in.limits.memory_bytes);
  }
  return in.str(std::move(out), s.markup);
}

// Python's pprint.pformat with a width of 80: what does not fit goes one item a line; dicts are sorted by key.
class PrettyPrinter {
 public:
  explicit PrettyPrinter(Interp& in) : in_(in) {}
  void format(const Value& v, size_t indent, size_t allowance, std::string* out, int level = 1) {
    const Interp::Nested nested(in_);
    in_.step();
    const std::string flat = flat_repr(v);
    if (count_chars(flat) + indent + allowance <= kWidth) {
      *out += flat;
    } else if (v.is_string() && !v.as<StringObj>()->text.empty() && !v.as<StringObj>()->markup) {
      format_text(v.as<StringObj>()->text, indent, allowance, level, out);
    } else if (!splits(v)) {
      *out += flat;
    } else if (v.is(Kind::Dict)) {
      format_dict(v, indent, allowance, level, out);
    } else {
      const auto& items = v.as<ListObj>()->items;
      *out += v.is(Kind::List) ? "[" : "(";
      const std::string end = v.is(Kind::List) ? "]" : items.size() == 1 ? ",)" : ")";
      for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) *out += ",\n" + std::string(indent + 1, ' ');
        format(items[i], indent + 1, i + 1 == items.size() ? allowance + end.size() : 1, out, level + 1);
      }
      *out += end;
    }
  }

 private:
  static constexpr size_t kWidth = 80;

  // A long text as several literals, cut at line ends and behind spaces; the topmost one in parentheses.
  void format_text(const std::string& text, size_t indent, size_t allowance, int level, std::string* out) {
    if (level == 1) ++indent, ++allowance;
    const size_t width = kWidth > indent ? kWidth - indent : 0, last_width = width > allowance ? width - allowance : 0;
    std::vector<std::string> chunks;
    const auto lines = split_lines(text, true);
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool last = i + 1 == lines.size();
      std::string whole = repr_of(lines[i]);
      if (count_chars(whole) <= (last ? last_width : width))
        chunks.push_back(std::move(whole));
      else
        cut_line(lines[i], width, last ? last_width : width, &chunks);
    }
    const bool several = chunks.size() > 1;
    if (several && level == 1) *out += '(';
    for (size_t i = 0; i < chunks.size(); ++i) *out += (i ? "\n" + std::string(indent, ' ') : "") + chunks[i];
    if (several && level == 1) *out += ')';
  }

  void cut_line(std::string_view line, size_t width, size_t last_width, std::vector<std::string>* chunks) {
    std::string current;
    for (size_t at = 0; at < line.size();) {
      size_t end = at, next = 0;
      while (end < line.size() && !is_space(char_at(line, end, &next))) end = next;
      while (end < line.size() && is_space(char_at(line, end, &next))) end = next;
      const std::string candidate = current + std::string(line.substr(at, end - at));
      in_.step_bytes(candidate.size());
      if (count_chars(repr_of(candidate)) > (end >= line.size() ? last_width : width)) {
        if (!current.empty()) chunks->push_back(repr_of(current));
        current = line.substr(at, end - at);
      } else {
        current = candidate;
      }
      at = end;
    }
    if (!current.empty()) chunks->push_back(repr_of(current));
  }

  static bool splits(const Value& v) {
    return (v.is(Kind::Dict) && v.as<DictObj>()->size() > 0) ||
           (v.is_sequence() && !v.as<ListObj>()->group && !v.as<ListObj>()->items.empty());
  }

  std::vector<std::pair<Value, Value>> sorted(const Value& v) {
    std::vector<std::pair<Value, Value>> items;
    for (const auto& e : v.as<DictObj>()->entries)
      if (e.live()) items.emplace_back(e.key, e.value);
    sort_values(in_, &items, false);
    return items;
  }

  std::string flat_repr(const Value& v) {
    const Interp::Nested nested(in_);
    std::string out;
    if (v.is(Kind::Dict)) {
      for (const auto& [key, value] : sorted(v))
        out += (out.empty() ? "" : ", ") + flat_repr(key) + ": " + flat_repr(value);
      return "{" + out + "}";
    }
    if (v.is_sequence()) {
      const auto& items = v.as<ListObj>()->items;
      for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + flat_repr(items[i]);
      return v.is(Kind::List) ? "[" + out + "]" : "(" + out + (items.size() == 1 ? ",)" : ")");
    }
    return to_repr(in_, v);
  }

  void format_dict(const Value& v, size_t indent, size_t allowance, int level, std::string* out) {
    const auto items = sorted(v);
    *out += '{';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) *out += ",\n" + std::string(indent + 1, ' ');
      const std::string key = flat_repr(items[i].first);
      *out += key + ": ";
      format(items[i].second, indent + count_chars(key) + 3, i + 1 == items.size() ? allowance + 1 : 1, out, level + 1);
    }
    *out += '}';
  }

  Interp& in_;
};

Value pprint(Interp& in, Args& args) {
  const auto a = bind(in, "pprint", args, {"value"}, 1);
  std::string out;
  PrettyPrinter(in).format(a[0], 0, 0, &out);
  return in.str(std::move(out));
}

constexpr Builtin kFilters[] = {{"wordwrap", wordwrap}, {"pprint", pprint}};

}  // namespace

std::span<const Builtin> wrap_filters() { return kFilters; }

}  // namespace tally::text::jinja
