// Grammars in GBNF: the shared cases, and where errors point.
#include "text/grammar/gbnf.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.h"
#include "text/grammar/constraint_error.h"
#include "text/grammar/matcher.h"

namespace tally::grammar {
namespace {

std::string error_of(std::string_view grammar) {
  try {
    compile_gbnf(grammar);
  } catch (const ConstraintError& e) {
    return e.constraint_code() + " " + e.path();
  }
  return "";
}

int check_cases(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  int n = 0;
  while (std::getline(in, line)) {
    const auto row = nlohmann::json::parse(line);
    Matcher m(compile_gbnf(row["grammar"].get<std::string>()));
    for (const char* list : {"accept", "reject"})
      for (const std::string text : row[list]) {
        m.reset();
        bool taken = true;
        for (char c : text) taken = taken && m.accept(static_cast<uint8_t>(c));
        EXPECT_EQ(taken && m.can_end(), std::string(list) == "accept") << row["name"] << ": " << text;
        ++n;
      }
  }
  return n;
}

TEST(Gbnf, CasesOfTheRepository) {
  EXPECT_GT(check_cases(std::filesystem::path(TALLY_SOURCE_DIR) / "tests/data/grammar/gbnf.jsonl"), 200);
}

TEST(Gbnf, SharedCases) {
  const auto shared = test::shared_data();
  if (!shared) GTEST_SKIP() << test::kNoSharedData;
  EXPECT_GT(check_cases(*shared / "data/grammar/gbnf.jsonl"), 200);
}

TEST(Gbnf, ErrorsNameThePlace) {
  EXPECT_EQ(error_of("start ::= \"a\"\n"), "invalid_grammar 2:1");
  EXPECT_EQ(error_of("root ::= \"a\" missing\n"), "invalid_grammar 1:14");
  EXPECT_EQ(error_of("root ::= \"é\" \"abc\n"), "invalid_grammar 1:14");
  EXPECT_EQ(error_of("root ::= a\na ::= (\"x\"\n"), "invalid_grammar 2:7");
  EXPECT_EQ(error_of("root ::= \"a\")"), "invalid_grammar 1:13");
  EXPECT_EQ(error_of("root ::= * \"a\""), "invalid_grammar 1:10");
  EXPECT_EQ(error_of("root : \"a\""), "invalid_grammar 1:6");
  EXPECT_EQ(error_of("root ::= \"a\"{2,"), "invalid_grammar 1:16");
  EXPECT_EQ(error_of("root ::= \"a\"{18446744073709551617}"), "invalid_grammar 1:14");
  EXPECT_EQ(error_of("root ::= [\\uD800]"), "invalid_grammar 1:11");
  EXPECT_EQ(error_of("root ::= \"\\q\""), "invalid_grammar 1:11");
  EXPECT_EQ(error_of("root ::= \"a\"\nroot ::= \"b\""), "invalid_grammar 2:1");
  EXPECT_EQ(error_of("root ::= <think>"), "unsupported 1:10");
  EXPECT_EQ(error_of("root ::= \xff"), "invalid_grammar 1:10");
  EXPECT_EQ(error_of(""), "invalid_grammar 1:1");
  EXPECT_EQ(error_of("root ::= \"a\\"), "invalid_grammar 1:12");
}

TEST(Gbnf, DeepAndLongInputsNeitherRecurseNorGrow) {
  const std::string deep = "root ::= " + std::string(100000, '(') + "\"a\"" + std::string(100000, ')');
  Matcher m(compile_gbnf(deep));
  EXPECT_TRUE(m.accept("a"));
  std::string nested = "root ::= " + std::string(100000, '(') + "\"a\"";
  for (int i = 0; i < 100000; ++i) nested += ")?";
  EXPECT_TRUE(Matcher(compile_gbnf(nested)).accept("a"));
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 20000; ++i)
    chain += "r" + std::to_string(i) + " ::= \"x\" r" + std::to_string(i + 1) + " \"y\"\n";
  chain += "r20000 ::= \"a\"\n";
  Matcher long_chain(compile_gbnf(chain));
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(long_chain.accept("x"));
  ASSERT_TRUE(long_chain.accept("a"));
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(long_chain.accept("y"));
  EXPECT_TRUE(long_chain.can_end());
}

}  // namespace
}  // namespace tally::grammar
