// Regular expressions as automata: single cases by ECMA-262, and random ones against PCRE2 where both mean the same.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <gtest/gtest.h>
#include <pcre2.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "text/grammar/regex_terms.h"

namespace tally::grammar {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  Budget budget;
  return regex_dfa(pattern, budget).matches(text);
}

std::string refusal(const std::string& pattern) {
  try {
    Budget budget;
    regex_dfa(pattern, budget);
    return "";
  } catch (const ConstraintError& e) {
    return e.constraint_code();
  }
}

TEST(RegexDfa, SearchesAndAnchors) {
  EXPECT_TRUE(matches("b", "abc"));
  EXPECT_FALSE(matches("^b", "abc"));
  EXPECT_TRUE(matches("^a|c$", "abd"));
  EXPECT_TRUE(matches("^a|c$", "xc"));
  EXPECT_FALSE(matches("^a|c$", "xcx"));
  EXPECT_FALSE(matches("a$", "a\n"));  // $ is only the very end
  EXPECT_TRUE(matches("", "anything"));
  EXPECT_TRUE(matches("^$", ""));
  EXPECT_FALSE(matches("a^b", "ab"));
  EXPECT_TRUE(matches("^(a$|b)$", "a"));
}

TEST(RegexDfa, ClassesAreAsciiAndDotIsNot) {
  EXPECT_FALSE(matches("^\\d$", "\u09EA"));
  EXPECT_FALSE(matches("^\\w$", "é"));
  EXPECT_TRUE(matches("^\\s$", "\u00A0"));
  EXPECT_TRUE(matches("^\\s$", "\uFEFF"));
  EXPECT_FALSE(matches("^.$", "\u2028"));
  EXPECT_TRUE(matches("^.$", "\u0085"));
  EXPECT_TRUE(matches("^.$", "🐲"));
  EXPECT_TRUE(matches("^[^a]$", "\n"));
  EXPECT_TRUE(matches("^\\p{Lu}\\P{Lu}$", "Éé"));
  EXPECT_TRUE(matches("^\\p{Script=Greek}+$", "αβγ"));
  EXPECT_FALSE(matches("^\\p{Script=Greek}+$", "abc"));
  EXPECT_TRUE(matches("^\\ud83d\\ude00$", "😀"));
  EXPECT_TRUE(matches("^[\\b\\-\\]]{3}$", "\b-]"));
}

TEST(RegexDfa, Assertions) {
  EXPECT_TRUE(matches("^(?=.*[0-9])[a-z0-9]+$", "ab1"));
  EXPECT_FALSE(matches("^(?=.*[0-9])[a-z0-9]+$", "abc"));
  EXPECT_FALSE(matches("^(?!con$)[a-z]+$", "con"));
  EXPECT_TRUE(matches("^(?!con$)[a-z]+$", "cons"));
  EXPECT_TRUE(matches("(?<=\\$)[0-9]+$", "a$12"));
  EXPECT_FALSE(matches("(?<=\\$)[0-9]+$", "12"));
  EXPECT_FALSE(matches("(?<!a)b", "ab"));
  EXPECT_TRUE(matches("(?<!a)b", "abb"));
  EXPECT_TRUE(matches("\\bcat\\b", "a cat."));
  EXPECT_FALSE(matches("\\bcat\\b", "concat"));
  EXPECT_TRUE(matches("^(?:a(?=b)|b)*$", "abab"));  // inside a loop
  EXPECT_FALSE(matches("^(?:a(?=b)|b)*$", "aab"));
  EXPECT_TRUE(matches("^(?:(?=a)|b){3}a$", "ba"));
}

