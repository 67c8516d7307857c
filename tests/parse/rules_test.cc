// The rules, one family or more each, in texts of our own.
#include <gtest/gtest.h>

#include "base/error.h"
#include "parse/check_output.h"

namespace tally::test {
namespace {

const char* kTools = R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
  "s": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"},
  "u": {"type": ["integer", "string"]}, "e": {"enum": ["a", "b"]}, "r": {"$ref": "#/$defs/count"},
  "m": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
  "$defs": {"count": {"type": "integer"}}}}}])";

struct Case {
  const char* family;
  std::string raw;
  std::string reasoning = {}, content = {};
  std::vector<std::string> calls = {};  // name and arguments: f{"s":"x"}
  std::string prompt = {};
  bool cut = false, tools = true;
};

void check(const Case& c) {
  SCOPED_TRACE(std::string(c.family) + ": " + c.raw);
  for (const bool by_byte : {false, true}) {
    parse::OutputParser parser({.family = c.family,
                                .tools = c.tools ? parse::ToolSet(Json::parse(kTools)) : parse::ToolSet(),
                                .prompt_opens = c.prompt});
    for (size_t at = 0; at < c.raw.size(); at += by_byte ? 1 : c.raw.size())
      parser.feed(by_byte ? c.raw.substr(at, 1) : c.raw);
    parser.finish(c.cut ? parse::Finish::Length : parse::Finish::Stop);
    const parse::Parsed got = parser.result();
    EXPECT_EQ(got.reasoning, c.reasoning);
    EXPECT_EQ(got.content, c.content);
    std::vector<std::string> calls;
    for (const parse::ToolCall& call : got.calls) calls.push_back(call.name + call.arguments);
    EXPECT_EQ(calls, c.calls);
    EXPECT_STREQ(got.finish_reason, c.cut ? "length" : calls.empty() ? "stop" : "tool_calls");
  }
}

const std::string kHermes = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"x\"}}\n</tool_call>";
const std::string kXml = "<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n</function>\n</tool_call>";
const std::string kCall = "f{\"s\":\"x\"}";

TEST(Reasoning, TagsRepeatedAndLater) {
  check({"qwen3", " \n<think>\n<think>a</think>\n </think> b <think> c </think>", "a", "b <think> c </think>"});
  check({"qwen3", "a <think>b</think>", "", "a <think>b</think>"});
  check({"qwen3", "</think>a", "", "</think>a"});
  check({"qwen3", "</think>\n</think>a", "", "a", {}, "<think>\n\n</think>\n\n"});
  check({"qwen3", "x", "x", "", {}, "<|im_start|>assistant\n<think>\n"});
  check({"qwen3", "<thinking>a</thinking>", "", "<thinking>a</thinking>"});
  check({"qwen3-coder", "<think>a</think>", "", "<think>a</think>"});
  check({"mistral-new", "[THINK]a[/THINK]b", "a", "b"});
  check({"gemma4", "<|channel>thought\na\n<channel|>b", "a", "b"});
  check({"command-r", "<|START_THINKING|>a<|END_THINKING|>b", "a", "b"});
}

TEST(Reasoning, NeverClosed) {
  check({"qwen3", "a\n" + kHermes, "a\n" + kHermes, "", {}, "<think>"});
  check({"qwen3.5", "a\n" + kXml + "\n" + kXml + "\n", "a", "", {kCall, kCall}, "<think>\n"});
  check({"qwen3.5", "a " + kXml, "a " + kXml, "", {}, "<think>\n"});                    // not on a line of its own
  check({"qwen3.5", "a\n" + kXml + "\nb", "a\n" + kXml + "\nb", "", {}, "<think>\n"});  // text follows
  check({"qwen3.5", "a\n" + kXml + "</think>b", "a\n" + kXml, "b", {}, "<think>\n"});
  check({"qwen3.5", "a\n" + kXml, "a\n" + kXml, "", {}, "<think>\n", false, false});  // no tools
}

