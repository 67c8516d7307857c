// The mixture rules, on tensor directories without data.
#include "app/quantize_rules.h"

#include <gtest/gtest.h>

#include <map>

#include "gguf/writer.h"

namespace tally::app {
namespace {

using enum quant::TypeId;
using quant::TypeId;

// A model given by its tensors; the image lives as long as this.
class Model {
 public:
  Model(const std::string& architecture, int n_layers, int n_experts = 0, int n_heads = 8, int n_kv_heads = 8) {
    writer_.add_text("general.architecture", architecture);
    writer_.add_int(architecture + ".block_count", gguf::ValueType::Uint32, n_layers);
    writer_.add_int(architecture + ".attention.head_count", gguf::ValueType::Uint32, n_heads);
    writer_.add_int(architecture + ".attention.head_count_kv", gguf::ValueType::Uint32, n_kv_heads);
    if (n_experts > 0) writer_.add_int(architecture + ".expert_count", gguf::ValueType::Uint32, n_experts);
  }
  Model& add(const std::string& name, std::vector<uint64_t> dims = {256, 2}) {
    writer_.add_tensor(name, F32, dims);
    return *this;
  }
  Model& add_layers(int n, const std::vector<std::string>& names, std::vector<uint64_t> dims = {256, 2}) {
    for (int i = 0; i < n; ++i) {
      for (const auto& name : names) add("blk." + std::to_string(i) + "." + name, dims);
    }
    return *this;
  }
  std::map<std::string, TypeId> types(const char* preset) {
    image_ = writer_.header();
    image_.resize(writer_.total_bytes());
    const gguf::File file = gguf::File::parse(image_, "image");
    const auto chosen = choose_types(file.metadata(), file.tensors(), *find_preset(preset));
    std::map<std::string, TypeId> types;
    for (size_t i = 0; i < chosen.size(); ++i) types[file.tensors()[i].name] = chosen[i];
    return types;
  }

