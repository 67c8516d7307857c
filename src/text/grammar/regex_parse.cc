// The syntax of regular expressions: ECMA-262, 2023, section 22.2.1 with the u flag.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "text/grammar/regex_terms.h"
#include "text/grammar/rules.h"
#include "text/grammar/utf8_text.h"

namespace tally::grammar {
namespace {

constexpr int kNestingMax = 200;
constexpr size_t kPatternMax = 65'536;
constexpr uint64_t kCountMax = 1'000'000'000;

class Parser {
 public:
  Parser(TermPool& pool, std::string_view pattern, const std::string& path) : pool_(pool), path_(path) {
    if (pattern.size() > kPatternMax) {
      throw ConstraintError(path, fmt::format("a pattern of {} bytes; {} are allowed", pattern.size(), kPatternMax),
                            kPatternMax, pattern.size());
    }
    for (size_t at = 0, n = 0; at < pattern.size(); at += n) chars_.push_back(*decode_utf8(pattern.substr(at), &n));
    find_groups();
  }

  int run() {
    int t = disjunction();
    if (at_ < chars_.size()) bad("')' without '('");
    for (const std::string& name : used_names_)
      if (names_.count(name) == 0) bad("a back reference to a group that is not there: " + name);
    if (back_reference_) unsupported("back references");
    return t;
  }

 private:
  [[noreturn]] void bad(const std::string& what) const {
    throw ConstraintError(
        "invalid_schema", path_,
        fmt::format("the regular expression is not valid (ECMA-262 with the u flag): {} at character {}", what, at_));
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw ConstraintError("unsupported", path_, fmt::format("regular expressions with {} are not supported", what));
  }
  uint32_t peek(size_t ahead = 0) const { return at_ + ahead < chars_.size() ? chars_[at_ + ahead] : UINT32_MAX; }
  bool take(uint32_t c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view s) {
    for (size_t i = 0; i < s.size(); ++i)
      if (peek(i) != static_cast<uint8_t>(s[i])) return false;
    at_ += s.size();
    return true;
  }

  void find_groups() {  // how many there are decides which numbers may be referred to
    bool in_class = false;
    for (size_t i = 0; i < chars_.size(); ++i) {
      if (chars_[i] == '\\') {
        ++i;
      } else if (in_class) {
        in_class = chars_[i] != ']';
      } else if (chars_[i] == '[') {
        in_class = true;
      } else if (chars_[i] == '(') {
        bool plain = i + 1 >= chars_.size() || chars_[i + 1] != '?';
        bool named = i + 3 < chars_.size() && chars_[i + 1] == '?' && chars_[i + 2] == '<' && chars_[i + 3] != '=' &&
                     chars_[i + 3] != '!';
        n_groups_ += plain || named;
      }
    }
  }

  int disjunction() {
    std::vector<int> options{alternative()};
    while (take('|')) options.push_back(alternative());
    return pool_.alt(options);
  }

  int alternative() {
    std::vector<int> parts;
    while (at_ < chars_.size() && peek() != '|' && peek() != ')') parts.push_back(term());
    int t = pool_.empty();
    for (auto it = parts.rbegin(); it != parts.rend(); ++it) t = pool_.cat(*it, t);
    return t;
  }

  int term() {
    if (take('^')) return pool_.assertion(TermKind::Start);
    if (take('$')) return pool_.assertion(TermKind::End);
    if (take("\\b")) return pool_.assertion(TermKind::Word);
    if (take("\\B")) return pool_.assertion(TermKind::Word, true);
    if (take("(?=")) return pool_.look(group(), false);
    if (take("(?!")) return pool_.look(group(), true);
    if (take("(?<=")) return look_behind(false);
    if (take("(?<!")) return look_behind(true);
    return quantified(atom());
  }

  int look_behind(bool negative) {
    int t = group();
    if (pool_[t].asserts) unsupported("assertions inside look-behind");
    return pool_.behind(t, negative);
  }

  int group() {
    if (++depth_ > kNestingMax) {
      throw ConstraintError(path_, fmt::format("groups nested deeper than {} levels", kNestingMax), kNestingMax,
                            static_cast<uint64_t>(depth_));
    }
    int t = disjunction();
    if (!take(')')) bad("'(' without ')'");
    --depth_;
    return t;
  }

  std::string group_name() {
    std::string name;
    for (; at_ < chars_.size() && peek() != '>'; ++at_) {
      uint32_t c = peek();
      bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c > 0x7F;
      if (!letter && (name.empty() || c < '0' || c > '9')) bad("a character that no group name may have");
      append_utf8(name, c);
    }
    if (name.empty() || !take('>')) bad("a group name that does not end");
    return name;
  }