TEST(Content, WhiteSpaceAndJoining) {
  check({"hermes", " a \n" + kHermes + "\n\t" + kHermes + " \n b ", "", " a\nb ", {kCall, kCall}});
  check({"hermes", " \n ", "", " \n "});
  check({"granite3", "<response> a </response>\n<response>b</response>", "", "a\nb"});
  check({"command-r", "<|START_TEXT|>a<|END_TEXT|>", "", "a", {}, "", false, false});
}

TEST(Content, MarkersThatAreText) {
  check({"hermes", kHermes, "", kHermes, {}, "", false, false});
  check({"hermes", "<tool_call><tool_call>\n" + kHermes, "", "<tool_call><tool_call>", {kCall}});
  check({"hermes", "```\n" + kHermes + "\n```\n" + kHermes, "", "```\n" + kHermes + "\n```", {kCall}});
  check({"hermes", "a ```\n" + kHermes, "", "a ```", {kCall}});  // no fence: not at the beginning of a line
  check({"qwen3-coder", "<function=g>\n</function>", "", "<function=g>\n</function>"});
  check({"qwen3-coder", "<tool_call>\n<function=g>\n</function>\n</tool_call>", "", "", {"g{}"}});
  check({"lfm2", "<|tool_call_start|>[]<|tool_call_end|>", "", "<|tool_call_start|>[]<|tool_call_end|>"});
  check({"phi4-mini", "x functools[{\"name\": \"f\", \"arguments\": {}}]", "",
         "x functools[{\"name\": \"f\", \"arguments\": {}}]"});
  check({"gemma4", "<|tool_call>f{}<tool_call|>", "", "<|tool_call>f{}<tool_call|>"});
  check({"glm4.5", "<tool_call>a b</tool_call>", "", "<tool_call>a b</tool_call>"});
}

TEST(Calls, KeysInAnyOrder) {
  check({"hermes", R"(<tool_call>{"arguments": {"s": "x"}, "name": "f"}</tool_call>)", "", "", {kCall}});
  check({"hermes",
         R"(<tool_call>{"id": "1", "parameters": {"s": "x"}, "x": [1], "name": "f"}</tool_call>)",
         "",
         "",
         {kCall}});
  check({"phi4-mini",
         R"(<|tool_call|>[{"function": {"arguments": {"s": "x"}, "name": "f"}, "type": "function"}])",
         "",
         "",
         {kCall}});
}

