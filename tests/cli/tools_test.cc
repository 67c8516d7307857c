// tally parse and tools in tally run, as scripts use them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/base64.h"
#include "cli/program.h"

namespace tally {
namespace {

using nlohmann::ordered_json;

const std::string kModel = std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf";

ordered_json tools() {
  return ordered_json::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "count", "parameters": {"type": "object",
      "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 5}}, "required": ["n"]}}}])");
}

std::vector<ordered_json> answers(const std::string& arguments, const std::vector<ordered_json>& lines) {
  test::TemporaryFolder folder;
  {
    std::ofstream in(folder.file("in"));
    for (const ordered_json& line : lines) in << line.dump() << '\n';
  }
  const std::string command = std::string(TALLY_PROGRAM) + " " + arguments + " --jsonl < " + folder.file("in") + " > " +
                              folder.file("out") + " 2> " + folder.file("err");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream out(folder.file("out"));
  std::vector<ordered_json> all;
  for (std::string line; std::getline(out, line);) all.push_back(ordered_json::parse(line));
  EXPECT_EQ(all.size(), lines.size());
  all.resize(lines.size());
  return all;
}

TEST(ParseCommand, WholeAndInPieces) {
  const std::string raw = "<think>é</think>a\n<tool_call>{\"name\": \"count\", \"arguments\": {\"n\": 3}}</tool_call>";
  ordered_json whole{{"id", 1}, {"family", "qwen3"}, {"tools", tools()}, {"raw", raw}}, pieces = whole;
  pieces.erase("raw");
  pieces["pieces"] = ordered_json::array();
  for (char c : raw) {
    const auto byte = uint8_t(c);
    pieces["pieces"].push_back(base64_encode({&byte, 1}));
  }
  const auto got = answers("parse", {whole, pieces, {{"family", "x"}, {"raw", ""}}, {{"finish", "?"}}});
  EXPECT_EQ(got[0]["id"], 1);
  EXPECT_EQ(got[0]["reasoning"], "é");
  EXPECT_EQ(got[0]["content"], "a");
  EXPECT_EQ(got[0]["tool_calls"][0]["arguments"], "{\"n\":3}");
  EXPECT_EQ(got[0]["finish"], "tool_calls");
  ASSERT_EQ(got[1]["deltas"].size(), raw.size() + 1);
  std::string reasoning, content, arguments, name;
  for (const ordered_json& list : got[1]["deltas"])
    for (const ordered_json& delta : list) {
      reasoning += delta.value("reasoning_content", ""), content += delta.value("content", "");
      if (!delta.contains("tool_calls")) continue;
      const ordered_json& call = delta["tool_calls"][0];
      EXPECT_EQ(call["index"], 0);
      EXPECT_EQ(call.contains("id"), name.empty());
      if (name.empty()) name = call["function"]["name"];
      arguments += call["function"].value("arguments", "");
    }
  EXPECT_EQ(reasoning, "é");
  EXPECT_EQ(content, "a");
  EXPECT_EQ(name, "count");
  EXPECT_EQ(arguments, "{\"n\":3}");
  EXPECT_EQ(got[1]["finish"], "tool_calls");
  EXPECT_EQ(got[2]["error"]["code"], "bad_input");
  EXPECT_EQ(got[3]["error"]["code"], "bad_input");
}

ordered_json chat(const ordered_json& choice, int seed) {
  return {{"messages", {{{"role", "user"}, {"content", "Count to three."}}}},
          {"tools", tools()},
          {"tool_choice", choice},
          {"n_predict", 160},
          {"temperature", 1.5},
          {"seed", seed}};
}

TEST(RunTools, ChoiceIsObeyed) {
  std::vector<ordered_json> lines;
  for (int seed = 0; seed < 6; ++seed) {
    lines.push_back(chat({{"type", "function"}, {"function", {{"name", "count"}}}}, seed));
    lines.push_back(chat("none", seed));
  }
  for (const std::string options : {"", " --speculate"}) {
    const auto got = answers("run " + kModel + options, lines);
    int called = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_FALSE(got[i].contains("error")) << got[i];
      if (i % 2 == 1) {
        EXPECT_TRUE(got[i]["tool_calls"].empty()) << got[i];
        continue;
      }
      if (got[i]["finish_reason"] == "length") continue;  // it thought too long
      EXPECT_EQ(got[i]["finish_reason"], "tool_calls") << got[i];
      EXPECT_EQ(got[i]["content"], "") << got[i];
      for (const ordered_json& call : got[i]["tool_calls"]) {
        EXPECT_EQ(call["name"], "count");
        const ordered_json args = ordered_json::parse(call["arguments"].get<std::string>());
        EXPECT_TRUE(args.size() == 1 && args["n"] >= 3 && args["n"] <= 5) << call;
        ++called;
      }
    }
    EXPECT_GE(called, 1);
  }
}

TEST(RunTools, MistakesAreNamed) {
  ordered_json both = chat("auto", 0), no_tool = chat({{"type", "function"}, {"function", {{"name", "x"}}}}, 0),
               no_name = chat("auto", 0), odd = chat("sometimes", 0);
  both["json_schema"] = ordered_json::object();
  no_name["tools"][0]["function"].erase("name");
  for (const ordered_json& answer : answers("run " + kModel, {both, no_tool, no_name, odd}))
    EXPECT_EQ(answer["error"]["code"], "bad_input") << answer;
}

TEST(RunTools, PrintsCallsAsJson) {
  test::TemporaryFolder folder;
  std::ofstream(folder.file("tools")) << tools().dump();
  test::Program program({"run", kModel, "--quiet", "-m", "What is the weather in Oslo?", "--tools",
                         folder.file("tools"), "--tool-choice", "get_weather", "--temp", "0", "-n", "120"});
  EXPECT_EQ(program.wait(), 0) << program.err();
  std::istringstream out(program.out());
  std::string last;
  for (std::string line; std::getline(out, line);) last = line;
  const ordered_json call = ordered_json::parse(last, nullptr, false);
  EXPECT_EQ(call.value("name", ""), "get_weather") << program.out();
  test::Program missing({"run", kModel, "--tools", folder.file("none"), "-m", "x"});
  EXPECT_EQ(missing.wait(), 3);
}

}  // namespace
}  // namespace tally
