// tally grammar, and tally run held to a grammar or schema, as scripts use them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace tally {
namespace {

using nlohmann::json;

const std::string kModel = std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf";

// The answers of a command with --jsonl to these lines.
std::vector<json> answers(const std::string& arguments, const std::vector<json>& lines) {
  test::TemporaryFolder folder;
  {
    std::ofstream in(folder.file("in"));
    for (const json& line : lines) in << line.dump() << '\n';
  }
  const std::string command = std::string(TALLY_PROGRAM) + " " + arguments + " --jsonl < " + folder.file("in") + " > " +
                              folder.file("out") + " 2> " + folder.file("err");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream out(folder.file("out"));
  std::vector<json> all;
  for (std::string line; std::getline(out, line);) all.push_back(json::parse(line));
  EXPECT_EQ(all.size(), lines.size());
  all.resize(lines.size());
  return all;
}

TEST(GrammarCommand, ChecksTextsUnderEveryWayToSplitThem) {
  const json line{{"grammar", "root ::= \"[\" ([a-zé]{1,4} (\",\" [0-9]+)?)* \"]\""},
                  {"accept", {"[]", "[abcé,12de]", "[éééé,7]"}},
                  {"reject", {"[", "[abcde,12,]", "[,]", "[a]]"}},
                  {"either", {"[a]", "x"}}};
  for (const char* splits : {"bytes", "tokens", "random"})
    for (const std::string& model : {std::string(), kModel}) {
      json ask = line;
      ask["splits"] = splits;
      const json got = answers("grammar check " + model, {ask})[0];
      EXPECT_EQ(got["compiled"], true) << got;
      EXPECT_EQ(got["wrongly_refused"].size(), 0u) << got;
      EXPECT_EQ(got["wrongly_accepted"].size(), 0u) << got;
      EXPECT_EQ(got["either_accepted"], 1) << got;
      EXPECT_GT(got["mask_us"]["n"], 10) << got;
    }
}

TEST(GrammarCommand, SaysWhatIsWrongAndWhere) {
  const auto got =
      answers("grammar check", {{{"grammar", "root ::= \"ab\""}, {"accept", {"ac", "a"}}, {"reject", {"ab"}}},
                                {{"grammar", "root ::= (\"a\""}},
                                {{"grammar", "root ::= \"a\" root"}},
                                {{"id", 7}, {"schema_base64", "/w=="}},
                                {{"accept", {"a"}}}});
  EXPECT_EQ(got[0]["wrongly_refused"][0], json({{"text", "ac"}, {"at", 1}}));
  EXPECT_EQ(got[0]["wrongly_refused"][1], json({{"text", "a"}, {"at", 1}}));
  EXPECT_EQ(got[0]["wrongly_accepted"], json({"ab"}));
  EXPECT_EQ(got[1]["error"]["code"], "invalid_grammar");
  EXPECT_EQ(got[1]["error"]["path"], "1:10");
  EXPECT_EQ(got[2]["error"]["code"], "unsatisfiable");
  EXPECT_EQ(got[3]["error"]["code"], "not_json");
  EXPECT_EQ(got[3]["id"], 7);
  EXPECT_EQ(got[4]["error"]["code"], "bad_input");
}

TEST(GrammarCommand, MasksOfAVocabularyInTheLine) {
  const json vocab{{"tokens", {"61", "62", "6162", "c3", "a9", "c3a962"}}, {"end", 6}};
  const auto got =
      answers("grammar mask", {{{"grammar", "root ::= \"a\"? \"é\" \"b\"?"}, {"vocab", vocab}, {"prefix", ""}},
                               {{"grammar", "root ::= \"a\"? \"é\" \"b\"?"}, {"vocab", vocab}, {"prefix", "c3"}},
                               {{"grammar", "root ::= \"a\"? \"é\" \"b\"?"}, {"vocab", vocab}, {"prefix", "c3a9"}},
                               {{"grammar", "root ::= \"a\"? \"é\" \"b\"?"}, {"vocab", vocab}, {"prefix", "62"}}});
  EXPECT_EQ(got[0]["allowed"], json::parse("[[0,0],[3,3],[5,5]]"));
  EXPECT_EQ(got[1]["allowed"], json::parse("[[4,4]]"));
  EXPECT_EQ(got[2]["allowed"], json::parse("[[1,1],[6,6]]"));
  EXPECT_EQ(got[2]["end"], true);
  EXPECT_EQ(got[3]["alive"], false);
}

TEST(RunCommand, GrammarHoldsWithAndWithoutDrafting) {
  const std::string grammar = "root ::= \"<\" [a-z]{2,6} \">\" (\" \" [0-9]{1,3}){2} \"!\"";
  std::vector<json> lines;
  for (int seed = 0; seed < 6; ++seed)
    lines.push_back({{"prompt", "hello"},
                     {"n_predict", 40},
                     {"temperature", seed == 0 ? 0 : 1},
                     {"seed", seed},
                     {"grammar", grammar}});
  lines.push_back({{"prompt", "hello"}, {"n_predict", 2}, {"grammar", grammar}});
  lines.push_back({{"prompt", "hello"}, {"n_predict", 2}, {"grammar", "root ::= x"}});
  lines.push_back({{"prompt", "hello"}, {"n_predict", 40}, {"ignore_eos", true}, {"grammar", "root ::= \"yes\""}});
  const auto plain = answers("run " + kModel, lines), drafted = answers("run " + kModel + " --speculate 3", lines);
  std::vector<json> check{{{"grammar", grammar}, {"accept", json::array()}}};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(plain[i]["ids"], drafted[i]["ids"]);
    EXPECT_EQ(plain[i]["finish_reason"], "stop") << plain[i];
    check[0]["accept"].push_back(plain[i]["text"]);
  }
  EXPECT_EQ(answers("grammar check", check)[0]["wrongly_refused"].size(), 0u);
  EXPECT_EQ(plain[6]["finish_reason"], "length");
  EXPECT_EQ(plain[7]["error"]["path"], "1:10");
  EXPECT_EQ(plain[8]["text"], "yes");
}

TEST(RunCommand, FilesThatCannotBeObeyedAreNamed) {
  test::TemporaryFolder folder;
  std::ofstream(folder.file("g")) << "root ::= \"a\n";
  test::Program program({"run", kModel, "-p", "x", "--grammar", folder.file("g")});
  EXPECT_EQ(program.wait(), 3);
  EXPECT_NE(program.err().find(folder.file("g")), std::string::npos) << program.err();
  EXPECT_NE(program.err().find("1:10"), std::string::npos) << program.err();
}

}  // namespace
}  // namespace tally
