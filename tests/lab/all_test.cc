// The parts of `tally lab all` that no other command has, on the bundled model.
#include "lab/all.h"

#include <gtest/gtest.h>

#include <fstream>

#include "app/jsonl.h"
#include "lab/schema.h"
#include "support.h"

namespace tally::lab {
namespace {

AllArgs bundled() {
  AllArgs args;
  args.measure.engine.model = std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf";
  args.measure.engine.options.n_threads = 1;
  args.prompt = 4, args.gen = 2, args.rounds = 3;
  return args;
}

TEST(All, fingerprint_names_weights_and_machine) {
  const Block b = fingerprint_block(bundled());
  EXPECT_EQ(b.values["model"], "tally-tiny.gguf");
  EXPECT_EQ(b.values["weights_sha256"].get<std::string>().size(), 64u);
  EXPECT_GT(b.values["read_per_token_bytes"].get<double>(), 1e6);
  EXPECT_LT(b.values["read_per_token_bytes"].get<double>(), b.values["file_bytes"].get<double>());
  EXPECT_TRUE(b.values["machine"].contains("processor"));
}

TEST(All, null_run_of_both_phases) {
  test::TemporaryFolder folder;
  AllArgs args = bundled();
  args.max_spread = 1e9;  // what else runs here must not decide this test
  {
    Output output("all", folder.file("run.jsonl"), Json::object());
    run_null(args, output);
  }
  std::ifstream in(folder.file("run.jsonl"));
  std::vector<Json> blocks;
  for (std::string line; std::getline(in, line);) {
    const Json j = app::parse_json_ordered(line);
    EXPECT_EQ(schema_problems(j), std::vector<std::string>{}) << line;
    if (j.value("name", "") == "null") blocks.push_back(j);
  }
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0]["values"]["test"], "pp4");
  EXPECT_EQ(blocks[1]["values"]["test"], "tg2");
  for (const Json& b : blocks) {
    EXPECT_EQ(b["valid"], true);
    EXPECT_EQ(b["values"]["null_ratios"].size(), 3u);
    EXPECT_GE(b["values"]["spread"].get<double>(), 1);
  }
}

TEST(All, a_spread_beyond_the_limit_is_not_valid) {
  test::TemporaryFolder folder;
  AllArgs args = bundled();
  args.max_spread = 1 - 1e-9;  // no two runs are that equal
  {
    Output output("all", folder.file("run.jsonl"), Json::object());
    run_null(args, output);
  }
  std::ifstream in(folder.file("run.jsonl"));
  for (std::string line; std::getline(in, line);) {
    const Json j = app::parse_json_ordered(line);
    if (j.value("name", "") == "null") {
      EXPECT_EQ(j["valid"], false) << line;
    }
  }
}

}  // namespace
}  // namespace tally::lab
