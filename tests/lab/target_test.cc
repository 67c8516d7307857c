#include "lab/target.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/error.h"
#include "endpoint_server.h"
#include "lab/target_kinds.h"
#include "support.h"

namespace tally::lab {
namespace {

std::string why(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Target, names_of_tests) {
  EXPECT_EQ((TestShape{.n_prompt = 512}.name()), "pp512");
  EXPECT_EQ((TestShape{.n_prompt = 512, .depth = 4096}.name()), "pp512@d4096");
  EXPECT_EQ((TestShape{.n_gen = 128, .batch = 4}.name()), "tg128@b4");
}

TEST(Target, unknown_kind_lists_the_kinds) {
  EXPECT_TRUE(has(why([] { open_target("vllm", {}); }), "llama-bench:PATH"));
}

constexpr const char* kLlama = R"([
  {"build_commit": "d3", "n_threads": 2, "n_prompt": 32, "n_gen": 0, "n_depth": 0, "avg_ns": 1, "samples_ns": [16000000, 32000000]},
  {"n_prompt": 0, "n_gen": 8, "n_depth": 64, "samples_ns": [4000000]}])";

TEST(Target, llama_bench_output) {
  Json head;
  auto pp = read_llama_bench(kLlama, {.n_prompt = 32}, "x", &head);
  ASSERT_EQ(pp.size(), 2u);
  EXPECT_DOUBLE_EQ(pp[0].rate(), 2000);
  EXPECT_DOUBLE_EQ(pp[1].rate(), 1000);
  EXPECT_EQ(head["build_commit"], "d3");
  EXPECT_FALSE(head.contains("avg_ns"));
  auto tg = read_llama_bench(kLlama, {.n_gen = 8, .depth = 64}, "x", nullptr);
  EXPECT_DOUBLE_EQ(tg.at(0).rate(), 2000);
  EXPECT_TRUE(has(why([] { read_llama_bench(kLlama, {.n_gen = 8}, "x", nullptr); }), "no test tg8"));
}

TEST(Target, hostile_output) {
  for (const char* text : {"", "error", "{}", "[]", "[1]", R"([{"n_prompt": 8}])",
                           R"([{"n_prompt": 8, "samples_ns": "x"}])", R"([{"n_prompt": 8, "samples_ns": ["x"]}])",
                           R"([{"n_prompt": 8, "samples_ns": [0]}])", R"([{"n_prompt": 8, "samples_ns": [-5]}])"}) {
    EXPECT_THROW(read_llama_bench(text, {.n_prompt = 8}, "x", nullptr), Error) << text;
    EXPECT_THROW(read_tally_bench(text, {.n_prompt = 8}, "x", nullptr), Error) << text;
  }
  EXPECT_THROW(
      read_tally_bench(R"({"samples": [{"test": "pp8", "phase": "warm", "ms": 0}]})", {.n_prompt = 8}, "x", nullptr),
      Error);
}

TEST(Target, json_command_gets_its_placeholders) {
  test::TemporaryFolder folder;
  std::string file = folder.file("out.json");
  std::ofstream(file) << kLlama;
  auto target = open_target("json:/bin/sh -c 'test {prompt} = 32 && test {reps} = 2 && cat " + file + "'", {});
  std::vector<TestShape> tests{{.n_prompt = 32}};
  EXPECT_EQ(target->measure(tests, 2).at(0).size(), 2u);
  EXPECT_EQ(target->weights_sha256(), "");
  tests[0].n_prompt = 33;
  EXPECT_THROW(target->measure(tests, 2), Error);
}

TEST(Target, another_build_of_this_program_starts_once_for_a_depth) {
  test::TemporaryFolder folder;
  std::string program = folder.file("tally"), log = folder.file("log");
  std::ofstream(program) << "#!/bin/sh\necho \"$@\" >> " << log << R"(
echo '{"head": {"model": "m"}, "samples": [
  {"test": "pp8", "phase": "cold", "ms": 9, "dispatches": 5}, {"test": "pp8", "phase": "warm", "ms": 2, "dispatches": 5},
  {"test": "pp8", "phase": "warm", "ms": 4, "dispatches": 5}, {"test": "tg4", "phase": "warm", "ms": 1}]}'
)";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  TargetOptions options;
  options.model = std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf";
  options.engine.n_threads = 1;
  auto target = open_target("tally:" + program + " --chunk 16", options);
  std::vector<TestShape> tests{{.n_prompt = 8}, {.n_gen = 4}};
  auto m = target->measure(tests, 2);
  ASSERT_EQ(m.at(0).size(), 2u);
  EXPECT_EQ(m[0][1].rate(), 2000);
  EXPECT_EQ(m[0][0].fields["dispatches"], 5);
  EXPECT_EQ(m.at(1).at(0).rate(), 4000);
  EXPECT_TRUE(target->measure(tests, 0).at(0).empty());
  auto bytes = test::read_file(log);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "lab bench " + options.model +
                                                         " --json --no-machine --chunk 16 -p 8 -n 4 -d 0 -b 1 -r 2 "
                                                         "--threads 1\n");
  EXPECT_TRUE(has(why([&] { target->measure(std::vector<TestShape>{{.n_prompt = 9}}, 1); }), "no samples of pp9"));
}

