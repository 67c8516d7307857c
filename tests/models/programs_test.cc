// Programs as text and in numbers: a refactoring changes none of this.
#include <cstring>

#include "edited_model.h"
#include "ops/cost.h"
#include "ops/print.h"
#include "ops/segments.h"

namespace tally::test {
namespace {

ops::Program program_of(const std::string& tiny, models::BuildOptions options = {}) {
  gguf::File file = tiny_model(tiny);
  return models::build_program(models::source_of(file), options);
}

class ProgramText : public ::testing::TestWithParam<const char*> {};

TEST_P(ProgramText, IsTheStoredOne) {
  std::filesystem::path path = std::filesystem::path(TALLY_SOURCE_DIR) / "tests/data/programs" / GetParam();
  std::vector<uint8_t> stored = read_file(path.string() + ".txt");
  std::string text = ops::print(program_of(GetParam()));
  EXPECT_EQ(text, std::string(stored.begin(), stored.end())) << "if meant, store the new text in " << path << ".txt";
}

INSTANTIATE_TEST_SUITE_P(Tiny, ProgramText, ::testing::Values("qwen35moe", "llama", "gemma3", "lfm2", "bailingmoe2"),
                         [](const auto& c) { return std::string(c.param); });

TEST(Programs, HashIsStable) {
  EXPECT_EQ(ops::program_hash(program_of("llama")), ops::program_hash(program_of("llama")));
  EXPECT_NE(ops::program_hash(program_of("llama")), ops::program_hash(program_of("lfm2")));
  ops::Program p = program_of("llama");
  uint64_t before = ops::program_hash(p);
  std::get<ops::RmsNorm>(p.ops[1]).eps *= 1.0000001f;
  EXPECT_NE(ops::program_hash(p), before) << "one unit in the last place must show";
}

TEST(Programs, HiddenRowsNormAllRows) {
  ops::Program p = program_of("qwen35moe", {.hidden_rows = true});
  ASSERT_TRUE(p.hidden);
  EXPECT_EQ(p.info(p.hidden).rows, ops::Rows::Tokens);
  EXPECT_EQ(p.info(p.logits).rows, ops::Rows::Outputs);
  EXPECT_FALSE(program_of("qwen35moe").hidden);
  EXPECT_EQ(p.ops.size(), program_of("qwen35moe").ops.size());
}

TEST(Programs, UnusedTensorsAreThoseOfTheMtpBlock) {
  gguf::File file = tiny_model("qwen35moe");
  ops::Program trunk = models::build_program(models::source_of(file));
  std::vector<std::string> unused = models::unused_tensors({&trunk}, file);
  EXPECT_EQ(unused.size(), 20u);
  for (const std::string& name : unused) EXPECT_TRUE(name.starts_with("blk.4.")) << name;
  ops::Program mtp = *models::build_mtp_program(models::source_of(file));
  EXPECT_TRUE(models::unused_tensors({&trunk, &mtp}, file).empty());
}

TEST(Programs, MtpFallsBackToTheTrunksTensors) {
  Edit edit{.tensors = {{"blk.4.nextn.shared_head_norm.weight", std::nullopt},
                        {"blk.4.nextn.embed_tokens.weight", TensorEdit{quant::TypeId::F16, {64, 272}}},
                        {"blk.4.nextn.shared_head_head.weight", TensorEdit{quant::TypeId::F16, {64, 272}}}}};
  std::vector<uint8_t> image = edited(tiny_model("qwen35moe"), edit);
  gguf::File file = gguf::File::parse(image, "model.gguf");
  EXPECT_EQ(opening_error(file), "");
  std::string text = ops::print(*models::build_mtp_program(models::source_of(file)));
  for (const char* name :
       {"w=output_norm.weight", "w=blk.4.nextn.embed_tokens.weight", "w=blk.4.nextn.shared_head_head.weight"})
    EXPECT_NE(text.find(name), std::string::npos) << name << "\n" << text;
  EXPECT_FALSE(models::build_mtp_program(models::source_of(tiny_model("llama"))).has_value());
}

TEST(Programs, YarnParameters) {
  // base 1e4, 32 dims, original context 1024, factor 4: low = ⌊32·ln(1024/(2π·32))/(2·ln 1e4)⌋ = ⌊2.83⌋, and high =
  // ⌈32·ln(1024/2π)/(2·ln 1e4)⌉ = ⌈8.85⌉.
  ops::Program p = program_of("qwen3-yarn");
  for (const ops::Op& op : p.ops)
    if (const auto* a = std::get_if<ops::Attention>(&op)) {
      EXPECT_TRUE(a->rope.yarn);
      EXPECT_EQ(a->rope.yarn_low, 2.f);
      EXPECT_EQ(a->rope.yarn_high, 9.f);
      EXPECT_EQ(a->rope.freq_scale, 0.25f);
      EXPECT_FLOAT_EQ(a->rope.magnitude, 1.1386294f);
    }
}

// The 35B-A3B model from its metadata alone.
class Flagship : public ::testing::Test {
 protected:
  static void add(gguf::Metadata& meta, const char* key, int64_t value) {
    meta.add(std::string("qwen35moe.") + key, {.type = gguf::ValueType::Uint32, .integer = value});
  }
  void SetUp() override {
    meta_.add("general.architecture", {.type = gguf::ValueType::String, .text = "qwen35moe"});
    const std::pair<const char*, int> keys[] = {{"block_count", 41},
                                                {"nextn_predict_layers", 1},
                                                {"context_length", 262144},
                                                {"embedding_length", 2048},
                                                {"attention.head_count", 16},
                                                {"attention.head_count_kv", 2},
                                                {"attention.key_length", 256},
                                                {"attention.value_length", 256},
                                                {"rope.dimension_count", 64},
                                                {"full_attention_interval", 4},
                                                {"ssm.conv_kernel", 4},
                                                {"ssm.state_size", 128},
                                                {"ssm.group_count", 16},
                                                {"ssm.time_step_rank", 32},
                                                {"ssm.inner_size", 4096},
                                                {"expert_count", 256},
                                                {"expert_used_count", 8},
                                                {"expert_feed_forward_length", 512},
                                                {"expert_shared_feed_forward_length", 512},
                                                {"vocab_size", 248320}};
    for (auto [key, value] : keys) add(meta_, key, value);
    meta_.add("qwen35moe.attention.layer_norm_rms_epsilon", {.type = gguf::ValueType::Float32, .real = 1e-6f});
    meta_.add("qwen35moe.rope.freq_base", {.type = gguf::ValueType::Float32, .real = 1e7});
    present_.name = "present";
  }
  const gguf::TensorInfo* find(std::string_view name) const {
    return name == "output.weight" || name == "blk.0.attn_norm.weight" || name.ends_with("shared_head_norm.weight")
               ? &present_
               : nullptr;
  }
  models::ModelSource source() const {
    return {meta_, [this](std::string_view name) { return find(name); }};
  }
  // Weights that lie nowhere, of 4 bytes each: for counting.
  static ops::Weights nowhere(const ops::Program& p) {
    ops::Weights weights;
    for (const ops::WeightInfo& w : p.weights)
      weights.views.push_back(
          {nullptr, &quant::type_of(quant::TypeId::F32), w.in, w.out, w.experts, 4 * w.in, 4 * w.in * w.file_out});
    return weights;
  }
  static int64_t parameters(const ops::Program& p) {
    int64_t n = 0;
    for (const ops::WeightInfo& w : p.weights) n += w.in * w.out * w.experts;
    return n;
  }
  gguf::Metadata meta_{"model.gguf"};
  gguf::TensorInfo present_;
};

TEST_F(Flagship, ManifestAndState) {
  ops::Program p = models::build_program(source());
  EXPECT_EQ(p.ops.size(), 494u);
  EXPECT_EQ(p.weights.size(), 733u);
  EXPECT_EQ(p.states.size(), 70u);
  EXPECT_EQ(parameters(p), 34'660'610'688);
  int64_t slot = 0, page = 0;
  for (const ops::StateInfo& s : p.states) (s.kind == ops::StateKind::Slot ? slot : page) += s.elements();
  EXPECT_EQ(4 * slot, 65'863'680);  // float32
  EXPECT_EQ(2 * 2 * page, 20'480);  // K and V of one token, half precision
  ops::Program mtp = *models::build_mtp_program(source());
  // The block alone: its embedding and head are the trunk's.
  EXPECT_EQ(parameters(mtp) - 2 * int64_t(248320) * 2048, 844'640'768);
}

TEST_F(Flagship, CostOfADecodedToken) {
  ops::Program p = models::build_program(source());
  ops::Weights weights = nowhere(p);
  ops::Cost at_0 = ops::decode_cost(p, weights, 0), at_1000 = ops::decode_cost(p, weights, 1000);
  EXPECT_EQ(at_0.weight_bytes, 4 * uint64_t(2'946'431'616));
  EXPECT_EQ(at_1000.weight_bytes, at_0.weight_bytes);
  EXPECT_EQ(at_1000.state_bytes - at_0.state_bytes, 20'480u * 1000);
  EXPECT_EQ(at_1000.flops - at_0.flops, 163'840u * 1000);
  EXPECT_EQ(at_0.state_bytes, 2u * 65'863'680 + 2 * 20'480);
  EXPECT_NEAR(double(at_0.flops), 5.89e9 + 0.110e9, 0.01e9);
}

TEST_F(Flagship, CostOfExpertsFollowsTheirNumber) {
  ops::Program p = models::build_program(source());
  ops::Weights weights = nowhere(p);
  ops::Batch batch = ops::single_segment(64, 0, 0);
  const uint64_t expert = 4u * 3 * 2048 * 512;
  for (const ops::Op& op : p.ops) {
    if (!std::holds_alternative<ops::Experts>(op)) continue;
    EXPECT_EQ(ops::cost(op, p, weights, batch, 100).weight_bytes, 100 * expert);
    double expected = 256 * (1 - std::pow(1 - 8.0 / 256, 64));
    EXPECT_NEAR(double(ops::cost(op, p, weights, batch).weight_bytes), expected * double(expert), 1);
  }
  // Without outputs the head costs nothing.
  EXPECT_EQ(ops::cost(p.ops.back(), p, weights, batch), ops::Cost{});
}

TEST_F(Flagship, SegmentsHaveTheUsualNames) {
  ops::Program p = models::build_program(source());
  std::map<std::string_view, int> n;
  for (size_t i = 0; i < p.ops.size(); ++i) ++n[ops::segment_name(p, int(i))];
  std::map<std::string_view, int> expected{{"embedding", 1},
                                           {"norm", 81},
                                           {"qkv (delta)", 30},
                                           {"z", 30},
                                           {"alpha/beta", 60},
                                           {"conv", 30},
                                           {"recurrence", 30},
                                           {"gated norm", 30},
                                           {"output projection", 40},
                                           {"qkv (attention)", 30},
                                           {"attention", 10},
                                           {"router", 40},
                                           {"expert gate/up/down", 40},
                                           {"shared expert", 40},
                                           {"select", 1},
                                           {"head", 1}};
  EXPECT_EQ(n, expected);
}

}  // namespace
}  // namespace tally::test
