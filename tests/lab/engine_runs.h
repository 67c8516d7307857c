// Runs a block function on the bundled model and reads back what it wrote.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "lab/probe.h"
#include "support.h"

namespace tally::test {

struct LabRun {
  lab::Json head;
  std::vector<lab::Json> samples;
  std::map<std::string, lab::Json> blocks;  // by name
};

template <typename F>
LabRun run_lab(F&& f) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.jsonl");
  {
    lab::Output out("test", path, lab::Json::object());
    testing::internal::CaptureStdout();
    f(out);
    out.finish();
    testing::internal::GetCapturedStdout();
  }
  LabRun run;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    lab::Json j = lab::Json::parse(line);
    if (j["kind"] == "head") run.head = j;
    if (j["kind"] == "sample") run.samples.push_back(j);
    if (j["kind"] == "result") run.blocks[j["name"].get<std::string>()] = j;
  }
  return run;
}

// Any noise is accepted: tests look at counts and structure.
inline app::EngineArgs tiny_args(int chunk = 512) {
  app::EngineArgs args;
  args.model = std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf";
  args.quiet = true;
  args.options.n_threads = 2;
  args.options.chunk = chunk;
  return args;
}

// A block that is not valid says why and gives no figures.
inline void expect_reason_in_place_of_numbers(const lab::Json& block) {
  ASSERT_FALSE(block["valid"].get<bool>());
  EXPECT_FALSE(block["reason"].get<std::string>().empty());
  EXPECT_TRUE(block["values"].empty()) << block["values"];
  EXPECT_TRUE(block["table"]["rows"].empty());
}

}  // namespace tally::test
