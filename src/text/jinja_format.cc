// format(value, spec): Python's format specification mini-language.
#include "text/jinja_format.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "text/jinja_builtins.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {

std::string sign_text(bool negative, char sign) { return negative ? "-" : sign == '-' ? "" : std::string(1, sign); }

std::string ascii_repr(std::string_view text) {
  std::string out;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    if (c < 0x80)
      out += static_cast<char>(c);
    else
      out += c < 0x100     ? fmt::format("\\x{:02x}", c)
             : c < 0x10000 ? fmt::format("\\u{:04x}", c)
                           : fmt::format("\\U{:08x}", c);
  }
  return out;
}

namespace {

// %g with `precision` significant digits: fixed or scientific by the exponent, trailing zeros dropped unless alternate.
std::string general(double d, int precision, bool alternate, bool keep_point) {
  if (precision == 0) precision = 1;
  char buffer[512];
  auto r =
      std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific, std::min(precision - 1, 400));
  std::string s(buffer, r.ptr);
  const size_t e = s.find('e');
  const int exponent = std::atoi(s.c_str() + e + 1);
  std::string digits;
  for (char c : s.substr(0, e))
    if (c != '.') digits += c;
  std::string out;
  // Without a type a number is written like its repr: always with a point or an exponent.
  const int limit = keep_point ? precision - 1 : precision;
  const bool scientific = exponent < -4 || exponent >= std::max(limit, keep_point ? 1 : 0);
  if (!alternate)
    while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  if (scientific) {
    out = digits.substr(0, 1);
    if (digits.size() > 1 || alternate) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02d}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    out = digits + std::string(whole - digits.size(), '0');
    return alternate ? out + "." : keep_point ? out + ".0" : out;
  }
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

