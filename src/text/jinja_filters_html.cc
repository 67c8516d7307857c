// Filters for HTML and URLs.
#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_strings.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {
namespace {

Value escape(Interp& in, Args& args) {
  const auto a = bind(in, "escape", args, {"s"}, 1);
  return in.str(escaped(in, a[0]), true);
}

Value forceescape(Interp& in, Args& args) {
  const auto a = bind(in, "forceescape", args, {"value"}, 1);
  return in.str(escape_html(to_str(in, a[0])), true);
}

Value safe(Interp& in, Args& args) {
  const auto a = bind(in, "safe", args, {"value"}, 1);
  return in.str(to_str(in, a[0]), true);
}

Value striptags(Interp& in, Args& args) {
  const auto a = bind(in, "striptags", args, {"value"}, 1);
  return in.str(strip_tags(to_str(in, a[0])));
}

std::string quote(std::string_view text, bool query) {
  std::string out;
  for (char c : text) {
    const bool plain =
        (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '.' || c == '-' || c == '~';
    if (plain || (c == '/' && !query))
      out += c;
    else if (c == ' ' && query)
      out += '+';
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Value urlencode(Interp& in, Args& args) {
  const auto a = bind(in, "urlencode", args, {"value"}, 1);
  if (a[0].is_string() || !is_iterable(a[0])) return in.str(quote(to_str(in, a[0]), false));
  const Value items =
      a[0].is(Kind::Dict) ? Value(in.heap.make<ViewObj>(Ref<DictObj>(a[0].as<DictObj>()), ViewObj::What::Items)) : a[0];
  std::string out;
  const auto it = iterate(in, items);
  for (Value item; it->next(in, &item);) {
    const auto pair = to_vector(in, item);
    if (pair.size() != 2)
      in.fail(Err::Value, "{} values to unpack (expected 2)", pair.size() < 2 ? "not enough" : "too many");
    if (!out.empty()) out += '&';
    out += quote(to_str(in, pair[0]), true) + "=" + quote(to_str(in, pair[1]), true);
  }
  return in.str(std::move(out));
}

Value xmlattr(Interp& in, Args& args) {
  const auto a = bind(in, "xmlattr", args, {"d", "autospace"}, 1);
  if (a[0].undefined()) in.fail_undefined(a[0]);
  if (!a[0].is(Kind::Dict)) in.fail(Err::Attribute, "'{}' object has no attribute 'items'", type_name(a[0]));
  std::string out;
  for (const auto& e : a[0].as<DictObj>()->entries) {
    if (!e.live() || e.value.is_none() || e.value.undefined()) continue;
    if (!e.key.is_string()) in.fail(Err::Type, "expected string or bytes-like object, got '{}'", type_name(e.key));
    const std::string& key = e.key.as<StringObj>()->text;
    if (key.find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      in.fail(Err::Value, "Invalid character in attribute name: {}", repr_of(key));
    if (!out.empty()) out += ' ';
    out += escaped(in, e.key) + "=\"" + escaped(in, e.value) + "\"";
  }
  const bool space = a[1].missing() || truthy(a[1]);
  return in.str(space && !out.empty() ? " " + out : out);
}

constexpr Builtin kFilters[] = {{"escape", escape},           {"e", escape},
                                {"forceescape", forceescape}, {"safe", safe},
                                {"striptags", striptags},     {"urlencode", urlencode},
                                {"xmlattr", xmlattr}};

}  // namespace

std::span<const Builtin> html_filters() { return kFilters; }

}  // namespace tally::text::jinja
