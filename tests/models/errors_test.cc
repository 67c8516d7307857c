// Files that cannot be run: each must give one clear message that names what, found and expected.
#include <cmath>

#include "edited_model.h"

namespace tally::test {
namespace {

using quant::TypeId;

struct Case {
  const char* name;
  const char* model;
  Edit edit;
  std::vector<std::string> expected;  // parts of the message
};

std::vector<Case> tensor_cases() {
  return {
      {"MissingTensor",
       "qwen35moe",
       {.tensors = {{"blk.2.ssm_a", std::nullopt}}},
       {"model.gguf: tensor \"blk.2.ssm_a\" is missing, expected [4]"}},
      {"TooFewExperts",
       "qwen35moe",
       {.tensors = {{"blk.3.ffn_down_exps.weight", TensorEdit{TypeId::F16, {16, 64, 5}}}}},
       {"tensor \"blk.3.ffn_down_exps.weight\" is [16, 64, 5], expected [16, 64, 6] (the last size is the key "
        "\"qwen35moe.expert_count\")",
        "the file is damaged or was converted by an older tool"}},
      {"WrongQkvRows",
       "qwen35moe",
       {.tensors = {{"blk.0.attn_qkv.weight", TensorEdit{TypeId::F16, {64, 128}}}}},
       {"is [64, 128], expected [64, 256]",
        "follows from the keys \"qwen35moe.ssm.group_count\" and \"qwen35moe.ssm.state_size\""}},
      {"WrongHidden",
       "llama",
       {.tensors = {{"blk.0.attn_q.weight", TensorEdit{TypeId::F32, {32, 64}}}}},
       {"\"blk.0.attn_q.weight\" is [32, 64], expected [64, 64] (the first size is the key "
        "\"llama.embedding_length\")"}},
      {"FusedQkv",
       "bailingmoe2",
       {.tensors = {{"blk.1.attn_qkv.weight", TensorEdit{TypeId::F16, {64, 120}}}}},
       {"\"blk.1.attn_qkv.weight\" is [64, 120], expected [64, 128]", "attention.head_count_kv"}},
      {"IntegerWeight",
       "llama",
       {.tensors = {{"blk.1.ffn_up.weight", TensorEdit{TypeId::I32, {64, 64}}}}},
       {"tensor \"blk.1.ffn_up.weight\" is of type i32, expected a type that can be a weight"}},
      {"ScaleCompanion",
       "llama",
       {.tensors = {{"blk.1.ffn_up.scale", TensorEdit{TypeId::F32, {1}}}}},
       {"\"blk.1.ffn_up.weight\"", "\"blk.1.ffn_up.scale\"", "not supported"}},
      {"UntiedHeadMissing",
       "bailingmoe2",
       {.tensors = {{"output.weight", std::nullopt}}},
       {"tensor \"output.weight\" is missing"}},
      {"NoEmbedding",
       "llama",
       {.tensors = {{"token_embd.weight", std::nullopt}}},
       {"tensor \"token_embd.weight\" is missing, expected [64, 272]"}},
      {"FewerRowsThanTokens",
       "llama",
       {.tensors = {{"token_embd.weight", TensorEdit{TypeId::F32, {64, 271}}}}},
       {"\"token_embd.weight\" has 271 rows", "272 tokens", "tokenizer.ggml.tokens"}},
      {"MtpBlockOnly",
       "qwen35moe",
       {.tensors = {{"blk.0.attn_norm.weight", std::nullopt}}},
       {"holds only the MTP block"}},
      {"MtpTensorMissing",
       "qwen35moe",
       {.tensors = {{"blk.4.nextn.eh_proj.weight", std::nullopt}}},
       {"tensor \"blk.4.nextn.eh_proj.weight\" is missing, expected [128, 64]"}},
  };
}

std::vector<Case> key_cases() {
  return {
      {"UnknownArchitecture",
       "llama",
       {.keys = {{"general.architecture", text("gpt17")}}},
       {"unknown architecture \"gpt17\"", "general.architecture", "known are bailingmoe2, gemma3, ", "qwen35moe"}},
      {"NoArchitecture", "llama", {.keys = {{"general.architecture", nullptr}}}, {"general.architecture"}},
      {"Adapter", "llama", {.keys = {{"general.type", text("adapter")}}}, {"\"general.type\" is \"adapter\""}},
      {"NoLayers",
       "llama",
       {.keys = {{"llama.block_count", integer(0)}}},
       {"key \"llama.block_count\" is 0, expected an integer from 1 to 512"}},
      {"HugeLayers", "llama", {.keys = {{"llama.block_count", integer(int64_t(1) << 40)}}}, {"llama.block_count"}},
      {"NoBlockCount", "llama", {.keys = {{"llama.block_count", nullptr}}}, {"key \"llama.block_count\" is missing"}},
      {"NegativeHidden", "llama", {.keys = {{"llama.embedding_length", integer(-64)}}}, {"is -64, expected"}},
      {"NoHeads", "llama", {.keys = {{"llama.attention.head_count", integer(0)}}}, {"head_count\" is 0"}},
      {"KvHeads",
       "llama",
       {.keys = {{"llama.attention.head_count_kv", integer(3)}}},
       {"\"llama.attention.head_count_kv\" is 3, expected a divisor of \"llama.attention.head_count\", which is 4"}},
      {"NoKvHeads", "llama", {.keys = {{"llama.attention.head_count_kv", integer(0)}}}, {"is 0, expected"}},
      {"ShortArray",
       "lfm2",
       {.keys = {{"lfm2.attention.head_count_kv", integers({0, 0, 2})}}},
       {"an array of 3 values", "6, one for each layer"}},
      {"ValueLength",
       "qwen35moe",
       {.keys = {{"qwen35moe.attention.value_length", integer(16)}}},
       {"value_length\" is 16, expected 32, as \"qwen35moe.attention.key_length\""}},
      {"Eps", "llama", {.keys = {{"llama.attention.layer_norm_rms_epsilon", real(NAN)}}}, {"rms_epsilon\" is nan"}},
      {"OddRope", "qwen35moe", {.keys = {{"qwen35moe.rope.dimension_count", integer(7)}}}, {"an even number"}},
      {"LongRope",
       "qwen35moe",
       {.keys = {{"qwen35moe.rope.dimension_count", integer(64)}}},
       {"is 64, expected an integer from 2 to 32"}},
      {"RopeBase", "llama", {.keys = {{"llama.rope.freq_base", real(0)}}}, {"rope.freq_base\" is 0"}},
      {"ScalingType",
       "llama",
       {.keys = {{"llama.rope.scaling.type", text("longrope")}}},
       {"is \"longrope\", expected \"none\", \"linear\" or \"yarn\""}},
      {"ScalingFactor", "gemma3", {.keys = {{"gemma3.rope.scaling.factor", real(-4)}}}, {"factor\" is -4"}},
      {"Window", "gemma3", {.keys = {{"gemma3.attention.sliding_window", integer(-1)}}}, {"is -1, expected"}},
      {"PatternZero",
       "gemma3",
       {.keys = {{"gemma3.attention.sliding_window_pattern", integer(0)}}},
       {"pattern\" is 0"}},
      {"ConvTaps", "lfm2", {.keys = {{"lfm2.shortconv.l_cache", integer(1)}}}, {"l_cache\" is 1"}},
      {"WrongType", "llama", {.keys = {{"llama.block_count", text("four")}}}, {"llama.block_count"}},
      {"Nextn",
       "qwen35moe",
       {.keys = {{"qwen35moe.nextn_predict_layers", integer(5)}}},
       {"nextn_predict_layers\" is 5, expected an integer from 0 to 4"}},
      {"TwoMtpBlocks",
       "qwen35moe",
       {.keys = {{"qwen35moe.nextn_predict_layers", integer(2)}}},
       {"nextn_predict_layers\" is 2, expected 0 or 1"}},
  };
}

std::vector<Case> hybrid_and_expert_cases() {
  return {
      {"SectionsTwo",
       "qwen35moe",
       {.keys = {{"qwen35moe.rope.dimension_sections", integers({2, 2})}}},
       {"rope.dimension_sections\" is [2, 2], expected 3 or 4 numbers"}},
      {"SectionsNegative",
       "qwen35moe",
       {.keys = {{"qwen35moe.rope.dimension_sections", integers({4, -1, 1, 0})}}},
       {"is [4, -1, 1, 0], expected numbers from 0 to 4"}},
      {"SectionsSum",
       "qwen35moe",
       {.keys = {{"qwen35moe.rope.dimension_sections", integers({2, 2, 1, 0})}}},
       {"expected a sum from 1 to 4, half of \"qwen35moe.rope.dimension_count\""}},
      {"SectionsZero",
       "qwen35moe",
       {.keys = {{"qwen35moe.rope.dimension_sections", integers({0, 0, 0, 0})}}},
       {"expected a sum from 1 to 4"}},
      {"SectionsFourthAxis",
       "qwen35moe",
       {.keys = {{"qwen35moe.rope.dimension_sections", integers({1, 1, 1, 1})}}},
       {"pair 3 has none of them"}},
      {"SsmInner",
       "qwen35moe",
       {.keys = {{"qwen35moe.ssm.inner_size", integer(96)}}},
       {"ssm.inner_size\" is 96, expected 128, the product of \"qwen35moe.ssm.time_step_rank\""}},
      {"SsmGroups",
       "qwen35moe",
       {.keys = {{"qwen35moe.ssm.group_count", integer(3)}}},
       {"ssm.group_count\" is 3, expected a divisor of \"qwen35moe.ssm.time_step_rank\", which is 4"}},
      {"SsmState", "qwen35moe", {.keys = {{"qwen35moe.ssm.state_size", integer(0)}}}, {"state_size\" is 0"}},
      {"SsmRank", "qwen35moe", {.keys = {{"qwen35moe.ssm.time_step_rank", integer(-4)}}}, {"time_step_rank\" is -4"}},
      {"SsmConv", "qwen35moe", {.keys = {{"qwen35moe.ssm.conv_kernel", integer(1000000)}}}, {"conv_kernel"}},
      {"SsmMissing",
       "qwen35moe",
       {.keys = {{"qwen35moe.ssm.state_size", nullptr}}},
       {"key \"qwen35moe.ssm.state_size\" is missing"}},
      {"OtherTaps",
       "qwen35moe",
       {.keys = {{"qwen35moe.ssm.conv_kernel", integer(3)}}},
       {"\"blk.0.ssm_conv1d.weight\" is [4, 256], expected [3, 256] (the first size is the key "
        "\"qwen35moe.ssm.conv_kernel\")"}},
      {"Interval", "qwen35moe", {.keys = {{"qwen35moe.full_attention_interval", integer(0)}}}, {"interval\" is 0"}},
      {"ExpertsUsed",
       "qwen35moe",
       {.keys = {{"qwen35moe.expert_used_count", integer(7)}}},
       {"expert_used_count\" is 7, expected an integer from 1 to 6"}},
      {"ExpertsNone", "qwen35moe", {.keys = {{"qwen35moe.expert_count", integer(0)}}}, {"expert_count\" is 0"}},
      {"Gating",
       "bailingmoe2",
       {.keys = {{"bailingmoe2.expert_gating_func", integer(3)}}},
       {"expert_gating_func\" is 3, expected 1 (softmax) or 2 (sigmoid)"}},
      {"Groups",
       "bailingmoe2",
       {.keys = {{"bailingmoe2.expert_group_count", integer(5)}}},
       {"expert_group_count\" is 5, expected a divisor of \"bailingmoe2.expert_count\", which is 12"}},
      {"GroupsUsed",
       "bailingmoe2",
       {.keys = {{"bailingmoe2.expert_group_used_count", integer(9)}}},
       {"is 9, expected"}},
      {"TooFewInGroups",
       "bailingmoe2",
       {.keys = {{"bailingmoe2.expert_group_count", integer(12)}, {"bailingmoe2.expert_group_used_count", integer(2)}}},
       {"groups that hold at least 3 experts"}},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto* make : {tensor_cases, key_cases, hybrid_and_expert_cases})
    for (Case& c : make()) all.push_back(std::move(c));
  return all;
}

class ModelErrors : public ::testing::TestWithParam<Case> {};

TEST_P(ModelErrors, OneClearMessage) {
  const Case& c = GetParam();
  std::string message = opening_error(c.model, c.edit);
  ASSERT_NE(message, "") << "the file opened";
  EXPECT_TRUE(message.starts_with("model.gguf: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const std::string& part : c.expected)
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
}

INSTANTIATE_TEST_SUITE_P(All, ModelErrors, ::testing::ValuesIn(all_cases()),
                         [](const auto& c) { return std::string(c.param.name); });

TEST(Models, UnchangedTinyModelsOpen) {
  for (const char* name : {"qwen35moe", "llama", "gemma3", "lfm2", "bailingmoe2", "qwen3-yarn"})
    EXPECT_EQ(opening_error(name, {}), "") << name;
}

// Writers disagree on number types and on scalars against arrays; all of these say the same.
TEST(Models, EquivalentKeysOpen) {
  EXPECT_EQ(opening_error("llama", {.keys = {{"llama.attention.head_count", integers({4, 4, 4, 4})},
                                             {"llama.feed_forward_length", integers({64, 64, 64, 64})}}}),
            "");
  EXPECT_EQ(opening_error("qwen35moe", {.keys = {{"qwen35moe.rope.dimension_sections", integers({2, 1, 1})}}}), "");
  EXPECT_EQ(opening_error("qwen35moe", {.keys = {{"qwen35moe.rope.dimension_sections", nullptr}}}), "");
  EXPECT_EQ(opening_error("qwen35moe", {.keys = {{"qwen35moe.attention.recurrent_layers", integers({1, 1, 1, 0, 0})}}}),
            "");
}

TEST(Models, PaddedVocabularyIsAsLargeAsTheEmbedding) {
  Edit edit{.tensors = {{"token_embd.weight", TensorEdit{quant::TypeId::F32, {64, 288}}},
                        {"output.weight", TensorEdit{quant::TypeId::F32, {64, 288}}}}};
  std::vector<uint8_t> image = edited(tiny_model("llama"), edit);
  gguf::File file = gguf::File::parse(image, "model.gguf");
  EXPECT_EQ(opening_error(file), "");
  EXPECT_EQ(models::build_program(models::source_of(file)).vocab_size, 288);
}

}  // namespace
}  // namespace tally::test
