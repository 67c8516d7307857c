// Refusals name a code and a place.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/grammar/schema.h"

namespace tally::grammar {
namespace {

struct Case {
  std::string schema, code, path;
};

TEST(SchemaErrors, CodeAndPointer) {
  const std::vector<Case> cases = {
      {"", "not_json", ""},
      {"{\"type\":\"string\",}", "not_json", ""},
      {"{\"a\":1}}", "not_json", ""},
      {"[", "not_json", ""},
      {"{\"const\":\"\\ud800\"}", "not_json", ""},
      {"{\"const\":\"\xC0\xAF\"}", "not_json", ""},
      {"12", "invalid_schema", ""},
      {"{\"type\":\"text\"}", "invalid_schema", "/type"},
      {"{\"properties\":{\"a\":5}}", "invalid_schema", "/properties/a"},
      {"{\"properties\":{\"a/b~\":{\"minLength\":\"3\"}}}", "invalid_schema", "/properties/a~1b~0/minLength"},
      {"{\"anyOf\":[]}", "invalid_schema", "/anyOf"},
      {"{\"anyOf\":[{},{\"maximum\":[1]}]}", "invalid_schema", "/anyOf/1/maximum"},
      {"{\"items\":[{}]}", "invalid_schema", "/items"},
      {"{\"multipleOf\":0}", "invalid_schema", "/multipleOf"},
      {"{\"maxItems\":2.5}", "invalid_schema", "/maxItems"},
      {"{\"type\":\"string\",\"type\":\"integer\"}", "invalid_schema", ""},
      {"{\"$defs\":{\"unused\":{\"pattern\":1}}}", "invalid_schema", "/$defs/unused/pattern"},
      {"{\"pattern\":\"(\"}", "invalid_schema", "/pattern"},
      {"{\"patternProperties\":{\"[\":true}}", "invalid_schema", "/patternProperties/["},
      {"{\"pattern\":\"(a)\\\\1\"}", "unsupported", "/pattern"},
      {"{\"format\":\"regex\"}", "unsupported", "/format"},
      {"{\"$ref\":\"#/$defs/none\"}", "reference", "/$ref"},
      {"{\"$ref\":\"other.json\"}", "reference", "/$ref"},
      {"{\"$ref\":\"file:///etc/passwd\"}", "reference", "/$ref"},
      {"{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}},\"$ref\":\"#/$defs/a\"}", "reference", "/$defs/a/$ref"},
      {"{\"allOf\":[{\"$ref\":\"#\"}]}", "reference", ""},
      {"{\"type\":\"integer\",\"minimum\":1.2,\"maximum\":1.8}", "unsatisfiable", ""},
      {"{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"minItems\":1}", "unsatisfiable", ""},
      {"{\"const\":\"abc\",\"pattern\":\"^x\"}", "unsatisfiable", ""},
      {"{\"multipleOf\":999983}", "limit", "/multipleOf"},
  };
  for (const Case& c : cases) {
    try {
      compile_schema(c.schema);
      ADD_FAILURE() << "compiled: " << c.schema;
    } catch (const ConstraintError& e) {
      EXPECT_EQ(e.constraint_code(), c.code) << c.schema << ": " << e.what();
      EXPECT_EQ(e.path(), c.path) << c.schema << ": " << e.what();
      EXPECT_STRNE(e.what(), "");
    }
  }
}

TEST(SchemaErrors, LimitsAreNamed) {
  SchemaOptions options;
  options.max_bytes = 10;
  options.max_depth = 3;
  for (const char* schema : {"{\"type\": \"null\"}", "[[[[]]]]"}) {
    try {
      compile_schema(schema, options);
      ADD_FAILURE() << schema;
    } catch (const ConstraintError& e) {
      EXPECT_EQ(e.constraint_code(), "limit");
      ASSERT_TRUE(e.limit() && e.found());
      EXPECT_GT(*e.found(), *e.limit());
    }
  }
}

TEST(SchemaErrors, WarnsOfWhatHasNoEffect) {
  std::vector<std::string> warnings;
  compile_schema("{\"properties\":{\"a\":{\"type\":\"string\",\"format\":\"colour\",\"nullable\":true}}}", {},
                 &warnings);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(warnings[0].starts_with("/properties/a/nullable: ")) << warnings[0];
  EXPECT_TRUE(warnings[1].starts_with("/properties/a/format: ")) << warnings[1];
}

}  // namespace
}  // namespace tally::grammar
