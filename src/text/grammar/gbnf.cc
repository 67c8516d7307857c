#include "text/grammar/gbnf.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "text/grammar/code_points.h"
#include "text/grammar/constraint_error.h"

namespace tally::grammar {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  void parse() {
    if (text_.size() > kMaxGrammarBytes)
      throw ConstraintError("", fmt::format("the grammar has {} bytes, more than {}", text_.size(), kMaxGrammarBytes),
                            kMaxGrammarBytes, text_.size());
    check_utf8();
    skip_space(true);
    while (at_ < text_.size()) parse_rule();
    for (const auto& [name, rule] : rule_ids_)
      if (defined_.find(rule.id) == defined_.end()) fail_at(referred_at_[rule.id], "no rule is named \"{}\"", name);
    const auto root = rule_ids_.find("root");
    if (root == rule_ids_.end()) fail_at(text_.size(), "no rule is named \"root\", with which the text begins");
    rules.set_root(rules.ref(root->second));
  }
  // "line:column" of a rule's definition; empty when there is none.
  std::string place_of(const std::string& name) const {
    const auto rule = rule_ids_.find(name);
    if (rule == rule_ids_.end()) return "";
    const auto at = defined_.find(rule->second.id);
    return at == defined_.end() ? "" : place(at->second);
  }
  Rules rules;

 private:
  struct Group {  // what was read of an open group; the outermost is the rule itself
    size_t at = 0;
    std::vector<NodeId> alternatives, sequence;
  };