TEST(Calls, Repairs) {
  const std::string head = "<tool_call>{\"name\": \"f\", \"arguments\": ", tail = "</tool_call>";
  check({"hermes", head + R"({"s": "x",},})" + tail, "", "", {kCall}});
  check({"hermes", head + R"({"s": "x")" + tail, "", "", {kCall}});      // both braces
  check({"hermes", head + R"({"s": "x"}}}})" + tail, "", "", {kCall}});  // too many
  check({"hermes", head + R"({"s": "x"}} junk )" + tail + "t", "", "t", {kCall}});
  check({"hermes", head + R"({"s": "x"}} text)", "", "text", {kCall}});  // no closing marker: text
  check({"hermes",
         head + "{\"s\": \"a\n\x01\", \"o\": {\"k\": [True, None,]}}}" + tail,
         "",
         "",
         {R"(f{"s":"a\n\u0001","o":{"k":[true,null]}})"}});
  check({"hermes", head + R"("{\"s\": \"x\"}"})" + tail, "", "", {kCall}});
  check({"hermes", head + "null}" + tail, "", "", {"f{}"}});
  check({"hermes", R"(<tool_call>{"name": "f"}</tool_call>)", "", "", {"f{}"}});
  check({"hermes", head + R"({"s": x}})" + tail, "", "", {R"(f{"s":x})"}});  // beyond repair: as it is
  check({"hermes", head + R"({"s": "\ud800 \q"}})" + tail, "", "", {R"(f{"s":"\ufffd \\q"})"}});
  check({"mistral-old",
         R"([TOOL_CALLS][{"name": "f", "arguments": {"s": "x"}, {"name": "f", "arguments": {}}])",
         "",
         "",
         {kCall, "f{}"}});
}

TEST(Calls, NoUsableHead) {
  for (const char* raw : {"<tool_call>{\"name\": \"f\"", "<tool_call>", "<tool_call>{\"name\": 1}</tool_call>",
                          "<tool_call>{\"name\": \"f\", \"arguments\"", "<tool_call>[1]</tool_call>"}) {
    check({"hermes", raw, "", raw});
  }
  check({"hermes", "a <tool_call>{\"name\": \"f\", \"argum", "", "a", {}, "", true});
  check({"hermes", "a <tool_c", "", "a <tool_c", {}, "", true});
}

TEST(Calls, CutArguments) {
  check({"hermes", R"(<tool_call>{"name": "f", "arguments": {"s": "x\u00)", "", "", {R"(f{"s":"x)"}, "", true});
  check({"hermes", R"(<tool_call>{"name": "f", "arguments": {"s": "x"}}</tool)", "", "", {kCall}, "", true});
  check({"qwen3-coder", "<tool_call>\n<function=f>\n<parameter=s>\nx\n</param", "", "", {R"(f{"s":"x)"}, "", true});
  check({"glm4.5", "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>x</arg_", "", "", {R"(f{"s":"x)"}, "", true});
  check({"lfm2", "<|tool_call_start|>[f(s='x', o={'a': ['b", "", "", {R"(f{"s":"x","o":{"a":["b)"}, "", true});
  check({"gemma4", "<|tool_call>call:f{s:<|\"|>x<|\"", "", "", {R"(f{"s":"x)"}, "", true});
  check({"llama3", R"({"name": "f", "parameters": {"s": "x)", "", "", {R"(f{"s":"x)"}, "", true});
  check({"llama3",
         R"({"name": "g", "parameters": {"s": "x)",
         "",
         R"({"name": "g", "parameters": {"s": "x)",
         {},
         "",
         true});
}

TEST(Calls, WithoutMarkers) {
  check({"llama3",
         R"({"name": "f", "parameters": {"s": "x"}}; {"name": "f", "parameters": {}} t)",
         "",
         "t",
         {kCall, "f{}"}});
  check({"llama3", R"({"name": "g", "parameters": {}})", "", R"({"name": "g", "parameters": {}})"});
  check({"llama3", R"({"name": "f", "parameters": {"s": "x")", "", "", {kCall}});  // braces missing at the end
  check({"llama3", R"({"name": "f", "parameters": {"s": "x)", "", R"({"name": "f", "parameters": {"s": "x)"});
  check({"llama3", R"(<|python_tag|>{"name": "f", "parameters": {"s": "x"}})", "", "", {kCall}});
  check({"llama3", "<|python_tag|>print(1)", "", "<|python_tag|>print(1)"});  // nobody runs code
  check({"gemma3", "t\n```tool_code\nf(s='x')\nf(n=1)\n```\nu", "", "t\nu", {kCall, "f{\"n\":1}"}});
  check({"gemma3", "```python\n```tool_code\nf(s='x')\n```", "", "```python", {kCall}});
  check({"generic", R"({"response": "a\u00e9"})", "", "aé"});
  check({"generic", R"({"response": "a"})", "", R"({"response": "a"})", {}, "", false, false});
  check({"generic", R"({"tool_calls": [{"name": "f", "arguments": {"s": "x"}}]})", "", "", {kCall}});
}

TEST(Calls, PythonLiterals) {
  const std::string open = "<|tool_call_start|>[", close = "]<|tool_call_end|>";
  check({"lfm2",
         open + R"(f(s='a\'\x41\u00e9\ud83d\ude80' , o={"k": (1, None), 'b': true}, n=-1_000, u=.5,))" + close,
         "",
         "",
         {R"(f{"s":"a'Aé🚀","o":{"k":[1,null],"b":true},"n":-1000,"u":0.5})"}});
  check({"lfm2", open + "f('x', 3)" + close, "", "", {R"(f{"s":"x","n":3})"}});  // the schema's order
  check({"lfm2", open + "f(s=x)" + close, "", open + "f(s=x)" + close});
  check({"lfm2", open + "f(s=r'a\\n')" + close, "", "", {R"(f{"s":"a\\n"})"}});
  check({"lfm2", open + "f(s='''a'b''')" + close, "", "", {R"(f{"s":"a'b"})"}});
}

TEST(Calls, KindsBySchema) {
  auto one = [](const std::string& key, const std::string& value, const std::string& json) {
    check({"qwen3.5",
           "<tool_call>\n<function=f>\n<parameter=" + key + ">\n" + value + "\n</parameter>\n</function>\n</tool_call>",
           "",
           "",
           {"f{\"" + key + "\":" + json + "}"}});
    check({"glm4.5",
           "<tool_call>f\n<arg_key>" + key + "</arg_key>\n<arg_value>" + value + "</arg_value>\n</tool_call>",
           "",
           "",
           {"f{\"" + key + "\":" + json + "}"}});
  };
  one("s", "12", "\"12\"");
  one("s", " a\n\"b\" ", R"(" a\n\"b\" ")");
  one("n", "123456789012345678901234567890", "123456789012345678901234567890");
  one("n", "x", "\"x\"");
  one("n", "True", "true");
  one("o", "{\"a\": None, \"s\": \"None\"}", R"({"a":null,"s":"None"})");
  one("u", "12", "12");
  one("u", "1.5", "\"1.5\"");
  one("u", "1.0", "1.0");
  one("u", "true", "\"true\"");
  one("e", "1", "\"1\"");
  one("r", "9", "9");
  one("m", "null", "null");
  one("m", "5", "\"5\"");
  one("other", "[1]", "[1]");
  one("other", "['a']", "\"['a']\"");
}

TEST(Calls, ValuesThatHoldTags) {
  const std::string open = "<tool_call>\n<function=f>\n<parameter=s>\n",
                    close = "\n</parameter>\n</function>\n</tool_call>";
  check({"qwen3.5", open + "a\n</parameter>\nb" + close, "", "", {R"(f{"s":"a\n</parameter>\nb"})"}});
  check({"qwen3.5",
         open + "a</function></tool_call><tool_call>" + close,
         "",
         "",
         {R"(f{"s":"a</function></tool_call><tool_call>"})"}});
  check({"qwen3.5", open + "\n\n" + close, "", "", {R"(f{"s":"\n\n"})"}});
}

TEST(Channels, Messages) {
  const std::string prompt = "<|start|>assistant";
  check({"gpt-oss",
         "<|channel|>analysis<|message|>a <|end|><|start|>assistant<|channel|>commentary<|message|>b<|end|>"
         "<|start|>assistant<|channel|>final<|message|> c<|return|>",
         "a",
         "b\nc",
         {},
         prompt});
  check({"gpt-oss",
         "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"s\": \"x\"}<|call|>",
         "",
         "",
         {kCall},
         prompt});
  const std::string long_header = "<|channel|>" + std::string(1200, 'e') + "<|message|>a";
  check({"gpt-oss", long_header, "", long_header, {}, prompt});
  check({"gpt-oss", "Hello <b>", "", "Hello <b>", {}, ""});
  check({"gpt-oss", "a", "a", "", {}, prompt + "<|channel|>analysis<|message|>"});
}

TEST(Parser, RefusesUnknownFamilies) {
  try {
    parse::OutputParser parser({.family = "nobody", .tools = {}, .prompt_opens = ""});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("qwen3.5"), std::string::npos);
  }
}

TEST(Parser, BytesThatAreNoText) {
  check({"hermes", "a\xFF\xE2\x82", "", "a\uFFFD\uFFFD"});
  check({"hermes",
         "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"\xC3\"}}</tool_call>",
         "",
         "",
         {"f{\"s\":\"\uFFFD\"}"}});
}

TEST(Parser, DeepAndLongTextsEnd) {
  const std::string deep = "<tool_call>{\"name\": \"f\", \"arguments\": {\"o\": " + std::string(200'000, '[');
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "\n<tool_call>\n<function=f>\n<parameter=s>\n";
  for (const char* family : {"hermes", "qwen3.5", "lfm2", "gemma3"})
    for (const std::string& text : {deep, many}) {
      parse::OutputParser parser(
          {.family = family, .tools = parse::ToolSet(Json::parse(kTools)), .prompt_opens = "<think>"});
      parser.feed(text);
      parser.finish(parse::Finish::Stop);
      EXPECT_GE(parser.result().reasoning.size() + parser.result().content.size(), 1u);
    }
}

}  // namespace
}  // namespace tally::test
