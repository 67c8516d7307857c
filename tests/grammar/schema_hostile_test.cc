// The shared records of hostile schemas: refused where no value exists or the text is wrong, within limits everywhere.
#include <gtest/gtest.h>

#include <chrono>
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
  auto t0 = std::chrono::steady_clock::now();
  auto done = [&](const char* what) {
    double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
    if (getenv("TALLY_VERBOSE") && (s > 0.02))
      printf("%6.3f s of %s: %s %s %d nodes %.1f MiB\n", s, record["seconds"].dump().c_str(), name.c_str(), what,
             rules.n_nodes(), rules.memory_bytes() / 1048576.0);
  };
  try {
    rules = grammar::compile_schema(text);
  } catch (const grammar::ConstraintError& e) {
    done(e.what());
    EXPECT_NE(expect, "ok") << name << ": " << e.constraint_code() << " at " << e.path() << ": " << e.what();
    if (record.contains("path")) {
      EXPECT_TRUE(e.path().starts_with(record["path"].get<std::string>())) << name << " " << e.path();
    }
    return;
  }
  done("compiled");
  EXPECT_NE(expect, "refuse") << name;
  RulesOracle oracle(rules);
  for (const Json& t : record.value("accept", Json::array()))
    EXPECT_TRUE(oracle.accepts(t.get<std::string>())) << name << t;
  for (const Json& t : record.value("reject", Json::array()))
    EXPECT_FALSE(oracle.accepts(t.get<std::string>())) << name << t;
}

TEST(SchemaHostile, Records) {
  auto shared = shared_data();
  if (!shared) GTEST_SKIP() << kNoSharedData;
  std::ifstream in(*shared / "data" / "grammar" / "hostile.jsonl");
  for (std::string line; std::getline(in, line);) {
    const Json record = Json::parse(line);
    if (record.at("kind") == "schema") check_record(record);
  }
}

}  // namespace
}  // namespace tally::test