TEST(RegexDfa, RefusesWithReason) {
  for (const char* bad :
       {"(ab",      "ab)",         "[z-a]",         "a**",     "*a",     "a{3,2}", "\\",  "\\x4",
        "\\u12",    "\\u{110000}", "\\p{Nope}",     "(?=a",    "[",      "a{1",    "{2}", "(?<a>x)(?<a>y)",
        "(?P<x>a)", "\\2(a)",      "\\k<b>(?<a>x)", "[\\w-a]", "(?=a)*", "\\z",    "\\01"})
    EXPECT_EQ(refusal(bad), "invalid_schema") << bad;
  for (const char* rich : {"(a)\\1", "(?<q>a)\\k<q>", "(?<=a(?=b))c"}) EXPECT_EQ(refusal(rich), "unsupported") << rich;
  for (const char* big : {"^.*a.{30}$", "^a{1000000000}$", "^(a{1000}){1000}$", "^a{18446744073709551617}$"})
    EXPECT_EQ(refusal(big), "limit") << big;
  EXPECT_EQ(refusal(std::string(100'000, '(') + std::string(100'000, ')')), "limit");
  EXPECT_EQ(refusal(std::string(5'000, '(') + std::string(5'000, ')')), "limit");
}

TEST(RegexDfa, StaysSmallWhereBacktrackingExplodes) {
  EXPECT_TRUE(matches("^(a?){50}a{50}$", std::string(50, 'a')));
  EXPECT_FALSE(matches("^(a?){50}a{50}$", std::string(49, 'a')));
  EXPECT_TRUE(matches("^(a|aa)+$", std::string(100, 'a')));
  Budget budget;
  EXPECT_LT(regex_dfa("^(((((a*)*)*)*)*)$", budget).n_states(), 4);
}

class Pcre {
 public:
  explicit Pcre(const std::string& pattern) : code_(nullptr, &pcre2_code_free) {
    int error = 0;
    size_t where = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_START_OPTIMIZE, &error, &where, nullptr));
  }
  bool good() const { return code_ != nullptr; }
  bool matches(const std::string& text) const {
    std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(pcre2_match_data_create(1, nullptr),
                                                                             &pcre2_match_data_free);
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, data.get(),
                       nullptr) >= 0;
  }

 private:
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_;
};

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }

  std::string pattern(int depth) {
    static const std::vector<std::string> atoms = {"a",    "b",      "c",   "é",   ".",  "[ab]",
                                                   "[^a]", "[^b-é]", "\\w", "\\d", "\\W"};
    static const std::vector<std::string> counts = {"*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"};
    static const std::vector<std::string> edges = {"^", "$", "\\b", "\\B"};
    std::string out;
    for (size_t n = below(3) + 1; n > 0; --n) {
      const size_t kind = below(12);
      if (kind == 0 && depth > 0) {
        out += "(?" + std::string(below(2) == 0 ? "=" : "!") + pattern(depth - 1) + ")";
      } else if (kind == 1 && depth > 0) {
        out += "(?<" + std::string(below(2) == 0 ? "=" : "!") + atoms[below(8)] + atoms[below(8)] + ")";
      } else if (kind == 2) {
        out += edges[below(edges.size())];
      } else {
        out += depth > 0 && kind < 6 ? "(?:" + pattern(depth - 1) + ")" : atoms[below(atoms.size())];
        if (below(2) == 0) out += counts[below(counts.size())];
      }
    }
    return below(4) == 0 && depth > 0 ? out + "|" + pattern(depth - 1) : out;
  }

  std::string text() {
    static const std::vector<std::string> chars = {"a", "a", "b", "b", "c", "é", "1", " ", "\n", "🐲"};
    std::string out;
    for (size_t n = below(7); n > 0; --n) out += chars[below(chars.size())];
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

TEST(RegexDfa, AgreesWithPcre) {
  Random random(7);
  int n_compared = 0;
  for (int i = 0; i < 1'500; ++i) {
    const std::string pattern = random.pattern(3);
    const Pcre other(pattern);
    ASSERT_TRUE(other.good()) << pattern;
    Budget budget;
    const SymbolDfa dfa = regex_dfa(pattern, budget);
    for (int k = 0; k < 20; ++k) {
      const std::string text = random.text();
      ASSERT_EQ(dfa.matches(text), other.matches(text)) << pattern << " on \"" << text << '"';
      ++n_compared;
    }
  }
  EXPECT_EQ(n_compared, 30'000);
}

}  // namespace
}  // namespace tally::grammar
