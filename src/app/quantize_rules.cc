#include "app/quantize_rules.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tally::app {
namespace {

using enum quant::TypeId;
using quant::TypeId;

constexpr Preset kPresets[] = {
    {"f32", 0, F32},    {"f16", 1, F16},        {"bf16", 32, BF16},      {"q8_0", 7, Q8_0},
    {"q6_k", 18, Q6_K}, {"q5_k_m", 17, Q5_K},   {"q5_k_s", 16, Q5_K},    {"q5_1", 9, Q5_1},
    {"q5_0", 8, Q5_0},  {"q4_k_m", 15, Q4_K},   {"q4_k_s", 14, Q4_K},    {"q4_1", 3, Q4_1},
    {"q4_0", 2, Q4_0},  {"iq4_nl", 25, IQ4_NL}, {"mxfp4_moe", 38, Q8_0}, {"ud", 15, Q8_0},
};

enum class Category { Output, TokenEmbd, AttnV, AttnK, AttnOutput, FfnDown, Other };

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// attn_q, ffn_up and ffn_gate get the preset's base type as all others do, so they need no category.
Category category_of(std::string_view name) {
  if (name == "output.weight") return Category::Output;
  if (name == "token_embd.weight") return Category::TokenEmbd;
  for (const char* part : {"attn_v.weight", "attn_qkv.weight", "attn_kv_b.weight"}) {
    if (contains(name, part)) return Category::AttnV;
  }
  if (contains(name, "attn_k.weight")) return Category::AttnK;
  if (contains(name, "attn_output.weight")) return Category::AttnOutput;
  if (contains(name, "ffn_down")) return Category::FfnDown;
  return Category::Other;
}

// The number in "blk.<number>.…"; -1 for tensors of no layer.
int layer_of(std::string_view name) {
  if (!name.starts_with("blk.")) return -1;
  int layer = 0;
  size_t i = 4;
  for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && layer < 100000; ++i)
    layer = layer * 10 + (name[i] - '0');
  return i > 4 && i < name.size() && name[i] == '.' ? layer : -1;
}