 private:
  gguf::Writer writer_;
  std::vector<uint8_t> image_;
};

std::vector<int> layers_of_type(const std::map<std::string, TypeId>& types, int n, const std::string& name,
                                TypeId type) {
  std::vector<int> layers;
  for (int i = 0; i < n; ++i) {
    if (types.at("blk." + std::to_string(i) + "." + name) == type) layers.push_back(i);
  }
  return layers;
}

// The list that the format's description gives for the 40-layer mixture-of-experts model.
TEST(QuantizeRules, MoreBitsInTheFlagship) {
  const std::vector<int> expected = {0, 1, 2, 3, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 35, 36, 37, 38, 39};
  Model model("qwen35moe", 40, 256, 16, 2);
  model.add("output.weight").add("token_embd.weight");
  for (int i = 0; i < 40; ++i) {  // every fourth layer has attn_v, the others attn_qkv: one running count
    model.add("blk." + std::to_string(i) + (i % 4 == 3 ? ".attn_v.weight" : ".attn_qkv.weight"));
  }
  model.add_layers(40, {"ffn_down_exps.weight"}, {256, 2, 4});
  model.add_layers(40, {"ffn_down_shexp.weight", "ffn_up_shexp.weight", "attn_output.weight", "attn_gate.weight"});
  const auto types = model.types("q4_k_m");
  EXPECT_EQ(layers_of_type(types, 40, "ffn_down_exps.weight", Q6_K), expected);
  EXPECT_EQ(layers_of_type(types, 40, "ffn_down_shexp.weight", Q6_K), expected);
  std::vector<int> attention;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "blk." + std::to_string(i) + (i % 4 == 3 ? ".attn_v.weight" : ".attn_qkv.weight");
    if (types.at(name) == Q6_K) attention.push_back(i);
  }
  EXPECT_EQ(attention, expected);
  EXPECT_EQ(types.at("output.weight"), Q6_K);
  EXPECT_EQ(types.at("token_embd.weight"), Q4_K);
  EXPECT_EQ(types.at("blk.3.attn_output.weight"), Q4_K);
  EXPECT_EQ(types.at("blk.0.ffn_up_shexp.weight"), Q4_K);
  EXPECT_EQ(types.at("blk.0.attn_gate.weight"), Q4_K);
}

TEST(QuantizeRules, DensePresets) {
  Model model("llama", 16);
  model.add("token_embd.weight")
      .add_layers(16, {"attn_v.weight", "attn_k.weight", "ffn_down.weight", "ffn_gate.weight"});
  const auto m = model.types("q5_k_m");
  EXPECT_EQ(m.at("token_embd.weight"), Q6_K);  // it is the output as well
  EXPECT_EQ(layers_of_type(m, 16, "ffn_down.weight", Q6_K), (std::vector<int>{0, 1, 4, 7, 10, 13, 14, 15}));
  EXPECT_EQ(layers_of_type(m, 16, "attn_v.weight", Q6_K), (std::vector<int>{0, 1, 4, 7, 10, 13, 14, 15}));
  EXPECT_EQ(m.at("blk.2.attn_v.weight"), Q5_K);
  const auto s = model.types("q4_k_s");
  EXPECT_EQ(layers_of_type(s, 16, "attn_v.weight", Q5_K), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(layers_of_type(s, 16, "ffn_down.weight", Q5_K), (std::vector<int>{0, 1}));
  EXPECT_EQ(s.at("blk.9.attn_k.weight"), Q4_K);
  const auto q5s = model.types("q5_k_s");
  EXPECT_EQ(layers_of_type(q5s, 16, "ffn_down.weight", Q5_K).size(), 16u);
  for (const auto& [preset, base] : {std::pair{"q4_0", Q4_0}, {"q4_1", Q4_1}, {"q5_0", Q5_0}, {"q5_1", Q5_1}}) {
    const auto types = model.types(preset);
    EXPECT_EQ(types.at("token_embd.weight"), Q6_K) << preset;
    EXPECT_EQ(layers_of_type(types, 16, "ffn_down.weight", base).size(), 16u) << preset;
  }
  EXPECT_EQ(model.types("q8_0").at("token_embd.weight"), Q8_0);
  EXPECT_EQ(model.types("q6_k").at("blk.0.attn_v.weight"), Q6_K);
  EXPECT_EQ(model.types("f16").at("token_embd.weight"), F16);
  EXPECT_EQ(model.types("q4_K").at("blk.0.attn_k.weight"), Q4_K);
}

TEST(QuantizeRules, LayersAreCountedByNumberNotByName) {
  Model model("llama", 16);
  for (int i = 15; i >= 0; --i) model.add("blk." + std::to_string(i) + ".attn_v.weight");
  EXPECT_EQ(layers_of_type(model.types("q4_k_s"), 16, "attn_v.weight", Q5_K), (std::vector<int>{0, 1, 2, 3}));
}

TEST(QuantizeRules, EightExperts) {
  Model model("llama", 8, 8);
  model.add("output.weight").add_layers(8, {"attn_v.weight", "attn_k.weight", "attn_q.weight", "attn_output.weight"});
  const auto types = model.types("q4_k_m");
  EXPECT_EQ(types.at("blk.5.attn_v.weight"), Q8_0);
  EXPECT_EQ(types.at("blk.5.attn_k.weight"), Q8_0);
  EXPECT_EQ(types.at("blk.5.attn_output.weight"), Q5_K);
  EXPECT_EQ(types.at("blk.5.attn_q.weight"), Q4_K);
  EXPECT_EQ(model.types("q6_k").at("blk.5.attn_output.weight"), Q6_K);
}

TEST(QuantizeRules, GroupedHeadsRaiseIq4Nl) {
  const std::vector<std::string> names = {"attn_v.weight", "ffn_down.weight"};
  auto grouped = Model("llama", 8, 0, 16, 4).add_layers(8, names).types("iq4_nl");
  EXPECT_EQ(grouped.at("blk.3.attn_v.weight"), Q5_K);
  EXPECT_EQ(layers_of_type(grouped, 8, "ffn_down.weight", Q5_K), (std::vector<int>{0}));
  EXPECT_EQ(Model("llama", 8, 0, 8, 4).add_layers(8, names).types("iq4_nl").at("blk.3.attn_v.weight"), IQ4_NL);
}

TEST(QuantizeRules, SeventyBillion) {
  auto types = Model("llama", 80, 0, 64, 8).add_layers(80, {"attn_v.weight"}).types("q4_k_m");
  EXPECT_EQ(types.at("blk.11.attn_v.weight"), Q5_K);
  EXPECT_EQ(types.at("blk.0.attn_v.weight"), Q6_K);
}

TEST(QuantizeRules, ShapesThatDoNotFit) {
  Model model("llama", 8);
  model.add("output.weight", {576, 2}).add_layers(8, {"attn_q.weight", "attn_v.weight"}, {576, 2});
  model.add("blk.7.ffn_gate.weight", {100, 2});
  auto types = model.types("q4_k_m");
  EXPECT_EQ(types.at("output.weight"), Q8_0);
  EXPECT_EQ(types.at("blk.0.attn_v.weight"), Q8_0);  // Q6_K falls back to Q8_0
  EXPECT_EQ(types.at("blk.2.attn_v.weight"), Q5_0);
  EXPECT_EQ(types.at("blk.2.attn_q.weight"), Q5_0);
  EXPECT_EQ(types.at("blk.7.ffn_gate.weight"), F16);
  EXPECT_EQ(model.types("q5_k_s").at("blk.2.attn_q.weight"), Q5_1);
  EXPECT_EQ(model.types("q8_0").at("blk.7.ffn_gate.weight"), F16);
}

TEST(QuantizeRules, SomeTensorsAreNeverQuantized) {
  Model model("qwen35moe", 1, 256);
  const std::vector<std::string> kept = {
      "blk.0.attn_norm.weight",      "blk.0.ffn_gate_inp.weight", "blk.0.ssm_conv1d.weight",
      "blk.0.shortconv.conv.weight", "blk.0.ssm_dt.bias",         "position_embd.weight",
      "blk.0.indexer.proj.weight",   "blk.0.time_mix_w1.weight",  "blk.0.attn_rel_b.weight"};
  for (const auto& name : kept) model.add(name);
  model.add("blk.0.ffn_gate_inp_shexp.weight", {256}).add("blk.0.vector.weight", {256, 1});
  model.add("blk.0.nextn.eh_proj.weight").add("blk.0.ssm_out.weight").add("blk.0.shortconv.in_proj.weight");
  for (const char* preset : {"q4_k_m", "q8_0", "f16"}) {
    const auto types = model.types(preset);
    for (const auto& name : kept) EXPECT_EQ(types.at(name), F32) << name << " " << preset;
    EXPECT_EQ(types.at("blk.0.ffn_gate_inp_shexp.weight"), F32);
    EXPECT_EQ(types.at("blk.0.vector.weight"), F32);
    EXPECT_NE(types.at("blk.0.nextn.eh_proj.weight"), F32);
    EXPECT_NE(types.at("blk.0.ssm_out.weight"), F32);
    EXPECT_NE(types.at("blk.0.shortconv.in_proj.weight"), F32);
  }
}

TEST(QuantizeRules, Mxfp4ForExperts) {
  Model model("llama", 1, 32);
  model.add("output.weight").add("blk.0.ffn_up_exps.weight", {256, 2, 32}).add("blk.0.attn_q.weight");
  const auto types = model.types("mxfp4_moe");
  EXPECT_EQ(types.at("blk.0.ffn_up_exps.weight"), MXFP4);
  EXPECT_EQ(types.at("blk.0.attn_q.weight"), Q8_0);
  EXPECT_EQ(types.at("output.weight"), Q8_0);
}

TEST(QuantizeRules, PresetNames) {
  for (const Preset& preset : presets()) EXPECT_EQ(find_preset(preset.name), &preset);
  EXPECT_EQ(find_preset("Q4_K_M"), find_preset("q4_k"));
  EXPECT_EQ(find_preset("q3_k_m"), nullptr);
  EXPECT_EQ(find_preset(""), nullptr);
}

}  // namespace
}  // namespace tally::app
