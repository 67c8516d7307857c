// Workloads, the Hugging Face form of a vocabulary, and how rivals are told and judged.
#include "lab/tokenizer_bench.h"

#include <gtest/gtest.h>

#include <fstream>

#include "app/tokenizer_from_gguf.h"
#include "base/error.h"
#include "support.h"
#include "text/utf8.h"

namespace tally::lab {
namespace {

gguf::File tiny() { return gguf::File::open(std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf"); }

TEST(TokenizerBench, six_workloads_of_valid_text) {
  std::vector<TextWorkload> all = builtin_workloads();
  ASSERT_EQ(all.size(), 6u);
  for (const TextWorkload& w : all) {
    EXPECT_GT(w.bytes(), 400u) << w.name;
    for (const std::string& t : w.texts) EXPECT_TRUE(text::is_valid_utf8(t)) << w.name;
  }
  EXPECT_EQ(all[0].texts.size(), 9u);
  EXPECT_EQ(all[5].texts[0].find_first_of(" \n"), std::string::npos);  // one word
  EXPECT_EQ(builtin_workloads()[4].texts, all[4].texts);               // the same every time
}

TEST(TokenizerBench, workloads_from_a_folder) {
  test::TemporaryFolder folder;
  EXPECT_THROW(workloads_in(folder.path().string()), Error);
  std::ofstream(folder.file("chat.txt")) << "user: a\nmore\nassistant: b";
  std::ofstream(folder.file("prose.txt")) << "some text";
  std::vector<TextWorkload> all = workloads_in(folder.path().string());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].texts, (std::vector<std::string>{"user: a\nmore\n", "assistant: b"}));
}

TEST(TokenizerBench, ours_is_timed_and_gives_ids) {
  gguf::File file = tiny();
  text::Tokenizer tokenizer = app::tokenizer_from_gguf(file.metadata());
  Encoded e = encode_ours(tokenizer, {"x", {"Hello there", "", "again"}}, 0);
  EXPECT_EQ(e.passes, 1);
  EXPECT_EQ(e.ids[0], tokenizer.encode("Hello there", false, false));
  EXPECT_TRUE(e.ids[1].empty());
}

TEST(TokenizerBench, hugging_face_form) {
  gguf::File file = tiny();
  text::TokenizerSpec spec = app::tokenizer_spec(file.metadata());
  Json j = Json::parse(hf_tokenizer_json(spec));
  EXPECT_EQ(j["model"]["type"], "BPE");
  EXPECT_EQ(j["model"]["vocab"].size(), spec.tokens.size());
  EXPECT_EQ(j["model"]["merges"].size(), spec.merges.size());
  EXPECT_EQ(j["model"]["vocab"][std::string(spec.tokens[300])], 300);
  EXPECT_EQ(j["pre_tokenizer"]["pretokenizers"].size(), 2u);
  spec.model = "llama";
  EXPECT_THROW(hf_tokenizer_json(spec), Error);
  spec.model = "gpt2";
  spec.pre = "no such";
  EXPECT_THROW(hf_tokenizer_json(spec), Error);
}

TEST(TokenizerBench, rivals) {
  EXPECT_EQ(parse_rival("hf").kind, "hf");
  EXPECT_THROW(parse_rival("sentencepiece"), Error);
  EXPECT_THROW(parse_rival("llama.cpp:"), Error);
  EXPECT_THROW(parse_rival("llama.cpp:/no/such/folder"), Error);
  test::TemporaryFolder folder;
  std::ofstream(folder.file("libllama.so")) << "x";
  EXPECT_EQ(parse_rival("llama.cpp:" + folder.path().string()).library, folder.file("libllama.so"));
  EXPECT_EQ(parse_rival("llama.cpp:" + folder.file("llama-bench")).library, folder.file("libllama.so"));
}

// A stand-in for Python: whatever the program is, it answers as told.
RivalRun answered(const test::TemporaryFolder& folder, const std::string& answer, int status = 0) {
  std::string path = folder.file("python");
  std::ofstream(path) << "#!/bin/sh\ncat <<'EOF'\n" << answer << "\nEOF\necho 'no module' >&2\nexit " << status << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return run_rival({.kind = "hf", .python = path}, {{"chat", {"a"}}}, folder.path(), 0, true);
}

TEST(TokenizerBench, answers_of_a_rival) {
  test::TemporaryFolder folder;
  RivalRun r =
      answered(folder, R"({"version": "1", "results": {"chat": {"ms": 0.5, "passes": 3, "ids": [[1, 2], []]}}})");
  EXPECT_EQ(r.of["chat"].ids[0], (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(r.of["chat"].ms, 0.5);
  EXPECT_THROW(answered(folder, "", 1), Error);
  EXPECT_THROW(answered(folder, "no json"), Error);
  EXPECT_THROW(answered(folder, R"({"results": {}})"), Error);
  EXPECT_THROW(answered(folder, R"({"results": {"chat": {"ms": -1}}})"), Error);
}

TEST(TokenizerBench, the_first_difference_is_named) {
  EXPECT_EQ(first_difference({{1, 2}}, {{1, 2}}), "");
  EXPECT_EQ(first_difference({{1, 2}, {3}}, {{1, 2}, {4}}), "text 2, token 0: 3 against 4");
  EXPECT_EQ(first_difference({{1, 2}}, {{1}}), "text 1: 2 tokens against 1");
  EXPECT_NE(first_difference({{1}}, {}), "");
}

}  // namespace
}  // namespace tally::lab
