// Methods of str that make new texts.
#include <algorithm>

#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_strings.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

StringObj& text_of(const Value& self) { return *self.as<StringObj>(); }

void no_arguments(Interp& in, const char* name, Args& args) { bind(in, name, args, 0, {}, 0, nullptr); }

template <std::string (*f)(std::string_view)>
Value mapped(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "str method", args);
  in.step_bytes(text_of(self).text.size());
  return in.str(f(text_of(self).text), text_of(self).markup);
}

template <bool left, bool right>
Value strip(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "strip", args, {""}, 0);
  return strip_text(in, self, a[0], left, right);
}

template <Justify how>
Value justified(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "justify", args, {"", ""}, 1);
  return justify(in, self, a[0], a[1], how);
}

Value replace(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "replace", args, {"", "", ""}, 2);
  const StringObj& s = text_of(self);
  const std::string& from = string_of(in, a[0], "replace").text;
  string_of(in, a[1], "replace");
  const std::string to = s.markup ? escaped(in, a[1]) : a[1].as<StringObj>()->text;
  return in.str(replace_text(in, s.text, from, to, a[2].missing() ? -1 : index_of(in, a[2])), s.markup);
}

Value join(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "join", args, {""}, 1);
  const StringObj& s = text_of(self);
  std::string out;
  const auto it = iterate(in, a[0]);
  size_t i = 0;
  bool markup = s.markup;
  for (Value item; it->next(in, &item); ++i) {
    if (i > 0) out += s.text;
    if (s.markup) {
      out += escaped(in, item);
    } else {
      if (!item.is_string())
        in.fail(Err::Type, "sequence item {}: expected str instance, {} found", i, type_name(item));
      out += item.as<StringObj>()->text;
    }
    in.step_bytes(s.text.size() + 64);
    if (out.size() > in.limits.memory_bytes)
      in.fail(Err::Limit, "a text of more than {} bytes", in.limits.memory_bytes);
  }
  return in.str(std::move(out), markup);
}

Value expandtabs(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "expandtabs", args, {"tabsize"}, 0);
  const int64_t size = a[0].missing() ? 8 : index_of(in, a[0]);
  std::string out;
  int64_t column = 0;
  for (char c : text_of(self).text) {
    if (c == '\t') {
      const int64_t n = size > 0 ? size - column % size : 0;
      in.reserve(out.size() + static_cast<uint64_t>(n), 1);
      out.append(static_cast<size_t>(n), ' ');
      column += n;
    } else {
      out += c;
      if (c == '\n' || c == '\r')
        column = 0;
      else
        column += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }
  }
  return in.str(std::move(out), text_of(self).markup);
}

Value zfill(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "zfill", args, {""}, 1);
  StringObj& s = text_of(self);
  const int64_t width = index_of(in, a[0]), n = static_cast<int64_t>(s.length());
  if (width <= n) return self;
  in.reserve(static_cast<uint64_t>(width), 1);
  const bool sign = !s.text.empty() && (s.text[0] == '-' || s.text[0] == '+');
  std::string out = s.text;
  out.insert(sign ? 1 : 0, static_cast<size_t>(width - n), '0');
  return in.str(std::move(out), s.markup);
}

template <bool prefix>
Value remove(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, prefix ? "removeprefix" : "removesuffix", args, {""}, 1);
  const StringObj& s = text_of(self);
  const std::string& part = string_of(in, a[0], prefix ? "removeprefix" : "removesuffix").text;
  if (prefix ? !s.text.starts_with(part) : part.empty() || !s.text.ends_with(part)) return self;
  return in.str(prefix ? s.text.substr(part.size()) : s.text.substr(0, s.text.size() - part.size()), s.markup);
}

Value format(Interp& in, const Value& self, Args& args) { return format_string(in, text_of(self), args, false); }
Value format_map(Interp& in, const Value& self, Args& args) { return format_string(in, text_of(self), args, true); }

// str.translate with a dict from code points to code points, texts or None.
Value translate(Interp& in, const Value& self, Args& args) {
  const auto a = bind(in, "translate", args, {""}, 1);
  if (!a[0].is(Kind::Dict)) in.fail(Err::Type, "'{}' object is no translation table (a dict)", type_name(a[0]));
  const DictObj& table = *a[0].as<DictObj>();
  const std::string& text = text_of(self).text;
  std::string out;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const Value code(static_cast<int64_t>(char_at(text, at, &next)));
    const int64_t found = table.find(in, code, hash_value(in, code));
    if (found < 0) {
      out += text.substr(at, next - at);
      continue;
    }
    const Value& to = table.entries[static_cast<size_t>(found)].value;
    if (to.is_none()) continue;
    if (to.is_string())
      out += to.as<StringObj>()->text;
    else if (const int64_t c = index_of(in, to); c >= 0 && c <= 0x10FFFF && !(c >= 0xD800 && c < 0xE000))
      append_utf8(out, static_cast<uint32_t>(c));
    else
      in.fail(Err::Value, "character mapping must be in range(0x110000)");
    in.reserve(out.size(), 1);
  }
  return in.str(std::move(out), text_of(self).markup);
}

Value unescape(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "unescape", args);
  return in.str(unescape_html(text_of(self).text));
}
Value striptags(Interp& in, const Value& self, Args& args) {
  no_arguments(in, "striptags", args);
  return in.str(strip_tags(text_of(self).text));
}

constexpr Method kMethods[] = {{"upper", mapped<to_upper>},
                               {"lower", mapped<to_lower>},
                               {"title", mapped<to_title>},
                               {"swapcase", mapped<to_swapcase>},
                               {"capitalize", mapped<to_capitalized>},
                               {"casefold", mapped<to_casefold>},
                               {"strip", strip<true, true>},
                               {"lstrip", strip<true, false>},
                               {"rstrip", strip<false, true>},
                               {"ljust", justified<Justify::Left>},
                               {"rjust", justified<Justify::Right>},
                               {"center", justified<Justify::Center>},
                               {"replace", replace},
                               {"join", join},
                               {"expandtabs", expandtabs},
                               {"zfill", zfill},
                               {"removeprefix", remove<true>},
                               {"removesuffix", remove<false>},
                               {"format", format},
                               {"format_map", format_map},
                               {"translate", translate},
                               {"unescape", unescape},
                               {"striptags", striptags}};

}  // namespace

std::span<const Method> string_methods() { return kMethods; }

}  // namespace tally::text::jinja
