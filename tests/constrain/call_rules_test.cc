// Rules for calls: what they take, what they refuse, and that the parser reads what they take.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/rng.h"
#include "text/constrain/call_rules.h"
#include "text/grammar/constraint_error.h"
#include "text/grammar/matcher.h"
#include "text/parse/parser.h"

namespace tally::test {
namespace {

using constrain::CallRequest;
using constrain::CallRules;
using Json = nlohmann::ordered_json;

const std::string kSchema = R"({"type": "object", "properties": {"s": {"type": "string"},
  "n": {"type": "integer", "minimum": 1, "maximum": 9}, "e": {"enum": ["on", "off"]}}, "required": ["s"]})";

CallRequest request(std::string_view family, bool required) {
  return {.family = family,
          .tools = {{"f", kSchema}, {"fg", R"({"type": "object", "additionalProperties": false})"}},
          .required = required,
          .prompt_opens = family == "gpt-oss" ? "<|start|>assistant" : ""};
}

bool takes(grammar::Matcher& matcher, const std::string& text) {
  matcher.reset();
  return matcher.accept(text) && matcher.can_end();
}
bool begins(grammar::Matcher& matcher, const std::string& text) {
  matcher.reset();
  return matcher.accept(text);
}
grammar::Matcher matcher_of(const CallRequest& r) {
  return grammar::Matcher(grammar::Automaton::compile(constrain::call_rules(r).rules));
}

