// printf-style formatting: "%s is %05.2f" % (a, b), as str.__mod__ does.
#include <cmath>

#include "text/jinja_access.h"
#include "text/jinja_format.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

class Formatter {
 public:
  Formatter(Interp& in, const StringObj& format, const Value& arguments)
      : in_(in), format_(format.text), markup_(format.markup), arguments_(arguments) {
    // As in Python: anything with items, but neither a tuple nor a text, may be a mapping.
    switch (arguments.kind()) {
      case Kind::Dict:
      case Kind::List:
      case Kind::Undefined:
      case Kind::Range:
        mapping_ = true;
        break;
      default:
        break;
    }
  }

  Value run() {
    while (at_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_.append(format_, at_, percent - at_);
      at_ = percent;
      if (at_ < format_.size()) conversion();
    }
    const bool left =
        arguments_.is(Kind::Tuple) ? n_used_ < arguments_.as<ListObj>()->items.size() : !mapping_ && n_used_ == 0;
    if (left) in_.fail(Err::Type, "not all arguments converted during string formatting");
    in_.step_bytes(out_.size());
    return in_.str(std::move(out_), markup_);
  }

 private:
  Value next_argument() {
    if (keyed_.missing()) {
      if (arguments_.is(Kind::Tuple)) {
        const auto& items = arguments_.as<ListObj>()->items;
        if (n_used_ < items.size()) return items[n_used_++];
      } else if (n_used_++ == 0) {
        return arguments_;
      }
      in_.fail(Err::Type, "not enough arguments for format string");
    }
    return keyed_;
  }

  char peek() const {
    if (at_ >= format_.size()) in_.fail(Err::Value, "incomplete format");
    return format_[at_];
  }