  std::string place(size_t at) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at; ++i) {
      if (text_[i] == '\n')
        ++line, column = 1;
      else if ((text_[i] & 0xC0) != 0x80)
        ++column;
    }
    return fmt::format("{}:{}", line, column);
  }
  template <typename... Args>
  [[noreturn]] void fail_at(size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    const std::string where = place(at);
    throw ConstraintError("invalid_grammar", where,
                          fmt::format("grammar, {}: {}", where, fmt::format(format, std::forward<Args>(args)...)));
  }

  void check_utf8() const {
    uint32_t code;
    for (size_t i = 0; i < text_.size();) {
      const uint32_t n = code_point_at(text_, i, code);
      if (n == 0) fail_at(i, "the bytes are not UTF-8");
      i += n;
    }
  }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool ended() const { return at_ >= text_.size(); }
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  }

  void skip_space(bool newlines) {
    while (!ended()) {
      const char c = peek();
      if (c == '#')
        while (!ended() && peek() != '\n' && peek() != '\r') ++at_;
      else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r')))
        ++at_;
      else
        return;
    }
  }

  RuleId rule(std::string_view name, size_t at) {
    auto [found, fresh] = rule_ids_.try_emplace(std::string(name));
    if (fresh) {
      found->second = rules.add_rule(std::string(name));
      referred_at_.push_back(at);
    }
    return found->second;
  }
  std::string_view read_name() {
    const size_t begin = at_;
    while (is_name(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void parse_rule() {
    const size_t begin = at_;
    const std::string_view name = read_name();
    if (name.empty()) fail_at(begin, "expected the name of a rule (letters, digits, -), found {}", found());
    skip_space(false);
    if (text_.substr(at_, 3) != "::=") fail_at(at_, "expected ::= after \"{}\", found {}", name, found());
    at_ += 3;
    const RuleId id = rule(name, begin);
    if (!defined_.try_emplace(id.id, begin).second) fail_at(begin, "a second rule is named \"{}\"", name);
    skip_space(true);
    rules.define(id, parse_body());
    skip_space(true);
  }

  std::string found() const {
    if (ended()) return "the end";
    if (peek() == '\n' || peek() == '\r') return "the end of the line";
    uint32_t code;
    return fmt::format("\"{}\"", text_.substr(at_, code_point_at(text_, at_, code)));
  }

  NodeId close(Group& g) {
    g.alternatives.push_back(rules.sequence(g.sequence));
    return rules.alternatives(g.alternatives);
  }

  NodeId parse_body() {
    std::vector<Group> groups(1);
    for (;;) {
      if (uint64_t(rules.n_nodes()) > kMaxGrammarNodes)
        throw ConstraintError(place(at_), "the grammar has too many parts", kMaxGrammarNodes, rules.n_nodes());
      skip_space(groups.size() > 1);
      const size_t at = at_;
      const char c = peek();
      if (ended() || c == '\n' || c == '\r') {
        if (groups.size() > 1) fail_at(groups.back().at, "the group that is opened here is not closed");
        return close(groups.back());
      }
      if (c == '(') {
        ++at_;
        groups.push_back({at, {}, {}});
      } else if (c == ')') {
        if (groups.size() == 1) fail_at(at, "no group is open that \")\" could close");
        ++at_;
        const NodeId inner = close(groups.back());
        groups.pop_back();
        groups.back().sequence.push_back(inner);
      } else if (c == '|') {
        ++at_;
        groups.back().alternatives.push_back(rules.sequence(groups.back().sequence));
        groups.back().sequence.clear();
        skip_space(true);
      } else if (c == '*' || c == '+' || c == '?' || c == '{') {
        if (groups.back().sequence.empty()) fail_at(at, "nothing stands before \"{}\" that could be repeated", c);
        repeat(groups.back().sequence.back());
      } else {
        groups.back().sequence.push_back(parse_item());
      }
    }
  }

  NodeId parse_item() {
    const size_t at = at_;
    const char c = peek();
    if (c == '"') return parse_literal();
    if (c == '[') return parse_class();
    if (c == '.') {
      ++at_;
      return characters({{0, kLastCodePoint}});
    }
    if (c == '<')
      throw ConstraintError("unsupported", place(at),
                            fmt::format("grammar, {}: references to tokens (<…>) are not supported; write the text of "
                                        "the token as a literal",
                                        place(at)));
    const std::string_view name = read_name();
    if (name.empty()) fail_at(at, "expected a literal, a class, a rule or a group, found {}", found());
    return rules.ref(rule(name, at));
  }

  uint64_t read_count() {
    const size_t begin = at_;
    uint64_t n = 0;
    while (peek() >= '0' && peek() <= '9') {
      if (__builtin_mul_overflow(n, uint64_t(10), &n) || __builtin_add_overflow(n, uint64_t(peek() - '0'), &n) ||
          n == kUnbounded)
        fail_at(begin, "a count beyond 64 bits");
      ++at_;
    }
    if (at_ == begin) fail_at(at_, "expected a count, found {}", found());
    skip_space(true);
    return n;
  }

  void repeat(NodeId& part) {
    const size_t begin = at_;
    const char c = text_[at_++];
    if (c == '*') part = rules.repeat(part, 0, kUnbounded);
    if (c == '+') part = rules.repeat(part, 1, kUnbounded);
    if (c == '?') part = rules.optional(part);
    if (c != '{') return;
    skip_space(true);
    const uint64_t min = read_count();
    uint64_t max = min;
    if (peek() == ',') {
      ++at_;
      skip_space(true);
      max = peek() == '}' ? kUnbounded : read_count();
    }
    if (peek() != '}') fail_at(at_, "expected }} after the count, found {}", found());
    ++at_;
    if (min > max) fail_at(begin, "repeated {} to {} times", min, max);
    part = rules.repeat(part, min, max);
  }

  // One character of a literal or class, with its escapes.
  uint32_t read_char() {
    const size_t begin = at_;
    uint32_t code;
    if (peek() != '\\') {
      at_ += code_point_at(text_, at_, code);
      return code;
    }
    const char c = peek(1);
    at_ += 2;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
        return static_cast<uint8_t>(c);
      case 'x':
        return read_hex(begin, 2);
      case 'u':
        return read_hex(begin, 4);
      case 'U':
        return read_hex(begin, 8);
      default:
        fail_at(begin, "unknown escape \\{}; known are n r t \\ \" [ ] - xXX uXXXX UXXXXXXXX",
                c > ' ' && c < 127 ? std::string(1, c) : std::string());
    }
  }
  uint32_t read_hex(size_t begin, int digits) {
    uint64_t code = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const int value = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
      if (value < 0) fail_at(begin, "an escape with {} hexadecimal digits is cut off", digits);
      code = code << 4 | static_cast<uint64_t>(value);
    }
    if (code > kLastCodePoint || (code >= 0xD800 && code <= 0xDFFF)) fail_at(begin, "U+{:04X} is no character", code);
    return static_cast<uint32_t>(code);
  }

  NodeId parse_literal() {
    const size_t begin = at_++;
    std::string bytes;
    while (peek() != '"' || ended()) {
      if (ended()) fail_at(begin, "the literal that begins here is not closed");
      append_code_point(bytes, read_char());
    }
    ++at_;
    return rules.literal(bytes);
  }

  NodeId parse_class() {
    const size_t begin = at_++;
    const bool negated = peek() == '^';
    if (negated) ++at_;
    std::vector<CodeRange> ranges;
    while (peek() != ']' || ended()) {
      if (ended()) fail_at(begin, "the class that begins here is not closed");
      const size_t at = at_;
      const uint32_t first = read_char();
      uint32_t last = first;
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        ++at_;
        last = read_char();
      }
      if (last < first) fail_at(at, "the range U+{:04X} to U+{:04X} is reversed", first, last);
      ranges.push_back({first, last});
    }
    ++at_;
    if (ranges.empty()) fail_at(begin, "the class is empty");
    ranges = normal_ranges(std::move(ranges));
    if (negated) ranges = complement(ranges);
    if (ranges.empty()) fail_at(begin, "the class is empty");
    return characters(ranges);
  }

  NodeId characters(const std::vector<CodeRange>& ranges) {
    if (ranges.back().last < 0x80) {
      ByteSet set;
      for (const CodeRange& r : ranges) set.add_range(static_cast<uint8_t>(r.first), static_cast<uint8_t>(r.last));
      return rules.set(set);
    }
    std::vector<uint32_t> key;
    for (const CodeRange& r : ranges) key.push_back(r.first), key.push_back(r.last);
    auto& dfa = dfas_[key];
    if (!dfa) dfa = dfa_of_code_points(normal_ranges(ranges));
    return rules.terminal(dfa);
  }

  std::string_view text_;
  size_t at_ = 0;
  std::unordered_map<std::string, RuleId> rule_ids_;
  std::vector<size_t> referred_at_;          // by rule: where its name stands first
  std::unordered_map<int, size_t> defined_;  // by rule: where
  std::map<std::vector<uint32_t>, std::shared_ptr<const Dfa>> dfas_;
};

}  // namespace

Rules parse_gbnf(std::string_view text) {
  Parser parser(text);
  parser.parse();
  return std::move(parser.rules);
}

std::shared_ptr<const Automaton> compile_gbnf(std::string_view text) {
  Parser parser(text);
  parser.parse();
  try {
    return Automaton::compile(parser.rules);
  } catch (const ConstraintError& e) {
    if (e.limit() || e.constraint_code() == "limit") throw;
    const std::string where = parser.place_of(e.path().empty() ? "root" : e.path());
    throw ConstraintError(e.constraint_code(), where, fmt::format("grammar, {}: {}", where, e.what()));
  }
}

}  // namespace tally::grammar
