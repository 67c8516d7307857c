#include "text/jinja_lexer.h"

#include <algorithm>

#include "text/jinja_error.h"
#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

struct Operator {
  std::string_view text;
  Tok type;
};

// Longer ones first.
constexpr Operator kOperators[] = {{"//", Tok::FloorDiv}, {"**", Tok::Pow},     {"==", Tok::Eq},    {"!=", Tok::Ne},
                                   {">=", Tok::Ge},       {"<=", Tok::Le},      {"+", Tok::Add},    {"-", Tok::Sub},
                                   {"/", Tok::Div},       {"*", Tok::Mul},      {"%", Tok::Mod},    {"~", Tok::Tilde},
                                   {"[", Tok::LBracket},  {"]", Tok::RBracket}, {"(", Tok::LParen}, {")", Tok::RParen},
                                   {"{", Tok::LBrace},    {"}", Tok::RBrace},   {">", Tok::Gt},     {"<", Tok::Lt},
                                   {"=", Tok::Assign},    {".", Tok::Dot},      {":", Tok::Colon},  {"|", Tok::Pipe},
                                   {",", Tok::Comma},     {";", Tok::Semicolon}};

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// \r\n and \r become \n; one newline at the end is dropped.
std::string normalize(std::string_view source, bool drop_last) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (drop_last && !out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : src_(normalize(source, true)) {}

  std::vector<Token> run() {
    while (at_ < src_.size()) root();
    push(Tok::Eof, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void error(const std::string& message) const { raise(Err::Syntax, line_, message); }
  std::string_view rest() const { return std::string_view(src_).substr(at_); }
  bool at(std::string_view s) const { return rest().starts_with(s); }
  void push(Tok type, std::string text) { tokens_.push_back({type, line_, std::move(text)}); }
  void advance(size_t n) {
    line_ += static_cast<int>(
        std::count(src_.begin() + static_cast<ptrdiff_t>(at_), src_.begin() + static_cast<ptrdiff_t>(at_ + n), '\n'));
    at_ += n;
    if (n > 0) line_starting_ = src_[at_ - 1] == '\n';
  }
  size_t skip_spaces(size_t from) const {
    size_t next;
    while (from < src_.size() && is_space(char_at(src_, from, &next))) from = next;
    return from;
  }

  // Text up to a tag: emitted with the whitespace before the tag removed as its sign says.
  void data(size_t end, char sign, bool variable) {
    std::string_view text = std::string_view(src_).substr(at_, end - at_);
    if (sign == '-') {
      text = strip_right(text);
    } else if (sign != '+' && !variable) {
      const size_t newline = text.rfind('\n');
      const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((start > 0 || line_starting_) && start < text.size() && strip_left(text.substr(start)).empty())
        text = text.substr(0, start);
    }
    if (!text.empty()) push(Tok::Data, std::string(text));
    if (end > at_) advance(end - at_);
  }

  // Position of the next "{%", "{{" or "{#", or npos.
  size_t find_tag(size_t from) const {
    for (size_t p = src_.find('{', from); p != std::string::npos; p = src_.find('{', p + 1))
      if (p + 1 < src_.size() && (src_[p + 1] == '%' || src_[p + 1] == '{' || src_[p + 1] == '#')) return p;
    return std::string::npos;
  }

  char sign_at(size_t p) const { return p < src_.size() && (src_[p] == '-' || src_[p] == '+') ? src_[p] : 0; }

  void root() {
    const size_t tag = find_tag(at_);
    if (tag == std::string::npos) {
      push(Tok::Data, std::string(rest()));
      return advance(src_.size() - at_);
    }
    const char kind = src_[tag + 1], sign = sign_at(tag + 2);
    data(tag, sign, kind == '{');
    if (kind == '%') {
      if (const size_t end = match_raw_begin(); end > 0) return raw(end);
    }
    if (kind != '#') push(kind == '{' ? Tok::VariableBegin : Tok::BlockBegin, "");
    advance(sign ? 3 : 2);
    if (kind == '#') return comment();
    inside(kind == '{');
  }

  // Length of "{% raw %}" here, 0 when it is another tag.
  size_t match_raw_begin() const {
    size_t p = skip_spaces(at_ + (sign_at(at_ + 2) ? 3 : 2));
    if (src_.compare(p, 3, "raw") != 0) return 0;
    p = skip_spaces(p + 3);
    if (src_.compare(p, 3, "-%}") == 0) return skip_spaces(p + 3) - at_;
    return src_.compare(p, 2, "%}") == 0 ? p + 2 - at_ : 0;
  }

  void raw(size_t begin_length) {
    advance(begin_length);
    for (size_t p = src_.find("{%", at_); p != std::string::npos; p = src_.find("{%", p + 1)) {
      const char sign = sign_at(p + 2);
      size_t q = skip_spaces(p + (sign ? 3 : 2));
      if (src_.compare(q, 6, "endraw") != 0) continue;
      q = block_end(skip_spaces(q + 6));
      if (q == 0) continue;
      data(p, sign, false);
      return advance(q - p);
    }
    error("Missing end of raw directive");
  }

  // Offset behind a "%}" at `p` with what it trims; 0 when there is none.
  size_t block_end(size_t p) const {
    if (src_.compare(p, 3, "+%}") == 0) return p + 3;
    if (src_.compare(p, 3, "-%}") == 0) return skip_spaces(p + 3);
    if (src_.compare(p, 2, "%}") != 0) return 0;
    return p + 2 + (p + 2 < src_.size() && src_[p + 2] == '\n');
  }

  void comment() {
    const size_t close = src_.find("#}", at_);
    if (close == std::string::npos) error("Missing end of comment tag");
    const char sign = close > at_ ? sign_at(close - 1) : 0;
    size_t end = close + 2;
    if (sign == '-')
      end = skip_spaces(end);
    else if (sign != '+' && end < src_.size() && src_[end] == '\n')
      ++end;
    advance(end - at_);
  }

  void inside(bool variable) {
    while (at_ < src_.size()) {
      if (balance_.empty()) {
        size_t end = 0;
        if (!variable)
          end = block_end(at_);
        else if (at("-}}"))
          end = skip_spaces(at_ + 3);
        else if (at("}}"))
          end = at_ + 2;
        if (end > 0) {
          push(variable ? Tok::VariableEnd : Tok::BlockEnd, "");
          return advance(end - at_);
        }
      }
      token();
    }
  }

  void token() {
    size_t next;
    const char c = src_[at_];
    const uint32_t code = char_at(src_, at_, &next);
    if (is_space(code)) return advance(skip_spaces(at_) - at_);
    if (is_ascii_digit(c)) return number();
    if (is_word(code)) return name();
    if ((c == '\'' || c == '"') && string(c)) return;
    for (const auto& op : kOperators) {
      if (!at(op.text)) continue;
      check_balance(op);
      push(op.type, std::string(op.text));
      return advance(op.text.size());
    }
    error(fmt::format("unexpected char '{}' at {}", std::string_view(src_).substr(at_, next - at_),
                      chars_before(src_, at_)));
  }

  void check_balance(const Operator& op) {
    const char c = op.text.size() == 1 ? op.text[0] : 0;
    if (c == '{' || c == '(' || c == '[') balance_ += c == '{' ? '}' : c == '(' ? ')' : ']';
    if (c != '}' && c != ')' && c != ']') return;
    if (balance_.empty()) error(fmt::format("unexpected '{}'", c));
    if (balance_.back() != c) error(fmt::format("unexpected '{}', expected '{}'", c, balance_.back()));
    balance_.pop_back();
  }

  void name() {
    size_t end = at_, next;
    while (end < src_.size()) {
      // Marks and connectors are part of names too; is_identifier judges the whole.
      const uint32_t c = char_at(src_, end, &next);
      if (!is_word(c) && (c < 0x80 || !is_identifier("a" + src_.substr(end, next - end)))) break;
      end = next;
    }
    std::string text = src_.substr(at_, end - at_);
    if (!is_identifier(text)) error("Invalid character in identifier");
    push(Tok::Name, std::move(text));
    advance(end - at_);
  }

  // End of (digit (_? digit)*) at `p`, or p.
  size_t digits(size_t p, std::string_view allowed) const {
    size_t end = p;
    while (p < src_.size()) {
      if (src_[p] == '_' && end > 0 && p == end && p + 1 < src_.size() &&
          allowed.find(static_cast<char>(src_[p + 1])) != std::string_view::npos)
        ++p;
      if (allowed.find(src_[p]) == std::string_view::npos) break;
      end = ++p;
    }
    return end;
  }

  void number() {
    const bool after_dot = at_ > 0 && src_[at_ - 1] == '.';
    size_t end = decimal(at_);
    bool real = false;
    if (!after_dot) {
      size_t p = end;
      if (p < src_.size() && src_[p] == '.' && p + 1 < src_.size() && is_ascii_digit(src_[p + 1])) {
        p = decimal(p + 1);
        real = true;
      }
      size_t e = p;
      if (e < src_.size() && (src_[e] | 32) == 'e') {
        ++e;
        if (e < src_.size() && (src_[e] == '+' || src_[e] == '-')) ++e;
        if (e < src_.size() && is_ascii_digit(src_[e])) {
          p = decimal(e);
          real = true;
        }
      }
      if (real) end = p;
    }
    if (!real) end = integer_end();
    std::string text = src_.substr(at_, end - at_);
    std::erase(text, '_');
    push(real ? Tok::Float : Tok::Integer, std::move(text));
    advance(end - at_);
  }

  size_t decimal(size_t p) const { return digits(p, "0123456789"); }

  size_t integer_end() const {
    if (src_[at_] != '0') return decimal(at_);
    const char base = at_ + 1 < src_.size() ? static_cast<char>(src_[at_ + 1] | 32) : 0;
    const std::string_view allowed = base == 'x'   ? "0123456789abcdefABCDEF"
                                     : base == 'o' ? "01234567"
                                     : base == 'b' ? "01"
                                                   : "";
    if (!allowed.empty())
      if (const size_t end = digits(at_ + 2, allowed); end > at_ + 2) return end;
    return digits(at_, "0");
  }

  bool string(char quote) {
    size_t end = at_ + 1;
    while (end < src_.size() && src_[end] != quote) end += src_[end] == '\\' ? 2 : 1;
    if (end >= src_.size()) return false;
    push(Tok::String, unescape(std::string_view(src_).substr(at_ + 1, end - at_ - 1)));
    advance(end + 1 - at_);
    return true;
  }

  // \xhh, \uhhhh, \Uhhhhhhhh at text[i] = 'x', 'u', 'U'.
  uint32_t hex(std::string_view text, size_t* i) const {
    const size_t n = text[*i] == 'x' ? 2 : text[*i] == 'u' ? 4 : 8;
    uint32_t code = 0;
    for (size_t k = 1; k <= n; ++k) {
      const char c = *i + k < text.size() ? text[*i + k] : '?';
      const int digit = is_ascii_digit(c) ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (digit < 0)
        error(n == 2 ? "truncated \\xXX escape" : n == 4 ? "truncated \\uXXXX escape" : "truncated \\UXXXXXXXX escape");
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    *i += n;
    if (code > 0x10FFFF) error("illegal Unicode character");
    if (code >= 0xD800 && code < 0xE000)
      error("an escape names half of a surrogate pair, which is no character; write \\UXXXXXXXX");
    return code;
  }

  // Python's unicode-escape codec.
  std::string unescape(std::string_view text) const {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        out += text[i];
        continue;
      }
      const char c = text[++i];
      constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
      if (const size_t simple = kFrom.find(c); simple != std::string_view::npos) {
        out += kTo[simple];
      } else if (c == 'x' || c == 'u' || c == 'U') {
        append_utf8(out, hex(text, &i));
      } else if (c >= '0' && c <= '7') {
        uint32_t code = 0;
        size_t k = 0;
        for (; k < 3 && i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7'; ++k)
          code = code * 8 + static_cast<uint32_t>(text[i + k] - '0');
        i += k - 1;
        append_utf8(out, code);
      } else if (c == 'N') {
        error("characters by name (\\N{...}) are not supported; write \\uXXXX");
      } else if (c != '\n') {  // an escaped newline joins lines; anything else keeps its backslash
        append_unknown_escape(out, text, &i);
      }
    }
    return out;
  }

  // The reference encodes to ASCII first, so a backslash before é gives the text "\xe9".
  void append_unknown_escape(std::string& out, std::string_view text, size_t* i) const {
    size_t next;
    const uint32_t code = char_at(text, *i, &next);
    out += '\\';
    if (code < 0x80)
      out += static_cast<char>(code);
    else
      out += code < 0x100     ? fmt::format("x{:02x}", code)
             : code < 0x10000 ? fmt::format("u{:04x}", code)
                              : fmt::format("U{:08x}", code);
    *i = next - 1;
  }

  std::string src_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::string balance_;  // closing brackets expected
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

const char* describe(Tok type) {
  switch (type) {
    case Tok::Data:
      return "template data / text";
    case Tok::VariableBegin:
      return "begin of print statement";
    case Tok::VariableEnd:
      return "end of print statement";
    case Tok::BlockBegin:
      return "begin of statement block";
    case Tok::BlockEnd:
      return "end of statement block";
    case Tok::Name:
      return "name";
    case Tok::String:
      return "string";
    case Tok::Integer:
      return "integer";
    case Tok::Float:
      return "float";
    case Tok::Eof:
      return "end of template";
    default:
      break;
  }
  for (const auto& op : kOperators)
    if (op.type == type) return op.text.data();
  return "token";
}

}  // namespace tally::text::jinja