  int number(const char* what) {
    if (peek() == '*') {
      ++at_;
      const Value v = next_argument();
      if (!v.is_small_int()) in_.fail(Err::Type, "* wants int");
      const int64_t n = v.integer();
      if (n > kWidthMax || n < -kWidthMax) in_.fail(Err::Value, "{} too big", what);
      return static_cast<int>(n);
    }
    int64_t n = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_)
      if ((n = n * 10 + (peek() - '0')) > kWidthMax) in_.fail(Err::Value, "{} too big", what);
    return static_cast<int>(n);
  }

  void key() {
    ++at_;
    const size_t start = at_;
    for (int depth = 1; depth > 0; ++at_) {
      if (at_ >= format_.size()) in_.fail(Err::Value, "incomplete format key");
      if (format_[at_] == '(') ++depth;
      if (format_[at_] == ')') --depth;
    }
    if (!mapping_) in_.fail(Err::Type, "format requires a mapping");
    if (arguments_.undefined()) in_.fail_undefined(arguments_);
    if (!arguments_.is(Kind::Dict)) in_.fail(Err::Type, "list indices must be integers or slices, not str");
    const std::string name = format_.substr(start, at_ - start - 1);
    const int64_t found = arguments_.as<DictObj>()->find(name);
    if (found < 0) in_.fail(Err::Key, repr_of(name));
    keyed_ = arguments_.as<DictObj>()->entries[static_cast<size_t>(found)].value;
    n_used_ = 1;
  }

  void conversion() {
    ++at_;
    keyed_ = Value();
    FormatSpec spec;
    spec.align = '>';
    if (peek() == '(') key();
    bool left = false, zero = false;
    for (;; ++at_) {
      const char c = peek();
      if (c == '-')
        left = true;
      else if (c == '0')
        zero = true;
      else if (c == '+')
        spec.sign = '+';
      else if (c == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (c == '#')
        spec.alternate = true;
      else
        break;
    }
    spec.width = number("width");
    if (spec.width < 0) {
      left = true;
      spec.width = -spec.width;
    }
    if (peek() == '.') {
      ++at_;
      spec.precision = std::max(number("precision"), 0);
    }
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    spec.type = peek();
    if (spec.type != '%' || spec.width || left) spec.fill = " ";
    size_t next;
    const uint32_t code = char_at(format_, at_, &next);
    if (code >= 0x80) spec.type = '?';
    at_ = next;
    if (left) spec.align = '<';
    convert(spec, zero && !left, code);
  }

  void convert(FormatSpec& spec, bool zero, uint32_t code) {
    switch (spec.type) {
      case '%':
        out_ += '%';
        return;
      case 's':
      case 'r':
      case 'a':
        return text(spec);
      case 'c':
        return character(spec);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return integer(spec, zero);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return real(spec, zero);
      default:
        in_.fail(Err::Value, "unsupported format character '{}' (0x{:x}) at index {}",
                 code < 0x80 ? static_cast<char>(code) : '?', code, chars_before(format_, at_) - 1);
    }
  }

  void text(const FormatSpec& spec) {
    const Value v = next_argument();
    std::string s = spec.type == 's' ? to_str(in_, v) : to_repr(in_, v);
    if (spec.type == 'a') s = ascii_repr(s);
    if (markup_) s = spec.type == 's' ? escaped(in_, v) : escape_html(s);
    if (spec.precision >= 0) s.resize(byte_offset(s, static_cast<size_t>(spec.precision)));
    out_ += pad(in_, s, spec, spec.align);
  }

  void character(const FormatSpec& spec) {
    const Value v = next_argument();
    std::string s;
    if (v.is_string() && v.as<StringObj>()->length() == 1) {
      s = v.as<StringObj>()->text;
    } else if (v.is_small_int()) {
      const int64_t c = v.integer();
      if (c < 0 || c > 0x10FFFF) in_.fail(Err::Overflow, "%c arg not in range(0x110000)");
      if (c >= 0xD800 && c < 0xE000) in_.fail(Err::Value, "%c arg is half of a surrogate pair");
      append_utf8(s, static_cast<uint32_t>(c));
    } else {
      in_.fail(Err::Type, "%c requires int or char");
    }
    out_ += pad(in_, s, spec, spec.align);
  }

  void integer(FormatSpec& spec, bool zero) {
    Value v = next_argument();
    const bool strict = spec.type == 'o' || spec.type == 'x' || spec.type == 'X';
    if (v.undefined()) in_.fail_undefined(v);
    if (v.is(Kind::Float) && !strict) {
      if (!std::isfinite(v.real()))
        in_.fail(std::isnan(v.real()) ? Err::Value : Err::Overflow, "cannot convert float {} to integer",
                 std::isnan(v.real()) ? "NaN" : "infinity");
      v = in_.integer(BigInt::from_double(std::trunc(v.real())));
    }
    if (!v.is_int()) {
      if (strict) in_.fail(Err::Type, "%{} format: an integer is required, not {}", spec.type, type_name(v));
      in_.fail(Err::Type, "%{} format: a real number is required, not {}", spec.type, type_name(v));
    }
    const BigInt big = to_big(v);
    const int base = spec.type == 'o' ? 8 : (spec.type | 32) == 'x' ? 16 : 10;
    std::string digits = (big.negative() ? -big : big).to_string(base);
    if (spec.precision > static_cast<int>(digits.size()))
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    std::string prefix = sign_text(big.negative(), spec.sign);
    if (spec.alternate && base != 10) prefix += base == 8 ? "0o" : "0x";
    if (spec.type == 'X')
      for (auto* part : {&digits, &prefix})
        for (auto& c : *part) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    out_ += pad_number(in_, prefix, digits, spec, zero ? '=' : spec.align, zero);
  }

  void real(FormatSpec& spec, bool zero) {
    const Value v = next_argument();
    if (v.undefined()) in_.fail_undefined(v);
    if (!v.is_number()) in_.fail(Err::Type, "must be real number, not {}", type_name(v));
    const double d = v.is(Kind::Float) ? v.real() : to_double(v);
    if (spec.precision < 0) spec.precision = 6;
    const std::string digits = real_digits(in_, std::fabs(d), spec.type, spec.precision, spec.alternate);
    out_ += pad_number(in_, sign_text(std::signbit(d) && !std::isnan(d), spec.sign), digits, spec,
                       zero ? '=' : spec.align, zero);
  }

  Interp& in_;
  const std::string& format_;
  bool markup_, mapping_ = false;
  const Value& arguments_;
  Value keyed_;
  size_t at_ = 0, n_used_ = 0;
  std::string out_;
};

}  // namespace

Value percent_format(Interp& in, const StringObj& format, const Value& arguments) {
  return Formatter(in, format, arguments).run();
}

}  // namespace tally::text::jinja
