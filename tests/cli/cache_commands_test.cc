// pull, ls, rm and completion as commands of the built program.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/rng.h"
#include "cli/program.h"
#include "http_server.h"
#include "support.h"

namespace tally {
namespace {

namespace fs = std::filesystem;
using test::HttpServer;
using test::Program;

std::string model_bytes(size_t size) {
  std::string bytes = "GGUF";
  for (size_t i = 4; i < size; ++i) bytes += static_cast<char>(random_u64(9, i));
  return bytes;
}

class CacheCommands : public testing::Test {
 protected:
  int run(const std::vector<std::string>& arguments) {
    Program program(arguments, environment());
    const int status = program.wait();
    out = program.out();
    err = program.err();
    return status;
  }
  std::vector<std::string> environment() const {
    return {"XDG_CACHE_HOME=" + folder.path().string(), "TALLY_HF_ENDPOINT=" + server.url("")};
  }
  fs::path cached(const std::string& name) const { return folder.path() / "tally" / name; }

  HttpServer server;
  test::TemporaryFolder folder;
  std::string out, err;
};

TEST_F(CacheCommands, pull_list_remove) {
  const std::string body = model_bytes(200000);
  server.set({.body = body});
  ASSERT_EQ(run({"pull", "hf:someone/model/m.gguf", "--progress"}), 0) << err;
  EXPECT_EQ(out, cached("m.gguf").string() + "\n");
  EXPECT_NE(err.find("of 200.0 kB, 100 %"), std::string::npos) << err;

  ASSERT_EQ(run({"ls", "--json"}), 0) << err;
  const nlohmann::json list = nlohmann::json::parse(out);
  EXPECT_EQ(list["folder"], (folder.path() / "tally").string());
  const auto& model = list["models"].back();
  EXPECT_EQ(model["name"], "m.gguf");
  EXPECT_EQ(model["bytes"], body.size());
  EXPECT_EQ(model["partial"], false);

  EXPECT_EQ(run({"rm", "../tally/m.gguf"}), 2);
  ASSERT_EQ(run({"rm", "m"}), 0) << err;
  EXPECT_FALSE(fs::exists(cached("m.gguf")));
  EXPECT_EQ(run({"rm", "m"}), 3);
}

TEST_F(CacheCommands, progress_only_when_asked_for_or_on_a_terminal) {
  server.set({.body = model_bytes(200000)});
  ASSERT_EQ(run({"pull", server.url("/m.gguf")}), 0) << err;
  EXPECT_EQ(err.find('%'), std::string::npos) << err;
}

TEST_F(CacheCommands, killed_download_is_never_used_and_is_continued) {
  const std::string body = model_bytes(4000000);
  server.set({.body = body, .pause_ms = 20});
  {
    Program program({"pull", server.url("/m.gguf")}, environment());
    // Some of it must be on disk, not in the program's buffers only.
    for (int i = 0; i < 1000 && server.n_body_bytes() < 1000000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(program.kill_and_wait(SIGKILL), 128 + SIGKILL);
  }
  EXPECT_FALSE(fs::exists(cached("m.gguf")));
  const uint64_t partial = fs::file_size(cached("m.gguf.partial"));
  EXPECT_GT(partial, 0u);
  EXPECT_LT(partial, body.size());
  ASSERT_EQ(run({"ls"}), 0);
  EXPECT_NE(out.find("not complete"), std::string::npos) << out;

  server.set({.body = body});
  ASSERT_EQ(run({"pull", server.url("/m.gguf")}), 0) << err;
  const auto fetched = test::read_file(cached("m.gguf"));
  EXPECT_EQ(std::string(fetched.begin(), fetched.end()), body);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_NE(requests[1].find("Range: bytes=" + std::to_string(partial) + "-"), std::string::npos) << requests[1];
}

TEST_F(CacheCommands, errors_have_a_status_and_say_what_to_do) {
  server.set({.status = 404});
  EXPECT_EQ(run({"pull", server.url("/m.gguf")}), 3);
  EXPECT_NE(err.find("404"), std::string::npos) << err;
  EXPECT_EQ(run({"pull", "no-such-model"}), 2);
  EXPECT_NE(err.find("smollm2"), std::string::npos) << err;
  EXPECT_EQ(run({"pull"}), 2);
  EXPECT_EQ(run({"pull", server.url("/m.gguf"), "--sha256", "12"}), 2);
}

TEST_F(CacheCommands, completion_for_bash) {
  ASSERT_EQ(run({"completion", "bash"}), 0) << err;
  const std::string script = folder.file("complete.sh");
  std::ofstream(script) << out
                        << "COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); _tally; printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const auto complete = [&](const std::string& words) {
    const std::string command = "bash " + script + " " + words;
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << command;
    return text;
  };
  EXPECT_EQ(complete("tally pul"), "pull\n");
  EXPECT_EQ(complete("tally pull --sh"), "--sha256\n");
  EXPECT_EQ(complete("tally completion b"), "bash\n");
  EXPECT_EQ(complete("tally rm smol"), "smollm2\n");
  EXPECT_EQ(complete("tally pull " + script.substr(0, script.size() - 2)), script + "\n");  // files
  EXPECT_EQ(complete("tally pull --sha256 " + script.substr(0, script.size() - 2)), script + "\n");
}

}  // namespace
}  // namespace tally
