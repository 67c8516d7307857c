#include "app/info.h"

#include <gtest/gtest.h>

#include <limits>

#include "app/jsonl.h"
#include "app/synth.h"
#include "gguf/writer.h"
#include "support.h"

namespace tally::app {
namespace {

using nlohmann::json;

const MachineMemory kMachine{.total = 32'000'000'000, .available = 30'000'000'000};

json json_of(const gguf::File& file, const InfoOptions& options = {}) {
  return json::parse(dump_json(info_json(file, read_info(file, options, kMachine), options)));
}

std::string text_of(const gguf::File& file, const InfoOptions& options = {}) {
  return info_text(file, read_info(file, options, kMachine), options);
}

gguf::File synthetic(const test::TemporaryFolder& folder, const std::string& architecture) {
  const std::string path = folder.file(architecture + ".gguf");
  synthesize({.architecture = architecture, .size = "tiny", .path = path, .progress = ProgressMode::Off});
  return gguf::File::open(path);
}

TEST(Info, JsonOfAModel) {
  test::TemporaryFolder folder;
  const gguf::File file = synthetic(folder, "qwen35moe");
  const json info = json_of(file, {.program = true});
  EXPECT_EQ(info["architecture"], "qwen35moe");
  EXPECT_EQ(info["supported"], true);
  EXPECT_EQ(info["note"], "");
  EXPECT_EQ(info["metadata"]["qwen35moe.block_count"], 4);
  EXPECT_EQ(info["metadata"]["qwen35moe.rope.dimension_sections"], json({3, 3, 2, 0}));
  EXPECT_EQ(info["vocab_size"], 512);
  EXPECT_EQ(info["context_length"], 32768);
  ASSERT_EQ(info["tensors"].size(), file.tensors().size());
  uint64_t n_parameters = 0;
  for (const json& t : info["tensors"]) {
    uint64_t n = 1;
    for (const json& dim : t["shape"]) n *= dim.get<uint64_t>();
    n_parameters += n;
    EXPECT_EQ(t["offset"], file.find(t["name"].get<std::string>())->offset);
    EXPECT_EQ(t["type"], file.find(t["name"].get<std::string>())->type->name);
  }
  EXPECT_EQ(info["parameters"], n_parameters);
  EXPECT_LT(info["active_parameters"], n_parameters);
  EXPECT_GT(info["bytes_per_token"]["weights"], 0);
  // 4 of 16 experts: what a token reads is less than what is mapped.
  const json& contexts = info["memory"]["by_context"];
  ASSERT_EQ(contexts.size(), 3u);
  EXPECT_LT(info["bytes_per_token"]["weights"], contexts[0]["weight_bytes"]);
  EXPECT_EQ(contexts[0]["ctx"], 4096);
  EXPECT_EQ(contexts[2]["ctx"], 32768);
  EXPECT_LT(contexts[0]["state_bytes"], contexts[2]["state_bytes"]);
  for (const json& c : contexts) EXPECT_EQ(c["verdict"], "fits");
  EXPECT_EQ(info["memory"]["machine"]["total_bytes"], 32'000'000'000);
  EXPECT_TRUE(info["memory"]["machine"]["limit_bytes"].is_null());
  EXPECT_NE(info["program"].get<std::string>().find("gated_delta"), std::string::npos);
}

TEST(Info, TextOfAModel) {
  test::TemporaryFolder folder;
  const gguf::File file = synthetic(folder, "llama");
  const std::string text = text_of(file);
  for (const char* part : {"synthetic tiny", "llama, 3 layers", "q4_k ×", "32768 tokens", "fits", "licence", "none"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("blk.0.attn_q.weight"), std::string::npos);
  EXPECT_NE(text_of(file, {.tensors = true}).find("blk.0.attn_q.weight"), std::string::npos);
  EXPECT_NE(text_of(file, {.metadata = true}).find("llama.block_count = 3"), std::string::npos);
  EXPECT_NE(text_of(file, {.program = true}).find("rms_norm"), std::string::npos);
  EXPECT_NE(text_of(file, {.context_length = 1000}).find("    1000 "), std::string::npos);
}

// The parts that no real model has, in one image.
gguf::File odd_file(std::vector<uint8_t>& image) {
  gguf::Writer writer;
  writer.add_text("general.architecture", "martian");
  writer.add_text("general.name", "a\x1b[31mred\xff");
  writer.add_real("martian.scale", gguf::ValueType::Float32, std::numeric_limits<double>::infinity());
  writer.add_reals("martian.scales", std::vector<float>{1.f, std::numeric_limits<float>::quiet_NaN()});
  writer.add_int("martian.big", gguf::ValueType::Uint64, -1);
  std::vector<std::string_view> tokens(1000, "token");
  writer.add_texts("tokenizer.ggml.tokens", tokens);
  const uint64_t dims[] = {4};
  writer.add_tensor("blk.0.probe", quant::TypeId::F32, dims);
  image = writer.header();
  image.resize(image.size() + 32);
  return gguf::File::parse(image, "odd.gguf");
}

TEST(Info, UnknownArchitectureShowsWhatThereIs) {
  std::vector<uint8_t> image;
  const gguf::File file = odd_file(image);
  const json info = json_of(file);
  EXPECT_EQ(info["supported"], false);
  EXPECT_NE(info["note"].get<std::string>().find("martian"), std::string::npos);
  EXPECT_TRUE(info["metadata"]["martian.scale"].is_null());
  EXPECT_EQ(info["metadata_reasons"]["martian.scale"], "is infinite");
  EXPECT_EQ(info["metadata"]["martian.scales"], json({1.0, nullptr}));
  EXPECT_EQ(info["metadata_reasons"]["martian.scales"], "is not a number");
  EXPECT_EQ(info["metadata"]["martian.big"], UINT64_MAX);
  EXPECT_EQ(info["metadata"]["general.name"], json({{"bytes", "YRtbMzFtcmVk/w=="}}));
  EXPECT_EQ(info["metadata"]["tokenizer.ggml.tokens"], json({{"type", "string"}, {"count", 1000}}));
  EXPECT_EQ(json_of(file, {.full = true})["metadata"]["tokenizer.ggml.tokens"].size(), 1000u);
  EXPECT_EQ(info["tensors"][0]["shape"], json({4}));
  EXPECT_FALSE(info["memory"].contains("by_context"));

  const std::string text = text_of(file);
  EXPECT_NE(text.find("martian.scale = is infinite"), std::string::npos) << text;
  EXPECT_NE(text.find("blk.0.probe"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "control characters of the file reach the terminal";
}

TEST(Info, VocabularyAlone) {
  gguf::Writer writer;
  writer.add_text("general.architecture", "llama");
  writer.add_text("tokenizer.ggml.model", "gpt2");
  writer.add_texts("tokenizer.ggml.tokens", std::vector<std::string_view>{"a", "b"});
  const std::vector<uint8_t> image = writer.header();
  const gguf::File file = gguf::File::parse(image, "vocab.gguf");
  const json info = json_of(file);
  EXPECT_EQ(info["supported"], false);
  EXPECT_NE(info["note"].get<std::string>().find("no tensors"), std::string::npos);
  EXPECT_EQ(info["metadata"]["tokenizer.ggml.tokens"], json({"a", "b"}));
  EXPECT_NE(text_of(file).find("gpt2, 2 tokens"), std::string::npos);
}

}  // namespace
}  // namespace tally::app
