#include "text/jinja_text.h"

#include <charconv>
#include <cmath>

#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {

// Python's repr of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
std::string float_repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific);
  std::string s(buffer, r.ptr);
  const size_t e = s.find('e');
  const int exponent = std::atoi(s.c_str() + e + 1);
  std::string digits, sign;
  for (char c : s.substr(0, e)) {
    if (c == '-') sign = "-";
    if (c >= '0' && c <= '9') digits += c;
  }
  if (exponent < -4 || exponent >= 16) {
    std::string out = sign + digits[0];
    if (digits.size() > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02d}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string repr_of(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos, twice = text.find('"') != std::string_view::npos;
  const char quote = single && !twice ? '"' : '\'';
  std::string out(1, quote);
  out.reserve(text.size() + 2);
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (c == static_cast<uint32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(at, next - at);
    } else {
      out += c < 0x100     ? fmt::format("\\x{:02x}", c)
             : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                           : fmt::format("\\U{:08x}", c);
    }
  }
  return out + quote;
}

namespace {

void append_items(Interp& in, const std::vector<Value>& items, char open, char close, std::string* out) {
  *out += open;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) *out += ", ";
    append_repr(in, items[i], out);
  }
  if (close == ')' && items.size() == 1) *out += ',';
  *out += close;
}

void append_dict(Interp& in, const DictObj& dict, std::string* out) {
  *out += '{';
  bool first = true;
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    const auto& e = dict.entries[i];
    if (!e.live()) continue;
    if (!first) *out += ", ";
    first = false;
    append_repr(in, e.key, out);
    *out += ": ";
    append_repr(in, e.value, out);
  }
  *out += '}';
}

void append_view(Interp& in, const ViewObj& view, std::string* out) {
  *out += view.what == ViewObj::What::Keys     ? "dict_keys("
          : view.what == ViewObj::What::Values ? "dict_values("
                                               : "dict_items(";
  std::vector<Value> items;
  if (view.dict)
    for (size_t i = 0; i < view.dict->entries.size(); ++i)
      if (view.dict->entries[i].live()) items.push_back(item_of_dict(in, *view.dict, i, view.what));
  append_items(in, items, '[', ']', out);
  *out += ')';
}

void append_object(Interp& in, const Value& v, std::string* out) {
  switch (v.kind()) {
    case Kind::Macro: {
      const FunctionInfo& f = *v.as<MacroObj>()->stmt->function;
      *out += v.as<MacroObj>()->stmt->kind == StmtKind::Macro ? fmt::format("<Macro {}>", repr_of(f.name))
                                                              : "<Macro anonymous>";
      break;
    }
    case Kind::Loop:
      *out += fmt::format("<LoopContext {}/{}>", v.as<LoopObj>()->index0 + 1, v.as<LoopObj>()->length(in));
      break;
    case Kind::Function:
      *out += fmt::format("<function {}>", v.as<FunctionObj>()->name);
      break;
    case Kind::Method:
      *out += fmt::format("<built-in method {} of {} object>", v.as<MethodObj>()->method->name,
                          type_name(v.as<MethodObj>()->self));
      break;
    case Kind::Slice: {
      const SliceObj& s = *v.as<SliceObj>();
      *out += fmt::format("slice({}, {}, {})", to_repr(in, s.start), to_repr(in, s.stop), to_repr(in, s.step));
      break;
    }
    default:
      *out += fmt::format("<{} object>", type_name(v));
  }
}

}  // namespace

void append_repr(Interp& in, const Value& v, std::string* out) {
  const Interp::Nested nested(in);
  in.step();
  if (out->size() > in.limits.memory_bytes) in.fail(Err::Limit, "a text of more than {} bytes", in.limits.memory_bytes);
  switch (v.kind()) {
    case Kind::None:
      *out += "None";
      break;
    case Kind::Missing:
      *out += "missing";
      break;
    case Kind::Undefined:
      *out += "Undefined";
      break;
    case Kind::Bool:
      *out += v.boolean() ? "True" : "False";
      break;
    case Kind::Int:
      *out += std::to_string(v.integer());
      break;
    case Kind::BigInt:
      *out += v.as<BigIntObj>()->value.to_string();
      break;
    case Kind::Float:
      *out += float_repr(v.real());
      break;
    case Kind::String: {
      const StringObj& s = *v.as<StringObj>();
      in.step_bytes(s.text.size());
      *out += s.markup ? "Markup(" + repr_of(s.text) + ")" : repr_of(s.text);
      break;
    }
    case Kind::List:
      append_items(in, v.as<ListObj>()->items, '[', ']', out);
      break;
    case Kind::Tuple:
      append_items(in, v.as<ListObj>()->items, '(', ')', out);
      break;
    case Kind::Dict:
      append_dict(in, *v.as<DictObj>(), out);
      break;
    case Kind::Namespace:
      *out += "<Namespace ";
      append_dict(in, *v.as<DictObj>(), out);
      *out += '>';
      break;
    case Kind::Range: {
      const RangeObj& r = *v.as<RangeObj>();
      *out += r.step == 1 ? fmt::format("range({}, {})", r.start, r.stop)
                          : fmt::format("range({}, {}, {})", r.start, r.stop, r.step);
      break;
    }
    case Kind::View:
      append_view(in, *v.as<ViewObj>(), out);
      break;
    default:
      append_object(in, v, out);
  }
}

void append_str(Interp& in, const Value& v, std::string* out) {
  if (v.is_string()) {
    in.step_bytes(v.as<StringObj>()->text.size());
    *out += v.as<StringObj>()->text;
  } else if (!v.undefined()) {
    append_repr(in, v, out);
  }
}

std::string to_str(Interp& in, const Value& v) {
  std::string out;
  append_str(in, v, &out);
  return out;
}

std::string to_repr(Interp& in, const Value& v) {
  std::string out;
  append_repr(in, v, &out);
  return out;
}

}  // namespace tally::text::jinja
