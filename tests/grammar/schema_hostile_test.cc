// The shared records of hostile schemas: refused where no value exists or the text is wrong, within limits everywhere.
#include <gtest/gtest.h>
#include <pthread.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/base64.h"
#include "grammar/rules_oracle.h"
#include "support.h"
#include "text/grammar/schema.h"

namespace tally::test {
namespace {

using Json = nlohmann::ordered_json;

std::string expand_recipe(const Json& recipe) {
  std::string out;
  for (const Json& part : recipe) {
    const std::string text = part.at("text");
    for (int i = 0; i < part.at("count").get<int>(); ++i) {
      for (size_t at = 0; at < text.size(); ++at) {
        if (text.compare(at, 3, "{i}") == 0 || text.compare(at, 3, "{j}") == 0) {
          out += std::to_string(text[at + 1] == 'i' ? i : i + 1);
          at += 2;
        } else {
          out += text[at];
        }
      }
    }
  }
  return out;
}

std::string schema_text(const Json& record) {
  if (record.contains("schema")) return record["schema"].dump();
  if (record.contains("schema_text")) return record["schema_text"];
  if (record.contains("schema_base64")) {
    const auto bytes = base64_decode(record["schema_base64"].get<std::string>());
    return {bytes->begin(), bytes->end()};
  }
  return expand_recipe(record.at("recipe"));
}

void check_record(const Json& record) {
  const std::string name = record.at("name"), expect = record.at("expect");
  const std::string text = schema_text(record);
  grammar::Rules rules;
  try {
    rules = grammar::compile_schema(text);
  } catch (const grammar::ConstraintError& e) {
    EXPECT_NE(expect, "ok") << name << ": " << e.constraint_code() << " at " << e.path() << ": " << e.what();
    if (record.contains("path")) {
      EXPECT_TRUE(e.path().starts_with(record["path"].get<std::string>())) << name << " " << e.path();
    }
    return;
  }
  EXPECT_NE(expect, "refuse") << name;
  RulesOracle oracle(rules);
  for (const Json& t : record.value("accept", Json::array()))
    EXPECT_TRUE(oracle.accepts(t.get<std::string>())) << name << t;
  for (const Json& t : record.value("reject", Json::array()))
    EXPECT_FALSE(oracle.accepts(t.get<std::string>())) << name << t;
}

std::string branches(const std::string& keyword, int n, const std::string& before, const std::string& after) {
  std::string out = "{\"" + keyword + "\":[";
  for (int i = 0; i < n; ++i) out += (i > 0 ? "," : "") + before + std::to_string(i) + after;
  return out + "]}";
}

// Sizes at which comparing every branch with every other one would show.
TEST(SchemaHostile, ManyBranches) {
  const grammar::Rules words = grammar::compile_schema(branches("oneOf", 5'000, R"({"const":"v)", "\"}"));
  EXPECT_TRUE(RulesOracle(words).accepts("\"v4999\""));
  EXPECT_FALSE(RulesOracle(words).accepts("\"v5000\""));
  const std::string object = R"(,"v":{"type":"integer"}},"required":["k","v"],"additionalProperties":false})";
  const grammar::Rules tagged =
      grammar::compile_schema(branches("oneOf", 300, R"({"type":"object","properties":{"k":{"const":)", "}" + object));
  EXPECT_TRUE(RulesOracle(tagged).accepts(R"({"k":299,"v":1})"));
  EXPECT_FALSE(RulesOracle(tagged).accepts(R"({"k":300,"v":1})"));
}

// The oracle is the plain definition and recurses as deep as a text; sanitizers make its frames large.
void on_a_deep_stack(void (*body)()) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t(1) << 30), 0);
  pthread_t thread;
  auto start = [](void* f) -> void* {
    reinterpret_cast<void (*)()>(f)();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, reinterpret_cast<void*>(body)), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

void check_records(std::istream& in) {
  for (std::string line; std::getline(in, line);) {
    const Json record = Json::parse(line);
    if (record.at("kind") == "schema") check_record(record);
  }
}

TEST(SchemaHostile, Records) {
  auto shared = shared_data();
  if (!shared) GTEST_SKIP() << kNoSharedData;
  on_a_deep_stack([] {
    std::ifstream in(*shared_data() / "data" / "grammar" / "hostile.jsonl");
    check_records(in);
  });
}

}  // namespace
}  // namespace tally::test
