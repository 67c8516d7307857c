// Records of schemas with accepted and refused texts, judged by the definition of Rules and by the automaton. A part of
// the shared data lies in tests/data/grammar (written for it, CC0), so that a plain clone tests something real.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "grammar/rules_oracle.h"
#include "support.h"
#include "text/grammar/matcher.h"
#include "text/grammar/schema.h"

namespace tally::test {
namespace {

using Json = nlohmann::ordered_json;

void check_record(const Json& record) {
  const std::string name = record.at("name");
  const bool may_refuse = !record.at("strict_unsupported").empty();
  grammar::Rules rules;
  try {
    rules = grammar::compile_schema(record.at("schema").dump());
  } catch (const grammar::ConstraintError& e) {
    const bool none = e.constraint_code() == "unsatisfiable" && record.at("accept").empty();
    EXPECT_TRUE(may_refuse || none) << name << ": " << e.constraint_code() << " at " << e.path() << ": " << e.what();
    EXPECT_NE(e.constraint_code(), "invalid_schema") << name << ": " << e.path() << ": " << e.what();
    return;
  }
  RulesOracle oracle(rules);
  grammar::Matcher matcher(grammar::Automaton::compile(rules));
  for (const char* verdict : {"accept", "reject"}) {
    const bool expected = verdict[0] == 'a';
    for (const Json& t : record.at(verdict)) {
      const std::string text = t;
      if (text.size() < 2'000) {
        EXPECT_EQ(oracle.accepts(text), expected) << name << ": " << t;
      }
      matcher.reset();
      EXPECT_EQ(matcher.accept(text) && matcher.can_end(), expected) << name << " (automaton): " << t;
    }
  }
}

int check_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  int n = 0;
  for (std::string line; std::getline(in, line); ++n) check_record(Json::parse(line));
  return n;
}

TEST(SchemaData, OwnRecords) {
  EXPECT_GT(check_file(std::filesystem::path(TALLY_SOURCE_DIR) / "tests" / "data" / "grammar" / "schemas.jsonl"), 100);
}

TEST(SchemaData, SharedRecords) {
  auto shared = shared_data();
  if (!shared) GTEST_SKIP() << kNoSharedData;
  EXPECT_GT(check_file(*shared / "data" / "grammar" / "schemas.jsonl"), 400);
}

TEST(SchemaData, DeclarationsOfRealTools) {
  auto shared = shared_data();
  if (!shared) GTEST_SKIP() << kNoSharedData;
  std::ifstream in(*shared / "data" / "grammar" / "real_tools.json");
  for (const Json& tool : Json::parse(in)) {
    const std::string name = tool.at("name");
    grammar::Rules rules;
    ASSERT_NO_THROW(rules = grammar::compile_schema(tool.at("parameters").dump())) << name;
    RulesOracle oracle(rules);
    for (const Json& v : tool.at("invalid")) EXPECT_FALSE(oracle.accepts(v.dump())) << name << ": " << v;
    for (const Json& v : tool.at("valid")) {
      // Keys in declared order are what is promised; the arguments stand so.
      EXPECT_TRUE(oracle.accepts(v.dump())) << name << ": " << v;
    }
  }
}

}  // namespace
}  // namespace tally::test
