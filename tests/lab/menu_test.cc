// Models side by side, on targets whose speed is known.
#include "lab/menu.h"

#include <gtest/gtest.h>

#include <fstream>

#include "app/jsonl.h"
#include "base/error.h"
#include "lab/schema.h"
#include "scripted_target.h"
#include "support.h"

namespace tally::lab {
namespace {

// "reader" reads 1000 tok/s and writes 10, "writer" reads 100 and writes 50, "broken" fails.
std::unique_ptr<Target> open(const std::string&, const TargetOptions& options) {
  if (options.model == "broken") fail(ErrorCode::BadInput, "broken: no such file");
  const bool reader = options.model == "reader";
  return std::make_unique<test::ScriptedTarget>(options.model, [reader](const TestShape& t) {
    return t.n_prompt > 0 ? t.n_prompt * (reader ? 1.0 : 10.0) : t.n_gen * (reader ? 100.0 : 20.0);
  });
}

std::vector<Json> lines_of(MenuArgs args) {
  test::TemporaryFolder folder;
  {
    Output output("menu", folder.file("run.jsonl"), Json::object());
    run_menu(args, output, open);
  }
  std::ifstream in(folder.file("run.jsonl"));
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(app::parse_json_ordered(line));
  return lines;
}

Json block_of(const std::vector<Json>& lines) {
  for (const Json& line : lines)
    if (line.value("name", "") == "menu") return line;
  return {};
}

TEST(Menu, rates_task_and_where_one_overtakes) {
  MenuArgs args{.models = {"reader", "writer", "broken"}, .target = "scripted", .rounds = 5};
  args.turns = {{1000, 100}};
  const std::vector<Json> lines = lines_of(args);
  for (const Json& line : lines) EXPECT_EQ(schema_problems(line), std::vector<std::string>{}) << line.dump();
  const Json block = block_of(lines);
  ASSERT_EQ(block["valid"], true);
  const Json& models = block["values"]["models"];
  EXPECT_DOUBLE_EQ(models[0]["prefill"], 1000);
  EXPECT_DOUBLE_EQ(models[0]["task_s"], 1 + 10);
  EXPECT_DOUBLE_EQ(models[1]["task_s"], 10 + 2);
  EXPECT_EQ(models[0]["n"], 5);
  EXPECT_NE(models[2]["reason"].get<std::string>().find("no such file"), std::string::npos);
  // 1/100 − 1/1000 s a token lost by reading, 1/10 − 1/50 s a token gained by writing.
  EXPECT_NEAR(block["values"]["overtake"][0]["out_per_in"], 0.009 / 0.08, 1e-12);
  EXPECT_EQ(block["values"]["overtake"][0]["writer"], "writer");
  EXPECT_NE(block["verdict"].get<std::string>().find("11.00 s, with reader"), std::string::npos);
}

TEST(Menu, models_alternate_in_order_and_in_reverse) {
  const std::vector<Json> lines = lines_of({.models = {"reader", "writer"}, .target = "scripted", .rounds = 2});
  std::string order;
  for (const Json& line : lines)
    if (line["kind"] == "sample" && line["test"] == "pp512") order += line["variant"].get<std::string>() + " ";
  EXPECT_EQ(order, "reader writer writer reader ");
}

TEST(Menu, no_model_is_not_valid) {
  const Json block = block_of(lines_of({.models = {"broken"}, .target = "scripted"}));
  EXPECT_EQ(block["valid"], false);
  EXPECT_NE(block["reason"].get<std::string>().find("no such file"), std::string::npos);
}

TEST(Menu, turns) {
  const std::vector<def::Turn> turns = parse_turns("6804:25,3161:250");
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[1].tokens_out, 250);
  for (const char* bad : {"", "5", "5:", "a:b", "1:2:3", "1:2x", "-1:2", "0:0", "1:2,,3:4", "nan:1"})
    EXPECT_THROW(parse_turns(bad), Error) << bad;
}

}  // namespace
}  // namespace tally::lab