std::string real_digits(Interp& in, double d, char type, int precision, bool alternate) {
  const bool upper = type == 'E' || type == 'F' || type == 'G';
  std::string s;
  if (precision > 100'000) in.fail(Err::Value, "precision too big");
  if (std::isnan(d)) {
    s = "nan";
  } else if (std::isinf(d)) {
    s = "inf";
  } else if ((type | 32) == 'f' || type == '%') {
    s.resize(static_cast<size_t>(precision) + 400);
    const auto r =
        std::to_chars(s.data(), s.data() + s.size(), type == '%' ? d * 100 : d, std::chars_format::fixed, precision);
    s.resize(static_cast<size_t>(r.ptr - s.data()));
    if (alternate && precision == 0) s += '.';
  } else if ((type | 32) == 'e') {
    s.resize(static_cast<size_t>(precision) + 40);
    const auto r = std::to_chars(s.data(), s.data() + s.size(), d, std::chars_format::scientific, precision);
    s.resize(static_cast<size_t>(r.ptr - s.data()));
    if (alternate && precision == 0) s.insert(1, ".");
  } else {
    s = general(d, precision, alternate, type == 0);
  }
  if (upper)
    for (auto& c : s) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  if (type == '%') s += '%';
  return s;
}

std::string pad(Interp& in, std::string_view text, const FormatSpec& spec, char align) {
  const size_t n = count_chars(text), width = static_cast<size_t>(std::max(spec.width, 0));
  if (n >= width) return std::string(text);
  in.reserve(width, 4);
  const size_t fill = width - n, left = align == '>' ? fill : align == '^' ? fill / 2 : 0;
  std::string out;
  for (size_t i = 0; i < left; ++i) out += spec.fill;
  out += text;
  for (size_t i = left; i < fill; ++i) out += spec.fill;
  return out;
}

std::string pad_number(Interp& in, const std::string& prefix, const std::string& digits, const FormatSpec& spec,
                       char align, bool zeros) {
  if (align != '=') return pad(in, prefix + digits, spec, align);
  const size_t n = count_chars(prefix) + count_chars(digits), width = static_cast<size_t>(std::max(spec.width, 0));
  std::string out = prefix;
  if (n < width) in.reserve(width, 4);
  for (size_t i = n; i < width; ++i) out += zeros ? "0" : spec.fill;
  return out + digits;
}

namespace {

FormatSpec parse_spec(Interp& in, const std::string& s) {
  FormatSpec spec;
  size_t at = 0, next = 0;
  auto is_align = [](char c) { return c == '<' || c == '>' || c == '=' || c == '^'; };
  if (!s.empty()) char_at(s, 0, &next);
  if (next > 0 && next < s.size() && is_align(s[next])) {
    spec.fill = s.substr(0, next);
    spec.align = s[next];
    at = next + 1;
  } else if (!s.empty() && is_align(s[0])) {
    spec.align = s[at++];
  }
  auto skip = [&](char c) { return at < s.size() && s[at] == c ? (++at, true) : false; };
  auto number = [&] {
    int64_t n = 0;
    for (; at < s.size() && s[at] >= '0' && s[at] <= '9'; ++at)
      if ((n = n * 10 + (s[at] - '0')) > kWidthMax) in.fail(Err::Value, "Too many decimal digits in format string");
    return static_cast<int>(n);
  };
  for (char c : {'+', '-', ' '})
    if (skip(c)) {
      spec.sign = c;
      break;
    }
  skip('z');
  spec.alternate = skip('#');
  if (skip('0')) {
    if (!spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
  }
  spec.width = number();
  for (char c : {',', '_'})
    if (skip(c)) spec.grouping = c;
  if (skip('.')) {
    if (at >= s.size() || s[at] < '0' || s[at] > '9') in.fail(Err::Value, "Format specifier missing precision");
    spec.precision = number();
  }
  if (s.size() - at > 1) in.fail(Err::Value, "Invalid format specifier");
  if (at < s.size()) spec.type = s[at];
  return spec;
}

// Separators between groups of digits of the whole part; with '=' and zeros the padding is grouped too.
std::string group(const std::string& digits, char separator, int size, int width) {
  size_t whole = 0;
  while (whole < digits.size() && std::isxdigit(static_cast<unsigned char>(digits[whole]))) ++whole;
  const std::string tail = digits.substr(whole);
  std::string reversed;
  int n = 0;
  auto add = [&](char c) {
    if (n > 0 && n % size == 0) reversed += separator;
    reversed += c;
    ++n;
  };
  for (size_t i = whole; i-- > 0;) add(digits[i]);
  while (static_cast<int>(reversed.size() + tail.size()) < width) add('0');
  return std::string(reversed.rbegin(), reversed.rend()) + tail;
}

[[noreturn]] void unknown_code(Interp& in, char type, const Value& v) {
  in.fail(Err::Value, "Unknown format code '{}' for object of type '{}'", type, type_name(v));
}

std::string finish_number(Interp& in, std::string prefix, std::string digits, const FormatSpec& spec) {
  const char align = spec.align ? spec.align : '>';
  const bool zeros = align == '=' && spec.fill == "0";
  if (spec.grouping) {
    const bool by_four = spec.grouping == '_' && (spec.type == 'b' || (spec.type | 32) == 'x' || spec.type == 'o');
    in.reserve(static_cast<uint64_t>(spec.width) + digits.size() * 2, 1);
    digits = group(digits, spec.grouping, by_four ? 4 : 3, zeros ? spec.width - static_cast<int>(prefix.size()) : 0);
  }
  return pad_number(in, prefix, digits, spec, align, zeros);
}

std::string format_real(Interp& in, const Value& v, const FormatSpec& spec) {
  const double d = v.is(Kind::Float) ? v.real() : to_double(v);
  if (!v.is(Kind::Float) && std::isinf(d)) in.fail(Err::Overflow, "int too large to convert to float");
  const char type = spec.type == 'n' ? 'g' : spec.type;
  if (type != 0 && !std::strchr("eEfFgG%", type)) unknown_code(in, type, v);
  std::string digits;
  if (type == 0 && spec.precision < 0)
    digits = float_repr(std::fabs(d));
  else
    digits = real_digits(in, std::fabs(d), type, spec.precision < 0 ? 6 : spec.precision, spec.alternate);
  return finish_number(in, sign_text(std::signbit(d) && !std::isnan(d), spec.sign), std::move(digits), spec);
}

std::string format_integer(Interp& in, const Value& v, const FormatSpec& spec) {
  if (spec.type && std::strchr("eEfFgG%", spec.type)) return format_real(in, v, spec);
  if (spec.precision >= 0) in.fail(Err::Value, "Precision not allowed in integer format specifier");
  int base = 10;
  std::string prefix;
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n':
      break;
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'x':
      base = 16;
      prefix = "0x";
      break;
    case 'X':
      base = 16;
      prefix = "0X";
      break;
    case 'c': {
      if (!v.is_small_int() || v.integer() < 0 || v.integer() > 0x10FFFF ||
          (v.integer() >= 0xD800 && v.integer() < 0xE000))
        in.fail(Err::Overflow, "%c arg not in range(0x110000)");
      std::string s;
      append_utf8(s, static_cast<uint32_t>(v.integer()));
      return pad(in, s, spec, spec.align ? spec.align : '<');
    }
    default:
      unknown_code(in, spec.type, v);
  }
  if (spec.grouping == ',' && base != 10) in.fail(Err::Value, "Cannot specify ',' with '{}'.", spec.type);
  const BigInt big = to_big(v);
  std::string digits = (big.negative() ? -big : big).to_string(base);
  if (spec.type == 'X')
    for (auto& c : digits) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return finish_number(in, sign_text(big.negative(), spec.sign) + (spec.alternate ? prefix : ""), std::move(digits),
                       spec);
}

std::string format_text(Interp& in, const Value& v, const FormatSpec& spec) {
  if (spec.type && spec.type != 's') unknown_code(in, spec.type, v);
  if (spec.sign != '-') in.fail(Err::Value, "Sign not allowed in string format specifier");
  if (spec.alternate) in.fail(Err::Value, "Alternate form (#) not allowed in string format specifier");
  if (spec.grouping) in.fail(Err::Value, "Cannot specify '{}' with 's'.", spec.grouping);
  if (spec.align == '=' && spec.fill != "0")
    in.fail(Err::Value, "'=' alignment not allowed in string format specifier");
  std::string_view text = v.as<StringObj>()->text;
  if (spec.precision >= 0) text = text.substr(0, byte_offset(text, static_cast<size_t>(spec.precision)));
  return pad(in, text, spec, spec.align && spec.align != '=' ? spec.align : '<');
}

}  // namespace

std::string format_value(Interp& in, const Value& v, const std::string& text) {
  if (text.empty()) return to_str(in, v);
  if (!v.is_number() && !v.is_string())
    in.fail(Err::Type, "unsupported format string passed to {}.__format__", type_name(v));
  const FormatSpec spec = parse_spec(in, text);
  if (v.is_string()) return format_text(in, v, spec);
  return v.is(Kind::Float) ? format_real(in, v, spec) : format_integer(in, v, spec);
}

}  // namespace tally::text::jinja
