#include "lab/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "lab/ab.h"
#include "lab/bench.h"
#include "lab/bisect.h"
#include "lab/fit.h"
#include "lab/sustain.h"
#include "support.h"

namespace tally::lab {
namespace {

TEST(Schema, the_document_lists_the_same_fields) {
  auto bytes = test::read_file(std::filesystem::path(TALLY_SOURCE_DIR) / "docs/lab-json.md");
  std::string text(bytes.begin(), bytes.end());
  std::set<std::string> documented, checked;
  std::regex row(R"(\n\| `([a-z0-9_]+)` \| (head|sample|values) \| ([a-z ]+) \|)");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it)
    documented.insert((*it)[2].str() + " " + (*it)[1].str() + ": " + (*it)[3].str());
  for (const SchemaField& f : schema_fields()) checked.insert(std::string(f.in) + " " + f.name + ": " + f.type);
  EXPECT_EQ(documented, checked);
}

TEST(Schema, the_laboratorys_required_fields_are_there) {
  std::set<std::string> names;
  for (const SchemaField& f : schema_fields()) names.insert(f.name);
  for (const char* name : {"weights_sha256", "round",         "position_in_round", "variant",     "clock_mhz",
                           "power_w",        "temp_c",        "prompt_sha256",     "text_kind",   "tokens_in",
                           "tokens_out",     "finish_reason", "output_sha256",     "correctness", "phase",
                           "baseline_id",    "null_ratio_ci", "tried_variants",    "coverage",    "dispatches",
                           "bytes_read"})
    EXPECT_TRUE(names.count(name)) << name;
}

TEST(Schema, problems_are_found) {
  Json sample{{"schema", 1},    {"kind", "sample"}, {"run", "r"},     {"test", "pp1"},
              {"variant", "v"}, {"value", 1.5},     {"unit", "tok/s"}};
  EXPECT_TRUE(schema_problems(sample).empty());
  auto with = [&](const char* key, Json value) {
    Json changed = sample;
    changed[key] = std::move(value);
    return schema_problems(changed).size();
  };
  EXPECT_EQ(with("round", 1.5), 1u);
  EXPECT_EQ(with("value", nullptr), 2u);  // once as required, once as known
  EXPECT_EQ(with("clock_mhz", nullptr), 0u);
  EXPECT_EQ(with("color", "red"), 1u);
  EXPECT_EQ(with("kind", "other"), 1u);
  EXPECT_EQ(with("schema", 2), 1u);
  sample.erase("unit");
  EXPECT_EQ(schema_problems(sample).size(), 1u);
  EXPECT_EQ(schema_problems(Json::array()).size(), 1u);
  Json result{{"schema", 1},
              {"kind", "result"},
              {"run", "r"},
              {"name", "n"},
              {"title", "t"},
              {"valid", false},
              {"values", {{"null_ratio_ci", 1}}},
              {"verdict", ""},
              {"notes", Json::array()},
              {"table", Json::object()}};
  EXPECT_EQ(schema_problems(result).size(), 2u);  // no reason, and an interval that is none
}

// The commands themselves, on the bundled model: every line conforms.
class Written : public testing::Test {
 protected:
  Written() {
    measure.engine.model = std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf";
    measure.engine.options.n_threads = 1;
  }
  void check(const std::string& command, std::set<std::string> blocks, const std::function<void(Output&)>& f) {
    test::TemporaryFolder folder;
    {
      Output output(command, folder.file("out.jsonl"), head_of(measure, std::string(64, '0')));
      testing::internal::CaptureStdout();
      f(output);
      testing::internal::GetCapturedStdout();
      output.finish();
    }
    std::ifstream in(folder.file("out.jsonl"));
    int n_samples = 0;
    for (std::string line; std::getline(in, line);) {
      Json j = Json::parse(line);
      for (const std::string& problem : schema_problems(j)) ADD_FAILURE() << command << ": " << problem << "\n" << line;
      n_samples += j["kind"] == "sample";
      if (j["kind"] == "result") blocks.erase(j["name"]);
    }
    EXPECT_GT(n_samples, 0);
    EXPECT_TRUE(blocks.empty()) << command << " did not write " << *blocks.begin();
  }
  std::unique_ptr<Target> tally() { return open_target("tally", measure.target_options()); }
  MeasureArgs measure;
};

TEST_F(Written, bench) {
  BenchArgs args;
  args.measure = measure, args.rounds = 2, args.no_machine = true;
  args.shapes.prompts = {16}, args.shapes.gens = {2}, args.shapes.batches = {1, 2};
  auto target = tally();
  check("bench", {"bench", "machine"}, [&](Output& o) { run_bench(args, *target, o); });
}

TEST_F(Written, ab) {
  AbArgs args;
  args.measure = measure, args.rounds = 3, args.inner = 1, args.a = args.b = "tally";
  args.shapes.prompts = {16}, args.shapes.gens = {0};
  auto a = tally(), b = tally(), again = tally();
  check("ab", {"ab", "machine"}, [&](Output& o) { run_ab(args, *a, *b, *again, o); });
}

TEST_F(Written, fit_and_bisect) {
  FitArgs args;
  args.measure = measure, args.rounds = 2, args.inner = 1, args.lengths = {8, 32}, args.held_out = {16};
  auto a = tally(), b = tally();
  check("fit", {"fit", "slowdown", "crossing", "machine"}, [&](Output& o) { run_fit(args, *a, b.get(), o); });
  BisectArgs steps;
  steps.measure = measure, steps.prompt = 16, steps.gen = 2, steps.rounds = 2, steps.inner = 1;
  std::vector<std::unique_ptr<Target>> targets;
  targets.push_back(std::move(a));
  targets.push_back(std::move(b));
  check("bisect", {"bisect", "bisect_verdict", "machine"}, [&](Output& o) { run_bisect(steps, targets, o); });
}

TEST_F(Written, sustain) {
  SustainArgs args;
  args.measure = measure, args.rest_s = 0, args.duration_s = 0.2, args.gen = 1;
  auto target = tally();
  check("sustain", {"sustain", "machine"}, [&](Output& o) { run_sustain(args, *target, nullptr, o); });
}

}  // namespace
}  // namespace tally::lab
