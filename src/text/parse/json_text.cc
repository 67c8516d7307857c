// Whole JSON texts: the same grammar as read_json without the repairs.
#include <algorithm>
#include <vector>

#include "text/parse/json_reader.h"

namespace tally::parse {
namespace {

constexpr size_t kMaxDepth = 512;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  JsonText run() {
    JsonText result;
    skip_space();
    if (!value(&result.kind)) return result;
    while (!open_.empty())
      if (!step()) return result;
    skip_space();
    if (at_ != text_.size()) return result;
    result.valid = true;
    result.text = std::move(out_);
    return result;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    out_ += text_[at_++];
    return true;
  }

  // One member or element, or the closing bracket of the innermost container.
  bool step() {
    const char close = open_.back().close;
    skip_space();
    if (take(close)) {
      if (open_.back().after_comma) return false;
      open_.pop_back();
      if (!open_.empty()) open_.back().after_comma = false;
      return true;
    }
    if (open_.back().n > 0 && !open_.back().after_comma) {
      if (!take(',')) return false;
      open_.back().after_comma = true;
      return true;
    }
    open_.back().n++, open_.back().after_comma = false;
    if (close == '}') {
      if (!string()) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
    }
    char kind = 0;
    return value(&kind);
  }

  bool value(char* kind) {
    if (at_ >= text_.size()) return false;
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      if (open_.size() >= kMaxDepth) return false;
      *kind = c == '{' ? 'o' : 'a';
      out_ += c, ++at_;
      open_.push_back({c == '{' ? '}' : ']', false, 0});
      return true;
    }
    if (c == '"') return *kind = 's', string();
    for (auto [spelling, json, k] : kWords)
      if (text_.substr(at_).starts_with(spelling)) return *kind = k, at_ += spelling.size(), out_ += json, true;
    return number(kind);
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (uint8_t(c) < 0x20) return false;
      if (c == '"') return take('"');
      if (c == '\\') {
        if (at_ + 1 >= text_.size()) return false;
        const char e = text_[at_ + 1];
        if (std::string_view("\"\\/bfnrtu").find(e) == std::string_view::npos) return false;
        if (e == 'u') {
          if (at_ + 6 > text_.size()) return false;
          for (size_t i = 2; i < 6; ++i)
            if (!std::isxdigit(uint8_t(text_[at_ + i]))) return false;
        }
        out_ += text_.substr(at_, 2), at_ += 2;
        continue;
      }
      out_ += c, ++at_;
    }
    return false;
  }

  size_t digits() {
    size_t n = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') out_ += text_[at_++], ++n;
    return n;
  }

  bool number(char* kind) {
    take('-');
    const bool zero = at_ < text_.size() && text_[at_] == '0';
    const size_t n = digits();
    if (n == 0 || (zero && n > 1)) return false;
    *kind = 'i';
    if (take('.')) {
      const size_t from = at_;
      if (digits() == 0) return false;
      // 2.0 is an integer too, as JSON Schema has it.
      if (text_.substr(from, at_ - from).find_first_not_of('0') != std::string_view::npos) *kind = 'd';
    }
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (digits() == 0) return false;
      *kind = 'd';
    }
    return true;
  }

  struct Word {
    std::string_view spelling, json;
    char kind;
  };
  static constexpr Word kWords[] = {{"true", "true", 'b'}, {"false", "false", 'b'}, {"null", "null", 'n'},
                                    {"True", "true", 'b'}, {"False", "false", 'b'}, {"None", "null", 'n'}};
  struct Open {
    char close;
    bool after_comma;
    size_t n;
  };
  std::string_view text_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Open> open_;
};

}  // namespace

JsonText json_text(std::string_view text) { return Scanner(text).run(); }

std::string json_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (uint8_t(c) < 0x20) {
          static constexpr char kHex[] = "0123456789abcdef";
          out += "\\u00";
          out += kHex[uint8_t(c) >> 4];
          out += kHex[c & 15];
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string json_quote(std::string_view text) { return '"' + json_escape(text) + '"'; }

}  // namespace tally::parse
