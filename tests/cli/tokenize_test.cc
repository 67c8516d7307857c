#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "gguf/writer.h"
#include "text/bpe.h"

namespace tally::test {
namespace {

using nlohmann::json;

// A vocabulary without tensors: the byte alphabet, one merge, one control token.
std::string write_vocabulary(const TemporaryFolder& folder) {
  std::vector<std::string> texts(text::byte_alphabet().begin(), text::byte_alphabet().end());
  texts.insert(texts.end(), {"hi", "<|im_end|>"});
  std::vector<int64_t> types(texts.size(), 1);
  types.back() = 3;
  const std::vector<std::string_view> tokens(texts.begin(), texts.end());
  const std::vector<std::string_view> merges = {"h i"};
  gguf::Writer writer;
  writer.add_text("general.architecture", "llama");
  writer.add_text("tokenizer.ggml.model", "gpt2");
  writer.add_text("tokenizer.ggml.pre", "gpt-2");
  writer.add_texts("tokenizer.ggml.tokens", tokens);
  writer.add_texts("tokenizer.ggml.merges", merges);
  writer.add_ints("tokenizer.ggml.token_type", gguf::ValueType::Int32, types);
  const std::string path = folder.file("vocabulary.gguf");
  writer.write(path, [](int, std::span<uint8_t>) {});
  return path;
}

TEST(TokenizeCommand, EncodesAndDecodes) {
  const TemporaryFolder folder;
  const std::string path = write_vocabulary(folder);
  Program encode({"tokenize", path, "hi!<|im_end|>", "--special", "--json"});
  ASSERT_EQ(encode.wait(), 0) << encode.err();
  const json encoded = json::parse(encode.out());
  EXPECT_EQ(encoded["ids"], json({256, '!', 257}));
  EXPECT_EQ(encoded["pieces"], json({"hi", "!", "<|im_end|>"}));
  Program decode({"tokenize", path, "--ids", "256,33,257", "--json"});
  ASSERT_EQ(decode.wait(), 0) << decode.err();
  EXPECT_EQ(json::parse(decode.out())["text"], "hi!");
  Program bytes({"tokenize", path, "--ids", "195", "--json"});
  ASSERT_EQ(bytes.wait(), 0) << bytes.err();
  EXPECT_EQ(json::parse(bytes.out())["bytes"], "ww==");
}

TEST(TokenizeCommand, RefusesWithTheRightStatus) {
  const TemporaryFolder folder;
  const std::string path = write_vocabulary(folder);
  Program both({"tokenize", path, "text", "--ids", "1"});
  EXPECT_EQ(both.wait(), 2);
  Program range({"tokenize", path, "--ids", "258"});
  EXPECT_EQ(range.wait(), 3);
  EXPECT_NE(range.err().find("257"), std::string::npos) << range.err();
  Program missing({"tokenize", folder.file("nothing.gguf"), "x"});
  EXPECT_EQ(missing.wait(), 3);
}

}  // namespace
}  // namespace tally::test