  int atom() {
    uint32_t c = peek();
    if (take('.')) return pool_.chars(complement(CharSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    if (take("(?:")) return group();
    if (take("(?<")) {
      if (!names_.insert(group_name()).second) bad("two groups of one name");
      return group();
    }
    if (peek() == '(' && peek(1) == '?') bad("an unknown kind of group");
    if (take('(')) return group();
    if (take('[')) return pool_.chars(char_class());
    if (take('\\')) return escape();
    if (c == '*' || c == '+' || c == '?') bad("a quantifier without anything before it");
    if (c == '{' || c == '}' || c == ']') bad(fmt::format("a lone '{}'", static_cast<char>(c)));
    ++at_;
    return pool_.chars({{c, c}});
  }

  uint64_t count() {
    if (peek() < '0' || peek() > '9') bad("a count without digits");
    uint64_t n = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) n = std::min(n * 10 + (peek() - '0'), kCountMax * 10);
    return n;
  }

  int quantified(int t) {
    uint64_t min = 0, max = kUnbounded;
    if (take('*')) {
    } else if (take('+')) {
      min = 1;
    } else if (take('?')) {
      max = 1;
    } else if (take('{')) {
      min = max = count();
      if (take(',')) max = peek() == '}' ? kUnbounded : count();
      if (!take('}')) bad("a count that does not end");
      if (max < min) bad("a count whose end is below its start");
      const uint64_t largest = max == kUnbounded ? min : max;
      if (largest > kCountMax) {
        throw ConstraintError(path_, fmt::format("a count above {}", kCountMax), kCountMax, largest);
      }
    } else {
      return t;
    }
    take('?');  // lazy: the same language
    return pool_.repeat(t, min, max);
  }

  std::optional<CharSet> class_escape() {
    uint32_t c = peek();
    const bool inverted = c == 'D' || c == 'W' || c == 'S' || c == 'P';
    CharSet set;
    if (c == 'd' || c == 'D') {
      set = digit_chars();
    } else if (c == 'w' || c == 'W') {
      set = word_chars();
    } else if (c == 's' || c == 'S') {
      set = space_chars();
    } else if (c == 'p' || c == 'P') {
      ++at_;
      if (!take('{')) bad("\\p without {");
      std::string name;
      while (at_ < chars_.size() && peek() != '}') append_utf8(name, chars_[at_++]);
      if (peek() != '}') bad("\\p{ without }");
      const CharSet* found = property_chars(name);
      if (found == nullptr) bad(fmt::format("no character property is named \"{}\"", name.substr(0, 60)));
      set = *found;
    } else {
      return std::nullopt;
    }
    ++at_;
    return inverted ? complement(set) : set;
  }

  int escape() {
    if (auto set = class_escape()) return pool_.chars(*set);
    uint32_t c = peek();
    if (c >= '1' && c <= '9') {
      if (count() > static_cast<uint64_t>(n_groups_)) bad("a back reference to a group that is not there");
      back_reference_ = true;
      return pool_.empty();
    }
    if (c == 'k') {
      ++at_;
      if (!take('<')) bad("\\k without a name");
      used_names_.insert(group_name());
      back_reference_ = true;
      return pool_.empty();
    }
    uint32_t v = char_escape();
    return pool_.chars({{v, v}});
  }

  uint32_t hex(int n) {
    uint32_t v = 0;
    for (int i = 0; i < n; ++i, ++at_) v = v * 16 + hex_digit();
    return v;
  }
  uint32_t hex_digit() const {
    uint32_t c = peek();
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    bad("a hexadecimal digit is missing");
  }

  uint32_t unicode_escape() {
    if (take('{')) {
      uint32_t v = 0;
      do {
        v = v * 16 + hex_digit();
        if (v > kLastChar) bad("a character above U+10FFFF");
        ++at_;
      } while (peek() != '}');
      ++at_;
      return v;
    }
    uint32_t v = hex(4);
    if (v >= 0xD800 && v <= 0xDBFF && peek() == '\\' && peek(1) == 'u' && peek(2) != '{') {
      size_t back = at_;
      at_ += 2;
      uint32_t low = hex(4);
      if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
      at_ = back;
    }
    return v;
  }

  uint32_t char_escape() {
    if (at_ >= chars_.size()) bad("a backslash at the end");
    uint32_t c = chars_[at_++];
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'v':
        return '\v';
      case 'f':
        return '\f';
      case 'r':
        return '\r';
      case 'x':
        return hex(2);
      case 'u':
        return unicode_escape();
      case '0':
        if (peek() >= '0' && peek() <= '9') bad("an octal escape");
        return 0;
      case 'c': {
        uint32_t letter = peek();
        if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'))) bad("\\c without a letter");
        ++at_;
        return letter % 32;
      }
      default: {
        // With the u flag only syntax characters may be escaped; patterns written for other dialects escape more.
        bool letter =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c > 0x7E || c < 0x20;
        if (letter) bad("an unknown escape");
        return c;
      }
    }
  }

  // One member of a class: its set, and its character where it is a single one.
  CharSet class_atom(std::optional<uint32_t>* single) {
    *single = std::nullopt;
    if (at_ >= chars_.size()) bad("'[' without ']'");
    if (take('\\')) {
      if (auto set = class_escape()) return *set;
      *single = take('b') ? uint32_t('\b') : char_escape();
    } else {
      *single = chars_[at_++];
    }
    return {{**single, **single}};
  }

  CharSet char_class() {
    const bool inverted = take('^');
    CharSet out;
    while (!take(']')) {
      std::optional<uint32_t> first, last;
      CharSet set = class_atom(&first);
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < chars_.size()) {
        ++at_;
        class_atom(&last);
        if (!first || !last) bad("a range between sets");
        if (*last < *first) bad("a range whose end is before its start");
        set = {{*first, *last}};
      }
      out.insert(out.end(), set.begin(), set.end());
    }
    out = normalized(std::move(out));
    return inverted ? complement(out) : out;
  }

  TermPool& pool_;
  std::string path_;
  std::vector<uint32_t> chars_;
  size_t at_ = 0;
  int depth_ = 0, n_groups_ = 0;
  bool back_reference_ = false;
  std::set<std::string> names_, used_names_;
};

}  // namespace

int parse_regex(TermPool& pool, std::string_view pattern, const std::string& path) {
  return Parser(pool, pattern, path).run();
}

}  // namespace tally::grammar
