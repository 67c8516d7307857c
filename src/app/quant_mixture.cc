#include "app/quant_mixture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "base/error.h"

namespace tally::app {
namespace {

using quant::TypeId;

// What a mixture raises above its base type.
enum class Raise {
  None,
  HalfOfLayers,  // attention values and ffn_down to Q6_K in the outer layers and every third one (…_M)
  FirstFew,      // both to Q5_K in the first layers (…_S of the 4-bit ones)
  WideQueries,   // attention values to Q5_K where many heads share them, ffn_down in the first eighth
  ExpertsOnly,   // the base is for experts, everything else is Q8_0
  Experts4And6,  // gate and up Q4_K, down Q6_K, head and embedding Q6_K, everything else Q8_0
};

struct Mixture {
  const char* name;
  int file_type;
  TypeId base;
  TypeId head;  // output.weight, or token_embd.weight where the head is tied
  Raise raise = Raise::None;
};

constexpr std::array kMixtures{
    Mixture{"f32", 0, TypeId::F32, TypeId::F32},
    Mixture{"f16", 1, TypeId::F16, TypeId::F16},
    Mixture{"bf16", 32, TypeId::BF16, TypeId::BF16},
    Mixture{"q8_0", 7, TypeId::Q8_0, TypeId::Q8_0},
    Mixture{"q6_k", 18, TypeId::Q6_K, TypeId::Q6_K},
    Mixture{"q5_k_m", 17, TypeId::Q5_K, TypeId::Q6_K, Raise::HalfOfLayers},
    Mixture{"q5_k_s", 16, TypeId::Q5_K, TypeId::Q6_K},
    Mixture{"q4_k_m", 15, TypeId::Q4_K, TypeId::Q6_K, Raise::HalfOfLayers},
    Mixture{"q4_k_s", 14, TypeId::Q4_K, TypeId::Q6_K, Raise::FirstFew},
    Mixture{"q5_1", 9, TypeId::Q5_1, TypeId::Q6_K},
    Mixture{"q5_0", 8, TypeId::Q5_0, TypeId::Q6_K},
    Mixture{"q4_1", 3, TypeId::Q4_1, TypeId::Q6_K},
    Mixture{"q4_0", 2, TypeId::Q4_0, TypeId::Q6_K},
    Mixture{"iq4_nl", 25, TypeId::IQ4_NL, TypeId::Q6_K, Raise::WideQueries},
    Mixture{"mxfp4_moe", 38, TypeId::MXFP4, TypeId::Q8_0, Raise::ExpertsOnly},
    Mixture{"ud", 15, TypeId::Q8_0, TypeId::Q6_K, Raise::Experts4And6},
};

const Mixture& find_mixture(std::string_view name) {
  for (const Mixture& m : kMixtures)
    if (name == m.name) return m;
  fail(ErrorCode::Usage, "unknown mixture of types \"{}\"; known: {}", name, mixture_names());
}

enum class Category { Head, Embedding, AttentionV, AttentionK, AttentionOutput, FfnDown, Other };

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

Category category_of(std::string_view name) {
  if (name == "output.weight") return Category::Head;
  if (name == "token_embd.weight") return Category::Embedding;
  if (has(name, "attn_v.weight") || has(name, "attn_qkv.weight") || has(name, "attn_kv_b.weight"))
    return Category::AttentionV;
  if (has(name, "attn_k.weight")) return Category::AttentionK;
  if (has(name, "attn_output.weight")) return Category::AttentionOutput;
  if (has(name, "ffn_down")) return Category::FfnDown;
  return Category::Other;
}

// Vectors, norms, routers and convolutions keep the type that they have.
bool is_kept(const MixtureTensor& t) {
  const bool is_vector = std::all_of(t.dims.begin() + std::min<size_t>(1, t.dims.size()), t.dims.end(),
                                     [](uint64_t dim) { return dim == 1; });
  const std::string_view name = t.name;
  return is_vector || !name.ends_with("weight") || name.ends_with("_norm.weight") || has(name, "ffn_gate_inp.weight") ||
         has(name, "ssm_conv1d") || has(name, "shortconv.conv.weight");
}

int layer_of(std::string_view name) {
  int layer = -1;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

// The first and last eighth, and every third of those between.
bool is_raised_layer(int i, int n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

// The type to take where rows of `in` values do not divide into blocks of the type chosen.
TypeId fitting(TypeId type, uint64_t in) {
  const auto fits = [in](TypeId t) { return in % static_cast<uint64_t>(quant::type_of(t).block_elements) == 0; };
  if (fits(type)) return type;
  TypeId smaller = TypeId::F16;
  if (type == TypeId::Q4_K) smaller = TypeId::Q5_0;
  if (type == TypeId::Q5_K) smaller = TypeId::Q5_1;
  if (type == TypeId::Q6_K) smaller = TypeId::Q8_0;
  return fits(smaller) ? smaller : TypeId::F16;
}

class Chooser {
 public:
  Chooser(const Mixture& mixture, const MixtureModel& model, std::span<const MixtureTensor> tensors)
      : mix_(mixture), model_(model) {
    for (const MixtureTensor& t : tensors) {
      n_values_ += category_of(t.name) == Category::AttentionV;
      tied_ &= t.name != "output.weight";
    }
  }

  // To be called in the order of layers, then names: the place of a tensor among those of its kind counts.
  TypeId choose(const MixtureTensor& t) {
    const Category category = category_of(t.name);
    const int i_value = category == Category::AttentionV ? i_value_++ : 0;
    int layer = layer_of(t.name);
    if (category == Category::FfnDown) {
      const int running = i_down_++;
      if (model_.n_experts == 0) layer = running;
    }
    if (is_kept(t)) return t.source;
    const bool is_head = category == Category::Head || (category == Category::Embedding && tied_);
    return fitting(is_head ? mix_.head : body_type(t, category, i_value, layer), t.dims[0]);
  }

 private:
  TypeId body_type(const MixtureTensor& t, Category category, int i_value, int layer) const {
    const bool is_expert = t.dims.size() > 2 && t.dims[2] > 1;
    if (mix_.raise == Raise::ExpertsOnly) return is_expert ? mix_.base : TypeId::Q8_0;
    if (mix_.raise == Raise::Experts4And6) {
      if (category == Category::Embedding) return mix_.head;
      if (!is_expert) return mix_.base;
      return category == Category::FfnDown ? TypeId::Q6_K : TypeId::Q4_K;
    }
    const int bits = quant::type_of(mix_.base).block_bytes * 8 / quant::type_of(mix_.base).block_elements;
    if (model_.n_experts == 8 && bits < 16) {  // few large experts: attention is small beside them
      if (category == Category::AttentionV || category == Category::AttentionK) return TypeId::Q8_0;
      if (category == Category::AttentionOutput && (mix_.base == TypeId::Q4_K || mix_.base == TypeId::IQ4_NL))
        return TypeId::Q5_K;
    }
    if (category == Category::AttentionV) return value_type(i_value);
    if (category == Category::FfnDown) return down_type(layer);
    return mix_.base;
  }

  TypeId value_type(int i) const {
    TypeId type = mix_.base;
    if (mix_.raise == Raise::HalfOfLayers && is_raised_layer(i, n_values_)) type = TypeId::Q6_K;
    if (mix_.raise == Raise::FirstFew && i < 4) type = TypeId::Q5_K;
    if (mix_.raise == Raise::WideQueries && model_.n_heads / std::max(1, model_.n_kv_heads) >= 4) type = TypeId::Q5_K;
    // The 70B of Llama: eight heads share a value head, so it costs little.
    const bool is_70b = model_.architecture == "llama" && model_.n_blocks == 80 && model_.n_kv_heads < model_.n_heads;
    return is_70b && type == TypeId::Q4_K ? TypeId::Q5_K : type;
  }

  TypeId down_type(int layer) const {
    const int n = model_.n_blocks;
    if (mix_.raise == Raise::HalfOfLayers && is_raised_layer(layer, n)) return TypeId::Q6_K;
    const bool is_first = layer < n / 8;
    if ((mix_.raise == Raise::FirstFew || mix_.raise == Raise::WideQueries) && is_first) return TypeId::Q5_K;
    return mix_.base;
  }

  const Mixture& mix_;
  const MixtureModel& model_;
  int n_values_ = 0, i_value_ = 0, i_down_ = 0;
  bool tied_ = true;
};

}  // namespace

std::string mixture_names() {
  std::string names;
  for (const Mixture& m : kMixtures) names += (names.empty() ? "" : ", ") + std::string(m.name);
  return names;
}

int64_t mixture_file_type(std::string_view mixture) { return find_mixture(mixture).file_type; }

std::vector<TypeId> choose_types(std::string_view mixture, const MixtureModel& model,
                                 std::span<const MixtureTensor> tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(layer_of(tensors[a].name), std::string_view(tensors[a].name)) <
           std::pair(layer_of(tensors[b].name), std::string_view(tensors[b].name));
  });
  Chooser chooser(find_mixture(mixture), model, tensors);
  std::vector<TypeId> types(tensors.size());
  for (size_t i : order) types[i] = chooser.choose(tensors[i]);
  return types;
}

}  // namespace tally::app
