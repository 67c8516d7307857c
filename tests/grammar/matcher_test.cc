// The compiled automaton against the definition of rules, and the way back.
#include "text/grammar/matcher.h"

#include <gtest/gtest.h>

#include "grammar/random_rules.h"
#include "grammar/reference.h"
#include "text/grammar/constraint_error.h"
#include "text/grammar/gbnf.h"

namespace tally::grammar {
namespace {

bool accepts(Matcher& m, std::string_view text) {
  m.reset();
  for (char c : text)
    if (!m.accept(static_cast<uint8_t>(c))) return false;
  return m.can_end();
}
bool accepts(const char* grammar, std::string_view text) {
  Matcher m(compile_gbnf(grammar));
  return accepts(m, text);
}
std::string code_of(const char* grammar) {
  try {
    compile_gbnf(grammar);
  } catch (const ConstraintError& e) {
    return e.constraint_code() + " " + e.path();
  }
  return "";
}

TEST(Matcher, AgreesWithTheDefinitionOnRandomGrammars) {
  int n_compiled = 0, n_accepted = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    test::RandomRules random(seed);
    const Rules rules = random.make();
    std::shared_ptr<const Automaton> automaton;
    try {
      automaton = Automaton::compile(rules);
    } catch (const ConstraintError& e) {
      for (int i = 0; i < 10 && e.constraint_code() == "unsatisfiable"; ++i) {
        EXPECT_FALSE(test::reference_accepts(rules, random.text(6))) << seed;
      }
      continue;
    }
    ++n_compiled;
    Matcher m(automaton);
    for (int i = 0; i < 25; ++i) {
      const std::string text = random.text(i < 12 ? 4 : 9);
      const bool expected = test::reference_accepts(rules, text);
      n_accepted += expected;
      ASSERT_EQ(accepts(m, text), expected) << "seed " << seed << " text " << text;
    }
  }
  EXPECT_GT(n_compiled, 200);
  EXPECT_GT(n_accepted, 500);
}

TEST(Matcher, NothingRefusedEarlyAndNothingKeptAlive) {
  // Every living state reaches an accepting one: extend at random by what is allowed, within a bound.
  for (uint64_t seed = 0; seed < 60; ++seed) {
    test::RandomRules random(seed);
    const Rules rules = random.make();
    std::shared_ptr<const Automaton> automaton;
    try {
      automaton = Automaton::compile(rules);
    } catch (const ConstraintError&) {
      continue;
    }
    Matcher m(automaton);
    for (int i = 0; i < 8; ++i) {
      const ByteSet& allowed = m.table().allowed(m.state());
      bool any = m.can_end();
      for (uint8_t c : {'a', 'b', 'c'}) {
        EXPECT_EQ(allowed.has(c), m.table().step(m.state(), c) != 0) << seed;
        any = any || allowed.has(c);
      }
      EXPECT_TRUE(any) << seed;
      if (!m.accept(random.text(1))) break;
    }
  }
}

TEST(Matcher, TokensAreTakenWholeOrNotAtAllAndTakenBack) {
  Matcher m(compile_gbnf("root ::= \"(\" root \")\" | [0-9]{2,4}"));
  EXPECT_TRUE(m.accept("((1"));
  const StateId before = m.state();
  EXPECT_FALSE(m.accept("2)))"));
  EXPECT_EQ(m.state(), before);
  EXPECT_TRUE(m.accept("2"));
  EXPECT_TRUE(m.accept("))"));
  EXPECT_TRUE(m.can_end());
  m.rollback(2);
  EXPECT_EQ(m.state(), before);
  EXPECT_TRUE(m.accept("234"));
  EXPECT_FALSE(m.accept("5"));
  EXPECT_TRUE(m.accept("))"));
  EXPECT_TRUE(m.can_end());
}

TEST(Matcher, LargeCountsAreCounted) {
  Matcher m(compile_gbnf("root ::= \"a\"{1000,1002} \"b\""));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(m.accept("a"));
  EXPECT_TRUE(m.accept("aa"));
  EXPECT_FALSE(m.accept("a"));
  EXPECT_TRUE(m.accept("b"));
  EXPECT_TRUE(m.can_end());
  EXPECT_TRUE(accepts("root ::= (\"a\" \"b\"?){2,18446744073709551614}", "aab"));
}

TEST(Matcher, ForgetsWhenFullAndGoesOn) {
  StateLimits limits;
  limits.bytes = 64 << 10;
  Matcher m(compile_gbnf("root ::= (\"a\" [0-9]){100000}"), limits);
  for (int i = 0; i < 20000; ++i) {
    ASSERT_TRUE(m.accept("a")) << i;
    ASSERT_TRUE(m.accept("7"));
    if (i % 1000 == 999) {
      const StateId here = m.state();
      ASSERT_TRUE(m.accept("a"));
      m.rollback(1);
      EXPECT_EQ(m.state(), here);
      m.rollback(20);
      for (int k = 0; k < 20; ++k) ASSERT_TRUE(m.accept(k % 2 ? "7" : "a"));
    }
  }
  EXPECT_GT(m.generation(), 2u);
  EXPECT_LT(m.table().bytes(), 400u << 10);
}

TEST(Matcher, AmbiguityStaysSmall) {
  // 2^n readings; shared stacks keep the work linear.
  Matcher m(compile_gbnf("root ::= \"a\" root \"x\" | \"a\" root \"y\" | \"b\""));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(m.accept("a"));
  ASSERT_TRUE(m.accept("b"));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(m.accept(i % 3 ? "x" : "y"));
  EXPECT_TRUE(m.can_end());
  EXPECT_FALSE(m.accept("x"));
}

TEST(Automaton, RefusesWhatCannotBeObeyed) {
  EXPECT_EQ(code_of("root ::= \"a\" root"), "unsatisfiable 1:1");
  EXPECT_EQ(code_of("root ::= \"x\" | a\na ::= a \"y\" | \"z\""), "unsupported 2:1");
  EXPECT_EQ(code_of("root ::= opt root \"a\" | \"b\"\nopt ::= \"z\"?"), "unsupported 1:1");
  EXPECT_EQ(code_of("root ::= \"ok\" | dead\ndead ::= dead \"x\""), "");
  // A rule that may be itself and nothing else adds no text.
  EXPECT_TRUE(accepts("root ::= root | \"b\" | \"a\" root", "aab"));
  EXPECT_TRUE(accepts("root ::= \"z\"? root | \"b\"", "zzb"));
}

}  // namespace
}  // namespace tally::grammar
