// Real vocabularies: the ids that other implementations give, through the library as the program uses it.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/tokenizer_from_gguf.h"
#include "base/base64.h"
#include "base/error.h"
#include "support.h"
#include "text/utf8.h"

namespace tally::app {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kCommitted = fs::path(TALLY_SOURCE_DIR) / "tests/data/tokenizer";

// Content of a .gz file, through the gzip program; empty when that is missing.
std::vector<uint8_t> unpacked(const fs::path& path) {
  std::vector<uint8_t> bytes;
  const std::string command = "gzip -dc '" + path.string() + "' 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return bytes;
  uint8_t part[65536];
  for (size_t n; (n = fread(part, 1, sizeof part, pipe)) > 0;) bytes.insert(bytes.end(), part, part + n);
  pclose(pipe);
  return bytes;
}

std::vector<json> lines_of(const fs::path& path) {
  std::vector<json> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) rows.push_back(json::parse(line));
  }
  return rows;
}

std::string bytes_of(const json& row) {
  if (row.contains("text")) return row["text"];
  const auto bytes = base64_decode(row["bytes"].get<std::string>());
  return {bytes->begin(), bytes->end()};
}

struct Model {
  std::vector<uint8_t> image;
  gguf::File file;
  text::Tokenizer tokenizer;

  explicit Model(std::vector<uint8_t> bytes)
      : image(std::move(bytes)),
        file(gguf::File::parse(image, "vocabulary")),
        tokenizer(tokenizer_from_gguf(file.metadata())) {}
};

// Number of rows that were checked.
int check_encode(const text::Tokenizer& tokenizer, const fs::path& cases) {
  int n = 0;
  for (const json& row : lines_of(cases)) {
    const auto ids = tokenizer.encode(bytes_of(row), row["add_special"], row["parse_special"]);
    EXPECT_EQ(json(ids), row["ids"]) << cases.filename() << ": " << row.dump();
    ++n;
  }
  return n;
}

int check_decode(const text::Tokenizer& tokenizer, const fs::path& cases) {
  int n = 0;
  for (const json& row : lines_of(cases)) {
    const auto ids = row["ids"].get<std::vector<int32_t>>();
    const bool special = row["special"];
    EXPECT_EQ(tokenizer.decode(ids, special), bytes_of(row)) << cases.filename() << ": " << row.dump();
    if (row.contains("whole")) {
      EXPECT_EQ(tokenizer.decode_whole(ids, special), row["whole"].get<std::string>());
    }
    if (row.contains("stream")) {
      text::StreamDecoder decoder(tokenizer, special);
      json pieces = json::array();
      for (const int32_t id : ids) pieces.push_back(decoder.push(id));
      EXPECT_EQ(pieces, row["stream"]) << row.dump();
      EXPECT_EQ(decoder.flush(), "");
    }
    ++n;
  }
  return n;
}

TEST(TokenizerData, CommittedVocabularies) {
  for (const std::string name : {"qwen2", "falcon", "default", "lfm2"}) {
    auto image = unpacked(kCommitted / (name + ".gguf.gz"));
    if (image.empty()) GTEST_SKIP() << "the program gzip is missing or " << kCommitted << " is incomplete";
    const Model model(std::move(image));
    EXPECT_GT(check_encode(model.tokenizer, kCommitted / (name + ".encode.jsonl")), 150) << name;
    EXPECT_GT(check_decode(model.tokenizer, kCommitted / (name + ".decode.jsonl")), 20) << name;
    EXPECT_EQ(model.tokenizer.warning().empty(), name != "default");
  }
}

TEST(TokenizerData, SharedVocabularies) {
  const auto shared = test::shared_data();
  if (!shared || !fs::exists(*shared / "data/tokenizer/cases")) GTEST_SKIP() << test::kNoSharedData;
  const fs::path folder = *shared / "data/tokenizer";
  int n = 0;
  for (const auto& entry : fs::directory_iterator(folder / "cases")) {
    const std::string name = entry.path().stem();
    auto image = unpacked(folder / "vocab" / (name + ".gguf.gz"));
    if (image.empty()) GTEST_SKIP() << "the program gzip is missing";
    const Model model(std::move(image));
    n += check_encode(model.tokenizer, entry.path());
    n += check_encode(model.tokenizer, folder / "original" / entry.path().filename());
    n += check_decode(model.tokenizer, folder / "decode" / entry.path().filename());
  }
  EXPECT_GT(n, 15000);
}

// The table of ids against the published one.
TEST(TokenizerData, DefaultsOfEveryPreTokenizer) {
  const auto shared = test::shared_data();
  if (!shared) GTEST_SKIP() << test::kNoSharedData;
  std::ifstream in(*shared / "data/tokenizer/pre-ids.json");
  if (!in) GTEST_SKIP() << test::kNoSharedData;
  const json table = json::parse(in);
  const std::vector<std::string> texts = {"a", "b", "ab", "<bos>"};
  for (const auto& [id, row] : table["ids"].items()) {
    text::TokenizerSpec spec;
    spec.file = "small";
    spec.model = "gpt2";
    if (id != "(missing)") spec.pre = id;
    spec.tokens.assign(texts.begin(), texts.end());
    const std::string merge = "x y";
    spec.merges = {merge};
    spec.ids.bos = 3;
    const auto tokenizer = text::Tokenizer::create(spec);
    EXPECT_EQ(tokenizer.add_bos(), row["add_bos"].get<bool>()) << id;
    const std::vector<int32_t> whole = {2}, parts = {0, 1};
    EXPECT_EQ(tokenizer.encode("ab", false, false), row["ignore_merges"] ? whole : parts) << id;
  }
}

}  // namespace
}  // namespace tally::app
