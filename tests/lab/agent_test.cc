// The agent's task against a stand-in server: tool calls carried out, a scripted way out, cached tokens, residuals.
#include "lab/agent.h"

#include <gtest/gtest.h>

#include <functional>

#include "app/jsonl.h"
#include "base/error.h"
#include "lab/schema.h"
#include "stand_in_server.h"
#include "support.h"

namespace tally::lab {
namespace {

using test::StandInServer;

std::string event(const Json& delta) { return "data: " + app::dump_json({{"choices", {{{"delta", delta}}}}}) + "\n\n"; }
std::string usage(int in, int out, int cached = 0) {
  return "data: " +
         app::dump_json({{"choices", Json::array()},
                         {"usage",
                          {{"prompt_tokens", in},
                           {"completion_tokens", out},
                           {"prompt_tokens_details", {{"cached_tokens", cached}}}}}}) +
         "\n\ndata: [DONE]\n\n";
}
std::string call(const std::string& name, const std::string& first, const std::string& rest) {
  return event({{"tool_calls", {{{"index", 0}, {"id", "c1"}, {"function", {{"name", name}, {"arguments", first}}}}}}}) +
         event({{"tool_calls", {{{"index", 0}, {"function", {{"arguments", rest}}}}}}});
}

AgentRun task(StandInServer& server, AgentArgs args = {}) {
  HttpClient client(server.url(), 10);
  SampleFolder folder(50);
  return run_agent_task(client, args, folder, 1);
}

TEST(Agent, carries_out_the_tools_that_the_model_calls) {
  StandInServer server([](const std::string&, const std::string& body, int n) {
    const Json request = app::parse_json_ordered(body);
    EXPECT_EQ(request["tools"].size(), 2u);
    if (n == 0) return call("list_files", "{", "}") + usage(200, 10);
    if (n == 1) {
      EXPECT_NE(request["messages"].back()["content"].get<std::string>().find("bees.txt\n"), std::string::npos);
      EXPECT_EQ(request["messages"].back()["tool_call_id"], "c1");
      return call("read_file", R"({"name": "be)", R"(es.txt"})") + usage(230, 15, 200);
    }
    EXPECT_NE(request["messages"].back()["content"].get<std::string>().find("Notes of the bee yard"),
              std::string::npos);
    return event({{"content", "- one\n- "}}) + event({{"content", "two"}}) + usage(400, 20, 230);
  });
  const AgentRun run = task(server);
  ASSERT_EQ(run.turns.size(), 3u);
  EXPECT_TRUE(run.listed && run.read);
  EXPECT_EQ(run.scripted, "");
  EXPECT_EQ(run.n_bullets, 2);
  EXPECT_EQ(run.tokens_in(), 200 + 30 + 170);  // what the server had already costs nothing
  EXPECT_EQ(run.tokens_out(), 45);
  EXPECT_EQ(run.turns[1].tools, std::vector<std::string>{"read_file"});
}

TEST(Agent, a_model_without_calls_gets_the_file_and_that_is_said) {
  StandInServer server([](const std::string&, const std::string& body, int n) {
    const Json messages = app::parse_json_ordered(body)["messages"];
    if (n == 0) return event({{"content", "I cannot."}}) + usage(100, 3);
    EXPECT_EQ(messages.back()["role"], "user");
    EXPECT_NE(messages.back()["content"].get<std::string>().find("Notes of the bee yard"), std::string::npos);
    return event({{"content", "no bullets"}}) + usage(300, 5, 90);
  });
  const AgentRun run = task(server);
  EXPECT_EQ(run.turns.size(), 2u);
  EXPECT_NE(run.scripted.find("did not read"), std::string::npos);
  EXPECT_EQ(run.n_bullets, 0);
}

TEST(Agent, a_server_that_refuses_tools_is_asked_without) {
  StandInServer server([](const std::string&, const std::string& body, int) -> std::string {
    if (app::parse_json_ordered(body).contains("tools")) return "";  // status 500
    return event({{"content", "- a\n- b"}}) + usage(300, 5);
  });
  const AgentRun run = task(server);
  EXPECT_EQ(run.turns.size(), 1u);
  EXPECT_NE(run.scripted.find("refuses tools"), std::string::npos);
  EXPECT_EQ(run.n_bullets, 2);
}

TEST(Agent, ends_when_the_model_never_does) {
  StandInServer server([](const std::string&, const std::string&, int) {
    return call("delete_everything", "not ", "json") + usage(100, 3);
  });
  AgentArgs args;
  args.max_turns = 4;
  const AgentRun run = task(server, args);
  EXPECT_EQ(run.turns.size(), 4u);
  EXPECT_FALSE(run.read);
}

TEST(Agent, no_usage_is_an_error) {
  StandInServer server([](const std::string&, const std::string&, int) { return event({{"content", "- a"}}); });
  EXPECT_THROW(task(server), Error);
}

TEST(Agent, tools_reach_the_sample_folder_alone) {
  SampleFolder folder(50);
  AgentRun run;
  for (const char* name : {"../bees.txt", "/etc/passwd", "", "bees.txt/../todo.txt", "."}) {
    EXPECT_FALSE(folder.read(name)) << name;
    EXPECT_EQ(folder.call("read_file", app::dump_json({{"name", name}}), run).rfind("error:", 0), 0u) << name;
  }
  EXPECT_EQ(folder.call("read_file", "[[", run).rfind("error:", 0), 0u);
  EXPECT_EQ(folder.call("rm", "{}", run).rfind("error:", 0), 0u);
  EXPECT_FALSE(run.read);
  EXPECT_NE(folder.call("read_file", R"({"name":"bees.txt"})", run).find("Notes"), std::string::npos);
  EXPECT_TRUE(run.read);
}

TEST(Agent, bullets) { EXPECT_EQ(count_bullets("Here:\n- a\n  * b\n• c\n1. d\n-e\n2024 was good\n"), 4); }

// The block of the command: residual, and the error where rates and clock do not agree.
TEST(Agent, negative_residual_is_not_valid) {
  StandInServer server([](const std::string&, const std::string&, int) {
    return event({{"content", "- a\n- b"}}) + usage(1000, 10);
  });
  test::TemporaryFolder folder;
  for (bool possible : {true, false}) {
    AgentArgs args;
    args.endpoint = server.url();
    args.runs = 1;
    args.prefill_tok_s = possible ? 1e9 : 1;  // at 1 tok/s the prompt alone would take a quarter of an hour
    args.decode_tok_s = 1e9;
    {
      Output output("agent", folder.file("run.jsonl"), Json::object());
      run_agent(args, output);
    }
    std::ifstream in(folder.file("run.jsonl"));
    Json block;
    for (std::string line; std::getline(in, line);) {
      EXPECT_EQ(schema_problems(app::parse_json_ordered(line)), std::vector<std::string>{}) << line;
      if (Json j = app::parse_json_ordered(line); j.value("name", "") == "agent") block = j;
    }
    EXPECT_EQ(block["valid"], possible);
    if (possible) {
      EXPECT_GT(block["values"]["residual_ms"].get<double>(), 0);
    } else {
      EXPECT_NE(block["reason"].get<std::string>().find("negative"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tally::lab