// A call as the family writes it; %A is where a value of the wrong kind would stand.
struct Written {
  const char *family, *good, *bad;
};
constexpr Written kCalls[] = {
    {"qwen3", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"x\", \"n\": 1}}\n</tool_call>",
     "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": 1"},
    {"qwen3.5",
     "<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>\n</"
     "tool_call>",
     "<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n<parameter=n>\nx"},
    {"llama3", "{\"name\": \"f\", \"parameters\": {\"s\": \"x\", \"n\": 1}}",
     "{\"name\": \"f\", \"parameters\": {\"n\""},
    {"mistral-old", "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"s\": \"x\", \"n\": 1}}]",
     "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"s\": \"x\", \"n\": 10"},
    {"mistral-new", "[TOOL_CALLS]f[ARGS]{\"s\": \"x\", \"n\": 1}", "[TOOL_CALLS]f[ARGS]{}"},
    {"lfm2", "<|tool_call_start|>[f(s=\"x\", n=1)]<|tool_call_end|>", "<|tool_call_start|>[f(n=1"},
    {"gpt-oss", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"s\": \"x\", \"n\": 1}",
     "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"s\": n"},
    {"deepseek-v3",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"s\": \"x\", \"n\": "
     "1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n[]"},
    {"deepseek-v3.1",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"s\": \"x\", \"n\": "
     "1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>null"},
    {"glm4.5",
     "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>x</arg_value>\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n"
     "</tool_call>",
     "<tool_call>f\n<arg_key>n"},
    {"gemma3", "```tool_code\nf(s=\"x\", n=1)\n```", "```tool_code\nf(s=1"},
    {"gemma4", "<|tool_call>call:f{s:<|\"|>x<|\"|>,n:1}<tool_call|>", "<|tool_call>call:f{s:1"},
    {"phi4-mini",
     "<|tool_call|>[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": {\"s\": \"x\", \"n\": "
     "1}}}]<|/tool_call|>",
     "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"s\": 1"},
    {"command-r",
     "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"s\": \"x\", \"n\": "
     "1}}\n]<|END_ACTION|>",
     "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"s\": 1"},
    {"granite3", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"s\": \"x\", \"n\": 1}}]",
     "<|tool_call|>[{\"name\": \"f\", \"arguments\": 1"},
    {"generic", "{\"tool_call\": {\"name\": \"f\", \"arguments\": {\"s\": \"x\", \"n\": 1}}}",
     "{\"tool_call\": {\"name\": \"f\", \"arguments\": {\"e\": \"on\""},
};

TEST(CallRules, BindArgumentsFromTheNameOn) {
  for (const Written& w : kCalls) {
    SCOPED_TRACE(w.family);
    for (const bool required : {false, true}) {
      grammar::Matcher m = matcher_of(request(w.family, required));
      EXPECT_TRUE(takes(m, w.good)) << w.good;
      const bool second_spelling = required && std::string(w.family) == "phi4-mini";
      EXPECT_TRUE(second_spelling || !begins(m, w.bad)) << w.bad;
      const std::string good = w.good;
      for (size_t n = 1; n < good.size(); ++n)  // a call begun must be ended
        if (required) {
          EXPECT_FALSE(takes(m, good.substr(0, n)) && n + 1 < good.size() && good[n] != '<') << good.substr(0, n);
        }
    }
  }
}

TEST(CallRules, LeaveTextFree) {
  for (const Written& w : kCalls) {
    SCOPED_TRACE(w.family);
    grammar::Matcher m = matcher_of(request(w.family, false));
    for (const std::string text : {"", "Hello.", "In <tool_call> tags, or [TOOL_CALLS] or {\"name\": \"x\"}.",
                                   "<tool_call>\n{\"name\": \"h\", \"arguments\": 1", "\xFF\xFE", "<think>a</think>b",
                                   "<function=fh>", "{\"city\": 1}"})
      EXPECT_TRUE(takes(m, text)) << text;
    const bool at_start = std::string(w.family) == "llama3" || std::string(w.family) == "generic";
    EXPECT_TRUE(takes(m, std::string("Text ") + w.good + " more " + w.good));
    EXPECT_EQ(begins(m, std::string("Text ") + w.bad), at_start);
    grammar::Matcher needed = matcher_of(request(w.family, true));
    EXPECT_FALSE(begins(needed, "Hello"));
    EXPECT_FALSE(takes(needed, ""));
  }
}

TEST(CallRules, LeaveReasoningFree) {
  const std::string call = kCalls[0].good, bad = kCalls[0].bad;
  for (const bool required : {false, true}) {
    CallRequest r = request("qwen3", required);
    grammar::Matcher silent = matcher_of(r);
    r.prompt_opens = "<think>\n";
    grammar::Matcher opened = matcher_of(r);
    EXPECT_TRUE(takes(opened, bad + " so.\n</think>\n\n" + call));
    EXPECT_TRUE(takes(silent, "<think>" + bad + "</think>\n" + call));
    EXPECT_FALSE(begins(opened, bad + "</think>\n" + bad));
    EXPECT_FALSE(begins(silent, "<think>" + bad + "</think>\n" + bad));
    EXPECT_EQ(takes(opened, "only thinking " + bad), !required);
  }
  grammar::Matcher channels = matcher_of(request("gpt-oss", true));
  EXPECT_TRUE(
      takes(channels, std::string("<|channel|>analysis<|message|>to=functions.f<|message|>x<|end|><|start|>assistant") +
                          kCalls[6].good));
}

TEST(CallRules, FollowWhiteSpaceOfTheModel) {
  grammar::Matcher m = matcher_of(request("hermes", false));
  EXPECT_TRUE(takes(m, "<tool_call>{ \"name\":\"f\",\n\"arguments\" : {\"s\": \"x\"} }</tool_call>"));
  EXPECT_FALSE(begins(m, "<tool_call>{ \"name\":\"f\",\n\"arguments\" : {\"n\""));
  EXPECT_FALSE(begins(m, "<tool_call>{\"name\": \"fg\", \"arguments\": {\"s\""));  // a longer name is another tool
}

// A text that the rules take, byte by byte; empty when it does not end.
std::string random_text(grammar::Matcher& m, uint64_t seed) {
  m.reset();
  std::string text;
  for (uint64_t step = 0; step < 4000; ++step) {
    if (m.can_end() && random_u64(seed, 2 * step) % 3 == 0) return text;
    static constexpr const char* kEnds[] = {"\n</parameter>\n", "</arg_value>\n", "<|\"|>",           "</think>",
                                            "[/THINK]",         "<channel|>",     "<|END_THINKING|>", "<|end|>"};
    const char* end = kEnds[random_u64(seed, 2 * step) % std::size(kEnds)];
    if (step % 2 == 1 && m.accept(end)) {
      text += end;
      continue;
    }
    std::string choices;
    static const std::string kLikely = "\"}])>,:{<`|\n x1abtrue/";
    for (int b = 0; b < 256; ++b)
      if (m.accept(uint8_t(b))) {
        m.rollback(1);
        for (int n = kLikely.find(char(b)) != kLikely.npos ? 40 : b < 128 ? 1 : 0; n > 0; --n) choices += char(b);
        if (choices.empty()) choices += char(b);
      }
    if (choices.empty()) return text;
    const char c = choices[random_u64(seed, 2 * step + 1) % choices.size()];
    EXPECT_TRUE(m.accept(uint8_t(c)));
    text += c;
  }
  return "";
}

TEST(CallRules, ParserReadsWhatTheyTake) {
  const Json tools =
      Json::array({{{"type", "function"}, {"function", {{"name", "f"}, {"parameters", Json::parse(kSchema)}}}},
                   {{"type", "function"}, {"function", {{"name", "fg"}}}}});
  for (const Written& w : kCalls) {
    SCOPED_TRACE(w.family);
    const CallRequest r = request(w.family, true);
    grammar::Matcher m = matcher_of(r);
    int read = 0;
    for (uint64_t seed = 0; seed < 16; ++seed) {
      const std::string text = random_text(m, seed);
      if (text.empty()) continue;
      parse::OutputParser parser(
          {.family = w.family, .tools = parse::ToolSet(tools), .prompt_opens = std::string(r.prompt_opens)});
      parser.feed(text);
      parser.finish(parse::Finish::Stop);
      const parse::Parsed got = parser.result();
      EXPECT_GE(got.calls.size(), 1u) << text;
      EXPECT_EQ(got.content, "") << text;
      for (const parse::ToolCall& call : got.calls) {
        const Json args = Json::parse(call.arguments, nullptr, false);
        ASSERT_TRUE(args.is_object()) << call.arguments << " of " << text;
        if (call.name == "fg") {
          EXPECT_TRUE(args.empty());
          continue;
        }
        EXPECT_TRUE(args.contains("s") && args["s"].is_string()) << call.arguments;
        if (args.contains("n")) {
          EXPECT_TRUE(args["n"].is_number_integer() && args["n"] >= 1 && args["n"] <= 9) << call.arguments;
        }
        if (args.contains("e")) {
          EXPECT_TRUE(args["e"] == "on" || args["e"] == "off") << call.arguments;
        }
      }
      ++read;
    }
    EXPECT_GE(read, 4);
  }
}

TEST(CallRules, SayWhatTheyCannotBind) {
  CallRequest r = request("qwen3.5", true);
  r.tools[0].parameters = R"({"type": "object", "properties": {"s": {"type": "string", "pattern": "^a+$"}}})";
  const CallRules rules = constrain::call_rules(r);
  ASSERT_EQ(rules.warnings.size(), 1u);
  EXPECT_NE(rules.warnings[0].find("\"s\""), std::string::npos);
  r.tools[0].parameters = R"({"type": "objct"})";
  EXPECT_EQ(constrain::call_rules(r).warnings.size(), 1u);
  r.tools[0].parameters = "";
  EXPECT_TRUE(constrain::call_rules(r).warnings.empty());
  r.tools[0].name = "a\"b";
  EXPECT_THROW(constrain::call_rules(r), Error);
  r.tools.clear();
  EXPECT_THROW(constrain::call_rules(r), Error);
}

TEST(CallRules, ManyTools) {
  CallRequest r = request("hermes", false);
  r.tools.clear();
  for (int i = 0; i < 128; ++i) r.tools.push_back({"some_tool_with_a_name_" + std::to_string(i * 7919), kSchema});
  grammar::Matcher m = matcher_of(r);
  EXPECT_TRUE(begins(m, "<tool_call>\n{\"name\": \"some_tool_with_a_name_7919\", \"arguments\": {\"s\""));
  EXPECT_FALSE(begins(m, "<tool_call>\n{\"name\": \"some_tool_with_a_name_7919\", \"arguments\": {\"x\""));
}

}  // namespace
}  // namespace tally::test
