// The properties of a tool's parameters, for call formats that are not JSON.
#include <gtest/gtest.h>

#include "grammar/rules_oracle.h"
#include "text/grammar/schema.h"

namespace tally::test {
namespace {

using grammar::Rules;

TEST(SchemaObject, ListsDeclaredProperties) {
  Rules rules;
  const auto o = grammar::add_object_properties(rules, R"({"type":"object","properties":{
    "city":{"type":"string"},"unit":{"enum":["c","f"]},"days":{"type":"integer","minimum":1},
    "tags":{"type":"array","items":{"$ref":"#/$defs/tag"}},"never":false},
    "$defs":{"tag":{"type":"string","maxLength":2}},"required":["city"],"additionalProperties":false})");
  ASSERT_EQ(o.properties.size(), 4u);
  EXPECT_EQ(o.properties[0].name, "city");
  EXPECT_TRUE(o.properties[0].required && o.properties[0].any_string && o.properties[0].is_string);
  EXPECT_TRUE(o.properties[1].is_string && !o.properties[1].any_string && !o.properties[1].required);
  EXPECT_EQ(o.properties[1].strings, (std::vector<std::string>{"c", "f"}));
  EXPECT_FALSE(o.properties[2].is_string);
  EXPECT_FALSE(o.more);
  EXPECT_TRUE(o.exact);
  RulesOracle oracle(rules);
  EXPECT_TRUE(oracle.accepts(o.properties[2].value, "12"));
  EXPECT_FALSE(oracle.accepts(o.properties[2].value, "0"));
  EXPECT_TRUE(oracle.accepts(o.properties[3].value, R"(["ab", "c"])"));
  EXPECT_FALSE(oracle.accepts(o.properties[3].value, R"(["abc"])"));
}

TEST(SchemaObject, SaysWhenThereIsMore) {
  Rules rules;
  auto o = grammar::add_object_properties(rules, R"({"type":"object","additionalProperties":{"type":"integer"}})");
  EXPECT_TRUE(o.more && o.exact && o.properties.empty());
  EXPECT_TRUE(RulesOracle(rules).accepts(o.more_value, "5"));
  EXPECT_FALSE(RulesOracle(rules).accepts(o.more_value, "\"x\""));
  o = grammar::add_object_properties(rules, R"({"type":"object","properties":{"a":true},"minProperties":1})");
  EXPECT_FALSE(o.exact);
  EXPECT_THROW(grammar::add_object_properties(rules, R"({"anyOf":[{"type":"object","required":["a"]},
                                                                  {"type":"object","required":["b"]}]})"),
               grammar::ConstraintError);
  EXPECT_THROW(grammar::add_object_properties(rules, R"({"type":"string"})"), grammar::ConstraintError);
}

TEST(SchemaObject, StandsInsideOtherRules) {
  Rules rules;
  const grammar::NodeId value = grammar::add_schema(rules, R"({"type":"array","items":{"$ref":"#"}})");
  rules.set_root(rules.sequence({rules.literal("<call>"), value, rules.literal("</call>")}));
  RulesOracle oracle(rules);
  EXPECT_TRUE(oracle.accepts("<call>[[],[[]]]</call>"));
  EXPECT_FALSE(oracle.accepts("<call>[1]</call>"));
}

}  // namespace
}  // namespace tally::test