TEST(Target, shell_command) {
  test::TemporaryFolder folder;
  std::string log = folder.file("log");
  auto target = open_target("cmd:echo {n} >> " + log, {});
  std::vector<TestShape> tests{{.n_prompt = 7}};
  auto m = target->measure(tests, 2);
  ASSERT_EQ(m.at(0).size(), 2u);
  EXPECT_TRUE(m[0][0].lower_bound);  // starting the process is in it
  EXPECT_EQ(m[0][0].tokens, 7);
  auto text = test::read_file(log);
  EXPECT_EQ(std::string(text.begin(), text.end()), "7\n7\n7\n");  // a warm-up and two
  EXPECT_TRUE(has(why([&] { open_target("cmd:exit 3", {})->measure(tests, 1); }), "status 3"));
}

TEST(Target, this_program_on_a_model) {
  TargetOptions options;
  options.model = std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf";
  options.engine.n_threads = 1;
  auto target = open_target("tally --chunk 16", options);
  std::vector<TestShape> tests{{.n_prompt = 24}, {.n_gen = 3}, {.n_gen = 3, .depth = 8}, {.n_gen = 2, .batch = 2}};
  auto m = target->measure(tests, 2);
  ASSERT_EQ(m.size(), 4u);
  for (size_t i = 0; i < m.size(); ++i) {
    ASSERT_EQ(m[i].size(), 2u);
    EXPECT_GT(m[i][0].ms, 0);
    EXPECT_EQ(m[i][0].fields["dispatches"], m[i][1].fields["dispatches"]);
    EXPECT_EQ(target->output_sha256(tests[i]).size(), 64u);
    EXPECT_NE(target->first(tests[i]), nullptr);
  }
  EXPECT_EQ(m[3][0].tokens, 4);
  EXPECT_NE(target->output_sha256(tests[1]), target->output_sha256(tests[2]));
  // A deeper context reads more; two sequences read the weights once.
  EXPECT_GT(target->floor(tests[2]).bytes, target->floor(tests[1]).bytes);
  EXPECT_LT(target->floor({.n_gen = 2, .batch = 2}).bytes, 2 * target->floor({.n_gen = 2}).bytes);
  EXPECT_NEAR(target->floor({.n_gen = 2, .batch = 2}).flops, 2 * target->floor({.n_gen = 2}).flops, 1);
  EXPECT_EQ(target->weights_sha256().size(), 64u);
  EXPECT_EQ(target->provenance()["threads"], 1);
  EXPECT_TRUE(has(why([&] { open_target("tally --no-such 1", options); }), "no-such"));
  EXPECT_THROW(target->measure(std::vector<TestShape>{{.n_prompt = 4, .batch = 2}}, 1), Error);
}

TEST(Endpoint, prompts_have_the_exact_length_and_are_never_the_same) {
  test::EndpointServer server;
  for (const char* api : {" api=completions", " api=chat"}) {
    auto target = open_target(server.url() + api, {});
    std::vector<TestShape> tests{{.n_prompt = 40}, {.n_gen = 6}};
    auto m = target->measure(tests, 2);
    for (const Measurement& x : m.at(0)) {
      EXPECT_TRUE(x.lower_bound);
      EXPECT_EQ(x.tokens, 40);
      EXPECT_EQ(x.fields["tokens_in"], 40);
    }
    for (const Measurement& x : m.at(1)) {
      EXPECT_FALSE(x.lower_bound);
      EXPECT_EQ(x.tokens, 5);  // intervals
      EXPECT_EQ(x.fields["tokens_out"], 6);
      EXPECT_GT(x.ms, 0);
    }
    EXPECT_EQ(target->weights_sha256(), "");
    EXPECT_EQ(target->provenance()["model"], "stand-in");
  }
  std::set<std::string> prompts;
  auto bodies = server.bodies();
  for (const auto& body : bodies)
    prompts.insert(body.contains("prompt") ? body["prompt"].dump() : body["messages"].dump());
  EXPECT_EQ(prompts.size(), bodies.size());
}

TEST(Endpoint, what_cannot_be_measured_is_said) {
  test::EndpointServer server;
  auto target = open_target(server.url(), {});
  EXPECT_TRUE(has(why([&] { target->measure(std::vector<TestShape>{{.n_prompt = 3}}, 1); }), "the least is 6"));
  EXPECT_THROW(target->measure(std::vector<TestShape>{{.n_prompt = 8, .depth = 8}}, 1), Error);
  server.usage = false;
  EXPECT_TRUE(has(why([&] { target->measure(std::vector<TestShape>{{.n_prompt = 30}}, 1); }), "no usage"));
  server.error = "model is loading";
  EXPECT_TRUE(has(why([&] { target->measure(std::vector<TestShape>{{.n_prompt = 30}}, 1); }), "500"));
  EXPECT_TRUE(has(why([] { open_target("http://127.0.0.1:9", {}); }), "is the server running"));
  EXPECT_TRUE(has(why([&] { open_target(server.url() + " colour=red", {}); }), "colour=red"));
}

}  // namespace
}  // namespace tally::lab
