#include "app/jsonl.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "base/error.h"

namespace tally::app {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::vector<std::string> serve(const std::string& input, const JsonlHandler& handler) {
  std::istringstream in(input);
  std::ostringstream out;
  run_jsonl(in, out, handler);
  std::vector<std::string> lines;
  std::istringstream result(out.str());
  for (std::string line; std::getline(result, line);) lines.push_back(line);
  return lines;
}

ordered_json echo(const json& line) { return {{"x", line.at("x")}}; }

TEST(Jsonl, CopiesTheIdInFront) {
  const auto lines = serve("{\"x\":1,\"id\":7}\n{\"x\":2}\n{\"x\":3,\"id\":\"a\"}", echo);
  EXPECT_EQ(lines, (std::vector<std::string>{R"({"id":7,"x":1})", R"({"x":2})", R"({"id":"a","x":3})"}));
}

TEST(Jsonl, EveryBadLineGetsOneAnswerAndTheNextIsServed) {
  const std::string deep(100000, '[');
  const auto lines = serve("nonsense\n\n[1]\n{\"x\":\"\xff\"}\n" + deep + "\n{\"id\":1}\n{\"x\":4,\"id\":2}\n", echo);
  ASSERT_EQ(lines.size(), 7u);
  for (int i = 0; i < 6; ++i) {
    const json answer = json::parse(lines[i]);
    EXPECT_EQ(answer.at("error").at("code"), "bad_input") << lines[i];
    EXPECT_FALSE(answer.at("error").at("message").get<std::string>().empty());
    EXPECT_TRUE(answer.contains("id"));
  }
  EXPECT_EQ(json::parse(lines[5]).at("id"), 1);
  EXPECT_EQ(lines[6], R"({"id":2,"x":4})");
}

TEST(Jsonl, ErrorsOfTheHandlerKeepTheirCode) {
  const auto lines =
      serve("{\"id\":1}\n", [](const json&) -> ordered_json { fail(ErrorCode::Resources, "no {}", "room"); });
  EXPECT_EQ(lines[0], R"({"id":1,"error":{"code":"resources","message":"no room"}})");
}

TEST(Jsonl, FloatsReadBackAndNanIsNull) {
  const double third = 1.0 / 3;
  EXPECT_EQ(json::parse(dump_json({{"v", third}})).at("v").get<double>(), third);
  EXPECT_EQ(dump_json({{"v", std::numeric_limits<double>::infinity()}}), R"({"v":null})");
}

}  // namespace
}  // namespace tally::app