// Layers that get more bits: the first and last eighth, and every third between.
bool more_bits(int i, int n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

// What the rules ask about a model.
struct ModelFacts {
  int n_layers = 0, n_experts = 0, n_attn_v = 0;
  bool has_output = false, is_70b = false;
  int64_t heads_per_kv_head = 0;
};

int64_t first_positive(const std::vector<int64_t>& values) {
  const auto found = std::ranges::find_if(values, [](int64_t v) { return v > 0; });
  return found == values.end() ? 0 : *found;
}

ModelFacts facts_of(const gguf::Metadata& metadata, std::span<const gguf::TensorInfo> tensors) {
  ModelFacts facts;
  const std::string architecture(metadata.find_text("general.architecture").value_or(""));
  const auto number = [&](const char* key) {
    const int64_t value = first_positive(metadata.find_ints(architecture + key).value_or(std::vector<int64_t>{}));
    return static_cast<int>(std::clamp<int64_t>(value, 0, 1'000'000));
  };
  facts.n_layers = number(".block_count");
  facts.n_experts = number(".expert_count");
  const int n_heads = number(".attention.head_count"), n_kv_heads = number(".attention.head_count_kv");
  facts.heads_per_kv_head = n_kv_heads > 0 ? n_heads / n_kv_heads : 0;
  facts.is_70b = architecture == "llama" && facts.n_layers == 80 && n_heads != n_kv_heads;
  for (const gguf::TensorInfo& tensor : tensors) {
    facts.n_attn_v += category_of(tensor.name) == Category::AttnV;
    facts.has_output |= tensor.name == "output.weight";
  }
  return facts;
}

class Chooser {
 public:
  Chooser(const ModelFacts& facts, const Preset& preset) : facts_(facts), preset_(preset), name_(preset.name) {}

  // Called in the order of layers and names: some rules count.
  TypeId choose(const gguf::TensorInfo& tensor) {
    if (preset_.base == F32 || preset_.base == F16 || preset_.base == BF16) return preset_.base;
    if (name_ == "mxfp4_moe" || name_ == "q8_0") return by_experts(tensor);
    if (name_ == "ud") return fit_shape(by_use(tensor), tensor.dims[0]);
    return fit_shape(by_category(tensor), tensor.dims[0]);
  }

 private:
  TypeId by_experts(const gguf::TensorInfo& tensor) {
    const bool experts = name_ == "mxfp4_moe" && tensor.dims[2] > 1;
    return fit_shape(experts ? MXFP4 : Q8_0, tensor.dims[0]);
  }

  // Small where a token reads little of much (gate and up of the experts), large where every token reads all of it.
  static TypeId by_use(const gguf::TensorInfo& tensor) {
    const Category category = category_of(tensor.name);
    if (category == Category::Output || category == Category::TokenEmbd) return Q6_K;
    if (tensor.dims[2] == 1) return Q8_0;
    return category == Category::FfnDown ? Q6_K : Q4_K;
  }

  TypeId by_category(const gguf::TensorInfo& tensor) {
    switch (category_of(tensor.name)) {
      case Category::Output:
        return Q6_K;
      case Category::TokenEmbd:
        return facts_.has_output ? preset_.base : Q6_K;
      case Category::AttnV:
        return attn_v(n_attn_v_++);
      case Category::AttnK:
        return facts_.n_experts == 8 ? Q8_0 : preset_.base;
      case Category::AttnOutput:
        return facts_.n_experts == 8 && is_four_bit() ? Q5_K : preset_.base;
      case Category::FfnDown:
        return ffn_down(facts_.n_experts > 1 ? layer_of(tensor.name) : n_ffn_down_++);
      case Category::Other:
        return preset_.base;
    }
    return preset_.base;
  }

  TypeId attn_v(int i) const {
    TypeId type = preset_.base;
    if (name_ == "q4_k_m" || name_ == "q5_k_m") type = more_bits(i, facts_.n_attn_v) ? Q6_K : type;
    if (name_ == "q4_k_s" && i < 4) type = Q5_K;
    if (name_ == "iq4_nl" && facts_.heads_per_kv_head >= 4) type = Q5_K;
    if (facts_.is_70b && type == Q4_K) type = Q5_K;
    return facts_.n_experts == 8 ? Q8_0 : type;
  }

  TypeId ffn_down(int layer) const {
    if ((name_ == "q4_k_m" || name_ == "q5_k_m") && more_bits(layer, facts_.n_layers)) return Q6_K;
    if ((name_ == "q4_k_s" || name_ == "iq4_nl") && layer < facts_.n_layers / 8) return Q5_K;
    return preset_.base;
  }

  bool is_four_bit() const {
    return preset_.base == Q4_0 || preset_.base == Q4_1 || preset_.base == Q4_K || preset_.base == IQ4_NL;
  }

  // Rows that are no multiple of the block get the next format with smaller blocks.
  static TypeId fit_shape(TypeId type, uint64_t row) {
    const auto fits = [row](TypeId t) { return row % static_cast<uint64_t>(quant::type_of(t).block_elements) == 0; };
    if (!fits(type)) type = type == Q4_K ? Q5_0 : type == Q5_K ? Q5_1 : type == Q6_K ? Q8_0 : F16;
    return fits(type) ? type : F16;
  }

  const ModelFacts& facts_;
  const Preset& preset_;
  std::string_view name_;
  int n_attn_v_ = 0, n_ffn_down_ = 0;
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name) {
  std::string wanted(name);
  for (char& c : wanted) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (wanted == "q4_k" || wanted == "q5_k") wanted += "_m";
  const auto found = std::ranges::find(kPresets, wanted, [](const Preset& p) { return std::string_view(p.name); });
  return found == std::end(kPresets) ? nullptr : found;
}

bool is_never_quantized(const gguf::TensorInfo& tensor) {
  const std::string_view name = tensor.name;
  if (tensor.dims[1] == 1 && tensor.dims[2] == 1 && tensor.dims[3] == 1) return true;
  if (!name.ends_with("weight") || tensor.type->dequantize == nullptr) return true;
  // Norms, routers, embeddings of positions and token types, small convolutions, and small matrices of single families.
  constexpr const char* kKept[] = {
      "_norm.weight",
      "ffn_gate_inp.weight",
      "ssm_conv1d",
      "shortconv.conv.weight",
      "position_embd",
      "token_types",
      "altup",
      "laurel",
      "per_layer_model_proj",
      "time_mix_first",
      "time_mix_w0",
      "time_mix_w1",
      "time_mix_w2",
      "time_mix_v0",
      "time_mix_v1",
      "time_mix_v2",
      "time_mix_a0",
      "time_mix_a1",
      "time_mix_a2",
      "time_mix_g1",
      "time_mix_g2",
      "time_mix_decay_w",
      "time_mix_lerp",
      "attn_rel_b.weight",
      "indexer.",
  };
  return std::ranges::any_of(kKept, [name](const char* part) { return contains(name, part); });
}

std::vector<TypeId> choose_types(const gguf::Metadata& metadata, std::span<const gguf::TensorInfo> tensors,
                                 const Preset& preset) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const int layer_a = layer_of(tensors[a].name), layer_b = layer_of(tensors[b].name);
    return layer_a != layer_b ? layer_a < layer_b : tensors[a].name < tensors[b].name;
  });
  const ModelFacts facts = facts_of(metadata, tensors);
  Chooser chooser(facts, preset);
  std::vector<TypeId> types(tensors.size());
  for (size_t i : order) types[i] = is_never_quantized(tensors[i]) ? tensors[i].type->id : chooser.choose(tensors[i]);
  return types;
}

}  // namespace tally::app
