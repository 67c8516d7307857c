// Combinations of keywords that are easy to get wrong: what each schema takes and refuses.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/rules_oracle.h"
#include "text/grammar/schema.h"

namespace tally::test {
namespace {

struct Case {
  std::string schema;
  std::vector<std::string> accept, reject;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const grammar::Rules rules = grammar::compile_schema(c.schema);
    RulesOracle oracle(rules);
    for (const std::string& t : c.accept) EXPECT_TRUE(oracle.accepts(t)) << c.schema << " refuses " << t;
    for (const std::string& t : c.reject) EXPECT_FALSE(oracle.accepts(t)) << c.schema << " accepts " << t;
  }
}

TEST(SchemaValues, Numbers) {
  check({
      {R"({"type":"number","maximum":2.75})",
       {"2.7", "2.75", "-100.5", "2.750"},
       {"2.76", "2.7501", "3", "1e0", "-0", "-0.0"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"0.001", "1"}, {"0", "0.0", "-0.0", "-1"}},
      {R"({"type":"number","minimum":-1.5,"exclusiveMaximum":-0.05})",
       {"-1.5", "-1", "-0.051"},
       {"-1.51", "-0.05", "-0.04", "0"}},
      {R"({"type":"integer","minimum":-12,"maximum":105})",
       {"-12", "-1", "0", "99", "105"},
       {"-13", "106", "1.0", "-0", "007"}},
      {R"({"type":"number","multipleOf":0.25})", {"0", "0.25", "-1.5", "3", "1.750"}, {"0.1", "0.125", "0.26"}},
      {R"({"multipleOf":3,"type":"integer","minimum":100})", {"102", "999"}, {"99", "100", "101"}},
      {R"({"not":{"type":"integer"},"type":"number"})", {"1.5"}, {"1", "1.0", "1.00"}},
      {R"({"type":"number","not":{"const":1.5}})", {"1.51", "1"}, {"1.5", "1.50"}},
      {R"({"const":100e-2})", {"1"}, {"1.0", "10"}},
      {R"({"oneOf":[{"type":"integer","maximum":10},{"type":"integer","minimum":5}]})", {"4", "11"}, {"5", "10", "7"}},
      {R"({"minimum":123456789012345678901234567890,"maximum":123456789012345678901234567899,"type":"integer"})",
       {"123456789012345678901234567890", "123456789012345678901234567895"},
       {"123456789012345678901234567889", "123456789012345678901234567900", "1"}},
  });
}

TEST(SchemaValues, Strings) {
  check({
      {R"({"type":"string","maxLength":2})",
       {R"("")", R"("é🐲")", R"("\"\\")", R"("\u001f\n")"},
       {R"("abc")", R"("\/")", "\"a", R"("\u0061")"}},
      {R"({"type":"string","pattern":"^[^\"]*$"})", {R"("a\\b")"}, {R"("a\"b")"}},
      {R"({"type":"string","pattern":"^[a-z]*$","minLength":2,"maxLength":3})",
       {R"("ab")", R"("abc")"},
       {R"("a")", R"("abcd")", R"("AB")"}},
      {R"({"anyOf":[{"type":"string","maxLength":1},{"type":"string","minLength":3}]})",
       {R"("")", R"("abc")"},
       {R"("ab")"}},
      {R"({"type":"string","not":{"enum":["admin","root"]}})",
       {R"("adm")", R"("roots")", R"("")"},
       {R"("admin")", R"("root")"}},
      {R"({"oneOf":[{"type":"string","pattern":"^a"},{"type":"string","pattern":"z$"}]})",
       {R"("ab")", R"("bz")"},
       {R"("az")", R"("b")"}},
      {R"({"enum":["a","ab","a\u0001"],"minLength":2})", {R"("ab")", R"("a\u0001")"}, {R"("a")"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")"},
       {R"("2023-02-29")", R"("2024-02-30")", R"("0000-01-01")"}},
      {R"({"type":"string","format":"ipv6"})",
       {R"("::ffff:192.0.2.1")", R"("1::")"},
       {R"("1:2:3:4:5:6:7:8::")", R"("::1::")"}},
      {R"({"type":"string","format":"duration"})",
       {R"("P1Y2M3DT4H5M6S")", R"("PT36H")", R"("P4DT12H")", R"("P3W")"},
       {R"("P1Y2D")", R"("PT1H2S")", R"("P")", R"("P1DT")", R"("P1W2D")"}},
      {R"({"type":"string","format":"uri-template"})",
       {R"("/a/{b.c,d:3}{?e*}")"},
       {R"("{a..b}")", R"("{a")", R"("{.}")"}},
      {R"({"type":"string","format":"email"})", {R"("a.b@c.io")"}, {R"("a@")", R"("@b.io")", R"("a..b@c.io")"}},
  });
}

TEST(SchemaValues, Arrays) {
  check({
      {R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":1})",
       {"[1]", R"([1,"a"])"},
       {"[]", "[1,2]"}},
      {R"({"type":"array","prefixItems":[true,false],"items":true})", {"[]", "[1]"}, {"[1,2]"}},
      {R"({"type":"array","items":{"type":"integer"},"contains":{"minimum":10},"minContains":2,"maxContains":3})",
       {"[10,1,11]", "[10,10,10]"},
       {"[10]", "[10,10,10,10]", "[]", "[1, 2]"}},
      {R"({"type":"array","contains":false,"minContains":0})", {"[]", "[1]"}, {"1"}},
      {R"({"type":"array","items":{"enum":["a","b",1]},"uniqueItems":true})",
       {R"(["b", 1,"a"])", "[]"},
       {R"(["a","a"])", "[1,1]"}},
      {R"({"type":"array","not":{"items":{"type":"integer"}}})", {R"([1,"a"])", R"(["a",1])"}, {"[]", "[1,2]"}},
      {R"({"type":"array","not":{"minItems":2}})", {"[]", "[1]"}, {"[1,2]"}},
      {R"({"type":"array","maxItems":1000000000,"items":{"type":"null"}})", {"[]", "[null, null]"}, {"[null,]"}},
      {R"({"type":"array","prefixItems":[true],"contains":{"type":"string"},"unevaluatedItems":false})",
       {R"(["a"])", R"([1,"a","b"])"},
       {R"([1])", R"([1,"a",2])"}},
      {R"({"const":[1,{"a":[]}]})", {R"([1,{"a":[]}])", R"([1, {"a": []}])"}, {R"([1,{"a":[1]}])", R"([1 ,{"a":[]}])"}},
  });
}

TEST(SchemaValues, Objects) {
  check({
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},"required":["b"]})",
       {R"({"b":null})", R"({"a":1,"b":null})"},
       {R"({"a":1})", R"({"a":1,"b":null,})", R"({"b":null,"c":1})"}},
      {R"({"properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"string"},"type":"object"})",
       {R"({"a":1,"b":"x"})", R"({"aa":"x"})", "{}"},
       {R"({"b":1})", R"({"a":"x"})"}},
      {R"({"type":"object","patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":5}},"additionalProperties":false})",
       {R"({"x":1,"y":"s"})", R"({"xy":7})"},
       {R"({"xy":1})", R"({"z":1})", R"({"y":1})"}},
      {R"({"type":"object","propertyNames":{"maxLength":2},"minProperties":1,"maxProperties":2})",
       {R"({"ab":1})", R"({"a":1,"b":2})"},
       {"{}", R"({"abc":1})", R"({"a":1,"b":2,"c":3})"}},
      {R"({"type":"object","properties":{"a":true,"b":true},"dependentRequired":{"a":["b"]},"additionalProperties":false})",
       {"{}", R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"a":1})"}},
      {R"({"type":"object","properties":{"k":{"enum":["x","y"]},"v":true},"required":["k"],"additionalProperties":false,
          "if":{"properties":{"k":{"const":"x"}}},"then":{"required":["v"]}})",
       {R"({"k":"x","v":1})", R"({"k":"y"})"},
       {R"({"k":"x"})"}},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]}],"type":"object","properties":{"b":true},
          "unevaluatedProperties":false})",
       {R"({"a":1})", R"({"a":1,"b":2})"},
       {R"({"a":1,"c":2})", "{}"}},
      {R"({"type":"object","anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":2}},"required":["b"]}],
          "unevaluatedProperties":false})",
       {R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
       {R"({"a":1,"b":3})", R"({"a":1,"c":1})"}},
      {R"({"type":"object","not":{"additionalProperties":{"type":"integer"}}})",
       {R"({"a":"x"})", R"({"a":1,"b":null})"},
       {"{}", R"({"a":1})"}},
      {R"({"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/n"}},"required":["v"],
          "additionalProperties":false}},"$ref":"#/$defs/n","maxProperties":1})",
       {R"({"v":1})"},
       {R"({"v":1,"next":{"v":2}})"}},
      {R"({"const":{"a":1,"b":{}}})",
       {R"({"a":1,"b":{}})", R"({"a": 1, "b": {}})"},
       {R"({"a":1})", R"({"a":1,"b":{"c":1}})"}},
  });
}

TEST(SchemaValues, References) {
  check({
      {R"({"$id":"https://example.org/root.json","$defs":{"x":{"$id":"x.json","$anchor":"here","type":"integer"}},
          "prefixItems":[{"$ref":"x.json"},{"$ref":"#/$defs/x"},{"$ref":"https://example.org/x.json#here"}],"type":"array","minItems":3})",
       {"[1,2,3]"},
       {"[1,2,null]", R"(["",2,3])", R"([1,"",3])"}},
      {R"({"$defs":{"a b":{"type":"null"}},"$ref":"#/$defs/a%20b"})", {"null"}, {"1"}},
      {R"({"$dynamicAnchor":"n","type":"array","items":{"$dynamicRef":"#n"}})", {"[[],[[]]]"}, {"[1]"}},
      {R"({"examples":[{"type":"string"}],"$ref":"#/examples/0"})", {R"("x")"}, {"1"}},
  });
}

}  // namespace
}  // namespace tally::test
