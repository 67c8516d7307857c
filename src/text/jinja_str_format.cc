// str.format and str.format_map, through the sandbox's rules of attribute access.
#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_format.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"

namespace tally::text::jinja {
namespace {

class FieldFormatter {
 public:
  FieldFormatter(Interp& in, Args& args, const Value& mapping, bool markup)
      : in_(in), args_(args), mapping_(mapping), markup_(markup) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 2) in_.fail(Err::Value, "Max string recursion exceeded");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if ((c == '{' || c == '}') && at + 1 < format.size() && format[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '{') {
        at = field(format, at + 1, depth, &out);
      } else if (c == '}') {
        in_.fail(Err::Value, "Single '}}' encountered in format string");
      } else {
        out += c;
        ++at;
      }
    }
    in_.step_bytes(out.size());
    return out;
  }

 private:
  // The field that starts behind a '{'; returns the offset behind its '}'.
  size_t field(std::string_view format, size_t at, int depth, std::string* out) {
    const size_t begin = at;
    size_t conversion = std::string::npos, spec = std::string::npos;
    int brackets = 0, open = 1;
    for (;; ++at) {
      if (at >= format.size())
        in_.fail(Err::Value, "{}",
                 at == begin ? "Single '{' encountered in format string" : "expected '}' before end of string");
      const char c = format[at];
      if (spec == std::string::npos) {
        if (c == '[') ++brackets;
        if (c == ']' && brackets > 0) --brackets;
        if (brackets > 0) continue;
        if (c == '{') in_.fail(Err::Value, "unexpected '{{' in field name");
        if (c == '!' && conversion == std::string::npos) conversion = at;
        if (c == ':') spec = at;
      } else if (c == '{') {
        ++open;
      }
      if (c == '}' && --open == 0) break;
    }
    const size_t end = at, name_end = std::min({conversion, spec, end});
    Value v = lookup(format.substr(begin, name_end - begin));
    if (conversion != std::string::npos) {
      const size_t stop = std::min(spec, end);
      if (stop - conversion != 2) in_.fail(Err::Value, "expected ':' after conversion specifier");
      v = convert(v, format[conversion + 1]);
    }
    const std::string spec_text =
        spec == std::string::npos ? "" : run(format.substr(spec + 1, end - spec - 1), depth + 1);
    append_field(v, spec_text, depth, out);
    return end + 1;
  }

  void append_field(const Value& v, const std::string& spec, int depth, std::string* out) {
    const bool safe = v.is_string() && v.as<StringObj>()->markup;
    if (markup_ && safe && !spec.empty()) in_.fail(Err::Value, "Unsupported format specification for Markup.");
    const std::string text = format_value(in_, v, spec);
    *out += markup_ && !safe && depth == 0 ? escape_html(text) : text;
  }

  Value convert(const Value& v, char how) {
    if (how == 's') return in_.str(to_str(in_, v));
    if (how == 'r') return in_.str(to_repr(in_, v));
    if (how == 'a') return in_.str(ascii_repr(to_repr(in_, v)));
    in_.fail(Err::Value, "Unknown conversion specifier {}", how);
  }

  static bool all_digits(std::string_view s) {
    for (char c : s)
      if (c < '0' || c > '9') return false;
    return !s.empty();
  }

  Value index(std::string_view digits) {
    if (digits.size() > 18) in_.fail(Err::Value, "Too many decimal digits in format string");
    return Value(static_cast<int64_t>(std::stoll(std::string(digits))));
  }

  Value lookup(std::string_view field) {
    const size_t first_end = std::min(field.find_first_of(".["), field.size());
    Value v = first(field.substr(0, first_end));
    for (size_t at = first_end; at < field.size();) {
      if (field[at] == '.') {
        const size_t end = std::min(field.find_first_of(".[", at + 1), field.size());
        if (end == at + 1) in_.fail(Err::Value, "Empty attribute in format string");
        v = get_attribute(in_, v, in_.str(std::string(field.substr(at + 1, end - at - 1))));
        at = end;
      } else if (field[at] == '[') {
        const size_t end = field.find(']', at);
        if (end == std::string::npos) in_.fail(Err::Value, "Missing ']' in format string");
        const auto key = field.substr(at + 1, end - at - 1);
        if (key.empty()) in_.fail(Err::Value, "Empty attribute in format string");
        v = get_item(in_, v, all_digits(key) ? index(key) : in_.str(std::string(key)));
        at = end + 1;
      } else {
        in_.fail(Err::Value, "Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return v;
  }

  Value first(std::string_view name) {
    if (name.empty() || all_digits(name)) {
      const bool automatic = name.empty();
      if (automatic ? manual_ : next_ > 0)
        in_.fail(Err::Value, "cannot switch from {} to {}",
                 automatic ? "manual field specification" : "automatic field numbering",
                 automatic ? "automatic field numbering" : "manual field specification");
      if (!automatic) manual_ = true;
      const int64_t i = automatic ? next_++ : index(name).integer();
      if (static_cast<size_t>(i) >= args_.pos.size())
        in_.fail(Err::Index, "Replacement index {} out of range for positional args tuple", i);
      return args_.pos[static_cast<size_t>(i)];
    }
    if (mapping_.is(Kind::Dict)) {
      const auto* dict = mapping_.as<DictObj>();
      if (const int64_t at = dict->find(name); at >= 0) return dict->entries[static_cast<size_t>(at)].value;
    }
    for (const auto& [key, value] : args_.kw)
      if (key.as<StringObj>()->text == name) return value;
    in_.fail(Err::Key, repr_of(name));
  }

  Interp& in_;
  Args& args_;
  const Value& mapping_;
  bool markup_, manual_ = false;
  int64_t next_ = 0;
};

}  // namespace

Value format_string(Interp& in, const StringObj& format, Args& args, bool is_map) {
  Value mapping;
  if (is_map) {
    if (!args.kw.empty()) in.fail(Err::Type, "format_map() takes no keyword arguments");
    if (args.pos.size() != 1) in.fail(Err::Type, "format_map() takes exactly one argument ({} given)", args.pos.size());
    mapping = args.pos[0];
    args.pos.clear();
  }
  return in.str(FieldFormatter(in, args, mapping, format.markup).run(format.text, 0), format.markup);
}

}  // namespace tally::text::jinja
