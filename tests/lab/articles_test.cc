// Replays the printed tables of the articles: each conclusion and each complaint must come out, and no other.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "lab/whatif.h"
#include "support.h"

namespace tally::lab {
namespace {

Json load(const std::filesystem::path& path) {
  std::vector<uint8_t> bytes = test::read_file(path);
  return Json::parse(bytes.begin(), bytes.end());
}

void replay(const Json& question, const std::string& where) {
  WhatIf w = what_if(question);
  std::string all = w.block.verdict + w.block.not_valid;
  if (question.contains("expect")) {
    std::string expected = question["expect"];
    EXPECT_NE(all.find(expected), std::string::npos) << where << ": expected \"" << expected << "\" in: " << all;
  }
  Json complaints = question.value("complain", Json::array());
  EXPECT_EQ(w.complaints.size(), complaints.size()) << where << (w.complaints.empty() ? "" : ": " + w.complaints[0]);
  for (size_t i = 0; i < complaints.size() && i < w.complaints.size(); ++i)
    EXPECT_NE(w.complaints[i].find(complaints[i].get<std::string>()), std::string::npos)
        << where << ": " << w.complaints[i];
}

TEST(Articles, every_conclusion_and_complaint) {
  std::set<int> flags;
  int n = 0;
  for (const char* name : {"a", "b", "c", "d"}) {
    Json document =
        load(std::filesystem::path(TALLY_SOURCE_DIR) / "tests/data/lab/articles" / (std::string(name) + ".json"));
    for (const Json& q : document["tables"]) {
      replay(q, std::string(name) + ": " + q.value("title", ""));
      if (q.contains("flag")) flags.insert(q["flag"].get<int>());
      ++n;
    }
  }
  EXPECT_GE(n, 45);
  for (int flag : {2, 3, 5, 12, 14}) EXPECT_TRUE(flags.count(flag)) << flag;
}

// The complaints are rules, not a list: other numbers of the same kind, and sound ones that must pass.
TEST(WhatIf, complaints_follow_the_numbers) {
  auto complains = [](const char* q) { return !what_if(Json::parse(q)).complaints.empty(); };
  EXPECT_TRUE(complains(R"({"kind": "profile", "total": 1100, "known": 400, "wall": 1000})"));
  EXPECT_FALSE(complains(R"({"kind": "profile", "total": 1040, "known": 400, "wall": 1000})"));
  EXPECT_TRUE(complains(R"({"kind": "profile", "total": 1000, "known": [600, 500]})"));
  EXPECT_TRUE(complains(R"({"kind": "calls", "in_place": 300, "standalone": 10, "calls": 20})"));
  EXPECT_FALSE(complains(R"({"kind": "calls", "in_place": 203, "standalone": 10, "calls": 20})"));
  EXPECT_TRUE(complains(R"({"kind": "compose", "chain": 1.3, "local": 4, "recorded": 0.2})"));
  EXPECT_FALSE(complains(R"({"kind": "compose", "chain": 1.1, "local": 4, "recorded": 0.2})"));
  EXPECT_TRUE(complains(R"({"kind": "agent", "in": [1000], "out": [100], "prefill": 100, "decode": 10, "wall": 15})"));
  EXPECT_FALSE(complains(R"({"kind": "agent", "in": [1000], "out": [100], "prefill": 100, "decode": 10, "wall": 21})"));
  EXPECT_TRUE(complains(R"({"kind": "ceiling", "p": [1.2]})"));
  EXPECT_TRUE(complains(R"({"kind": "fit", "n": [512, 600], "ms": [1, 2]})"));
}

TEST(WhatIf, refuses_what_it_does_not_know) {
  EXPECT_THROW(what_if(Json::parse(R"({"kind": "nonsense"})")), Error);
  EXPECT_THROW(what_if(Json::parse(R"({"p": 1})")), Error);
  EXPECT_THROW(what_if(Json::parse(R"({"kind": "ceiling", "p": 0.5, "rat": 3})")), Error);
  EXPECT_FALSE(what_if(Json::parse(R"({"kind": "ceiling"})")).block.not_valid.empty());
}

TEST(WhatIf, rounding_of_printed_values) {
  EXPECT_TRUE(rounds_to(1.694, "1.69"));
  EXPECT_FALSE(rounds_to(1.694, "1.70"));
  EXPECT_TRUE(rounds_to(486400, "486,400"));
  EXPECT_FALSE(rounds_to(487424, "486,400"));
  EXPECT_TRUE(rounds_to(5149, "5.1e3"));
  EXPECT_TRUE(rounds_to(95, "~100"));
  EXPECT_FALSE(rounds_to(80, "~100"));
  EXPECT_TRUE(rounds_to(-0.0519, "-0.052"));
  EXPECT_THROW(rounds_to(1, "one"), Error);
  EXPECT_THROW(rounds_to(1, ""), Error);
}

TEST(WhatIf, a_saved_run_answers) {
  std::vector<Json> lines{Json::parse(R"({"kind": "head"})")};
  for (auto [test, value] : {std::pair{"pp512", 804.5},
                             {"pp512", 805.0},
                             {"pp2048", 998.7},
                             {"tg64", 50.0},
                             {"tg64@b8", 100.0},
                             {"pp512@d64", 1.0}})
    lines.push_back({{"kind", "sample"}, {"test", test}, {"value", value}, {"unit", "tok/s"}});
  lines.push_back(Json::parse(
      R"({"kind": "result", "values": {"rate_tok_s": 10, "segments": [{"name": "qkv", "share": 0.3}, {"name": "unattributed", "share": 0.1}]}})"));
  lines.push_back({{"kind", "sample"}, {"test", "tg64@b8"}, {"phase", "cold"}, {"ms", 1e6}});  // cold runs bend no line
  std::vector<Json> q = questions_of_run(lines);
  ASSERT_EQ(q.size(), 3u);
  EXPECT_NEAR(what_if(q[0]).block.values["all_free"].get<double>(), 1 / 0.7, 1e-9);
  EXPECT_NEAR(what_if(q[0]).block.values["best_rate"].get<double>(), 10 / 0.7, 1e-9);
  EXPECT_NEAR(what_if(q[1]).block.values["per_token_ms"].get<double>(), 0.921, 2e-3);
  EXPECT_NEAR(what_if(q[2]).block.values["ceiling_tok_s"].get<double>(), 116.67, 0.01);
  std::vector<Json> widths;
  for (auto [test, ms] : {std::pair{"pp1", 8.47}, {"pp2", 13.49}, {"pp8", 28.13}})
    widths.push_back({{"kind", "sample"}, {"test", test}, {"ms", ms}});
  WhatIf spec = what_if(questions_of_run(widths).back());
  EXPECT_NEAR(spec.block.values["rows"][1]["best"].get<double>(), 2.41, 5e-3);
  EXPECT_THROW(questions_of_run({Json::parse(R"({"kind": "sample", "test": "pp12", "value": "x"})")}), Error);
}

}  // namespace
}  // namespace tally::lab
