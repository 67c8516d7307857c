// The shared records of schemas: accepted and refused texts, judged by the definition of Rules.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "grammar/rules_oracle.h"
#include "support.h"
#include "text/grammar/schema.h"

namespace tally::test {
namespace {

using Json = nlohmann::ordered_json;

struct Tally {
  int compiled = 0, refused = 0, wrongly_refused = 0;
};

void check_record(const Json& record, Tally& tally) {
  const std::string name = record.at("name");
  const bool may_refuse = !record.at("strict_unsupported").empty();
  grammar::Rules rules;
  try {
    rules = grammar::compile_schema(record.at("schema").dump());
  } catch (const grammar::ConstraintError& e) {
    ++tally.refused;
    const bool none = e.constraint_code() == "unsatisfiable" && record.at("accept").empty();
    tally.wrongly_refused += !may_refuse && !none;
    EXPECT_TRUE(may_refuse || none) << name << ": " << e.constraint_code() << " at " << e.path() << ": " << e.what();
    EXPECT_NE(e.constraint_code(), "invalid_schema") << name << ": " << e.path() << ": " << e.what();
    return;
  }
  ++tally.compiled;
  RulesOracle oracle(rules);
  for (const Json& text : record.at("accept"))
    EXPECT_TRUE(oracle.accepts(text.get<std::string>())) << name << ": " << text;
  for (const Json& text : record.at("reject"))
    EXPECT_FALSE(oracle.accepts(text.get<std::string>())) << name << ": " << text;
}

TEST(SchemaData, AcceptsAndRefuses) {
  auto shared = shared_data();
  if (!shared) GTEST_SKIP() << kNoSharedData;
  std::ifstream in(*shared / "data" / "grammar" / "schemas.jsonl");
  Tally tally;
  for (std::string line; std::getline(in, line);) check_record(Json::parse(line), tally);
  EXPECT_EQ(tally.wrongly_refused, 0);
  printf("%d compiled, %d refused\n", tally.compiled, tally.refused);
}

}  // namespace
}  // namespace tally::test
