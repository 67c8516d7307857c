#include "app/synth_sizes.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.h"

namespace tally::app {
namespace {

using gguf::ValueType;

constexpr int kSmallLfm2[] = {2, 5, 8, 10, 12, 14}, kLfm2Moe[] = {2, 6, 10, 14, 18, 21}, kTinyLfm2[] = {1, 3};

// clang-format off
constexpr SynthSize kSizes[] = {
    {.architecture = "bailingmoe2", .size = "tiny", .name = "tiny", .n_layers = 3, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 64, .intermediate_size = 512, .context_length = 4096,
     .rope_theta = 600000, .rope_dim = 32, .n_experts = 16, .n_used = 4, .expert_size = 256, .shared_size = 256,
     .n_dense_layers = 1},
    {.architecture = "bailingmoe2", .size = "16b", .name = "Ling mini 2.0", .n_layers = 20, .hidden_size = 2048,
     .vocab_size = 157184, .n_heads = 16, .n_kv_heads = 4, .head_dim = 128, .intermediate_size = 5120,
     .rope_theta = 600000, .rope_dim = 64, .n_experts = 256, .n_used = 8, .expert_size = 512, .shared_size = 512,
     .n_dense_layers = 1},
    {.architecture = "gemma3", .size = "tiny", .name = "tiny", .n_layers = 7, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 2, .n_kv_heads = 1, .head_dim = 128, .intermediate_size = 512, .rope_theta = 1e6, .tied = true,
     .window = 16},
    {.architecture = "gemma3", .size = "270m", .name = "Gemma 3 270M", .n_layers = 18, .hidden_size = 640,
     .vocab_size = 262144, .n_heads = 4, .n_kv_heads = 1, .head_dim = 256, .intermediate_size = 2048,
     .rope_theta = 1e6, .tied = true, .window = 512},
    {.architecture = "gemma3", .size = "1b", .name = "Gemma 3 1B", .n_layers = 26, .hidden_size = 1152,
     .vocab_size = 262144, .n_heads = 4, .n_kv_heads = 1, .head_dim = 256, .intermediate_size = 6912,
     .rope_theta = 1e6, .tied = true, .window = 512},
    {.architecture = "lfm2", .size = "tiny", .name = "tiny", .n_layers = 4, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 64, .intermediate_size = 512, .rope_theta = 1e6, .rms_norm_eps = 1e-5,
     .tied = true, .attends = kTinyLfm2},
    {.architecture = "lfm2", .size = "350m", .name = "LFM2 350M", .n_layers = 16, .hidden_size = 1024,
     .vocab_size = 65536, .n_heads = 16, .n_kv_heads = 8, .head_dim = 64, .intermediate_size = 4608,
     .context_length = 128000, .rope_theta = 1e6, .rms_norm_eps = 1e-5, .tied = true, .attends = kSmallLfm2},
    {.architecture = "lfm2", .size = "1.2b", .name = "LFM2 1.2B", .n_layers = 16, .hidden_size = 2048,
     .vocab_size = 65536, .n_heads = 32, .n_kv_heads = 8, .head_dim = 64, .intermediate_size = 8192,
     .context_length = 128000, .rope_theta = 1e6, .rms_norm_eps = 1e-5, .tied = true, .attends = kSmallLfm2},
    {.architecture = "lfm2moe", .size = "tiny", .name = "tiny", .n_layers = 4, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 64, .intermediate_size = 512, .rope_theta = 1e6, .rms_norm_eps = 1e-5,
     .tied = true, .n_experts = 16, .n_used = 4, .expert_size = 256, .n_dense_layers = 1, .attends = kTinyLfm2},
    {.architecture = "lfm2moe", .size = "8b-a1b", .name = "LFM2 8B-A1B", .n_layers = 24, .hidden_size = 2048,
     .vocab_size = 65536, .n_heads = 32, .n_kv_heads = 8, .head_dim = 64, .intermediate_size = 7168,
     .context_length = 128000, .rope_theta = 1e6, .rms_norm_eps = 1e-5, .tied = true, .n_experts = 32, .n_used = 4,
     .expert_size = 1792, .n_dense_layers = 2, .attends = kLfm2Moe},
    {.architecture = "llama", .size = "tiny", .name = "tiny", .n_layers = 3, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 64, .intermediate_size = 512, .rms_norm_eps = 1e-5, .rope_factor = 8},
    {.architecture = "llama", .size = "135m", .name = "smollm2-135m", .n_layers = 30, .hidden_size = 576,
     .vocab_size = 49152, .n_heads = 9, .n_kv_heads = 3, .head_dim = 64, .intermediate_size = 1536,
     .context_length = 8192, .rope_theta = 100000, .rms_norm_eps = 1e-5, .tied = true},
    {.architecture = "llama", .size = "360m", .name = "smollm2-360m", .n_layers = 32, .hidden_size = 960,
     .vocab_size = 49152, .n_heads = 15, .n_kv_heads = 5, .head_dim = 64, .intermediate_size = 2560,
     .context_length = 8192, .rope_theta = 100000, .rms_norm_eps = 1e-5, .tied = true},
    {.architecture = "llama", .size = "1.7b", .name = "smollm2-1.7b", .n_layers = 24, .hidden_size = 2048,
     .vocab_size = 49152, .n_heads = 32, .n_kv_heads = 32, .head_dim = 64, .intermediate_size = 8192,
     .context_length = 8192, .rope_theta = 130000, .rms_norm_eps = 1e-5, .tied = true},
    {.architecture = "llama", .size = "1b", .name = "llama-3.2-1b", .n_layers = 16, .hidden_size = 2048,
     .vocab_size = 128256, .n_heads = 32, .n_kv_heads = 8, .head_dim = 64, .intermediate_size = 8192,
     .context_length = 131072, .rope_theta = 500000, .rms_norm_eps = 1e-5, .tied = true, .rope_factor = 32},
    {.architecture = "llama", .size = "8b", .name = "llama-3.1-8b", .n_layers = 32, .hidden_size = 4096,
     .vocab_size = 128256, .n_heads = 32, .n_kv_heads = 8, .head_dim = 128, .intermediate_size = 14336,
     .context_length = 131072, .rope_theta = 500000, .rms_norm_eps = 1e-5, .rope_factor = 8},
    {.architecture = "qwen2", .size = "tiny", .name = "tiny", .n_layers = 3, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 64, .intermediate_size = 512, .rope_theta = 1e6, .tied = true},
    {.architecture = "qwen2", .size = "0.5b", .name = "Qwen2.5 0.5B", .n_layers = 24, .hidden_size = 896,
     .vocab_size = 151936, .n_heads = 14, .n_kv_heads = 2, .head_dim = 64, .intermediate_size = 4864,
     .rope_theta = 1e6, .tied = true},
    {.architecture = "qwen3", .size = "tiny", .name = "tiny", .n_layers = 3, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 128, .intermediate_size = 512, .rope_theta = 1e6, .tied = true},
    {.architecture = "qwen3", .size = "0.6b", .name = "Qwen3 0.6B", .n_layers = 28, .hidden_size = 1024,
     .vocab_size = 151936, .n_heads = 16, .n_kv_heads = 8, .head_dim = 128, .intermediate_size = 3072,
     .context_length = 40960, .rope_theta = 1e6, .tied = true},
    {.architecture = "qwen3", .size = "8b", .name = "Qwen3 8B", .n_layers = 36, .hidden_size = 4096,
     .vocab_size = 151936, .n_heads = 32, .n_kv_heads = 8, .head_dim = 128, .intermediate_size = 12288,
     .context_length = 40960, .rope_theta = 1e6},
    {.architecture = "qwen35", .size = "tiny", .name = "tiny", .n_layers = 4, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 64, .intermediate_size = 512, .rope_theta = 1e7, .tied = true,
     .rope_dim = 16, .n_k_heads = 2, .n_v_heads = 6, .delta_dim = 32},
    {.architecture = "qwen35", .size = "0.8b", .name = "Qwen3.5 0.8B", .n_layers = 24, .hidden_size = 1024,
     .vocab_size = 248320, .n_heads = 8, .n_kv_heads = 2, .head_dim = 256, .intermediate_size = 3584,
     .context_length = 262144, .rope_theta = 1e7, .tied = true, .rope_dim = 64, .n_k_heads = 16, .n_v_heads = 16,
     .delta_dim = 128},
    {.architecture = "qwen35", .size = "27b", .name = "Qwen3.6 27B", .n_layers = 64, .hidden_size = 5120,
     .vocab_size = 248320, .n_heads = 24, .n_kv_heads = 4, .head_dim = 256, .intermediate_size = 17408,
     .context_length = 262144, .rope_theta = 1e7, .rope_dim = 64, .n_k_heads = 16, .n_v_heads = 48, .delta_dim = 128},
    {.architecture = "qwen35moe", .size = "tiny", .name = "tiny", .n_layers = 4, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 64, .rope_theta = 1e7, .rope_dim = 16, .n_experts = 16, .n_used = 4,
     .expert_size = 256, .shared_size = 256, .n_k_heads = 2, .n_v_heads = 4, .delta_dim = 32},
    {.architecture = "qwen35moe", .size = "35b-a3b", .name = "Qwen3.6 35B-A3B", .n_layers = 40, .hidden_size = 2048,
     .vocab_size = 248320, .n_heads = 16, .n_kv_heads = 2, .head_dim = 256, .context_length = 262144,
     .rope_theta = 1e7, .rope_dim = 64, .n_experts = 256, .n_used = 8, .expert_size = 512, .shared_size = 512,
     .n_k_heads = 16, .n_v_heads = 32, .delta_dim = 128},
    {.architecture = "qwen3moe", .size = "tiny", .name = "tiny", .n_layers = 3, .hidden_size = 256, .vocab_size = 512,
     .n_heads = 4, .n_kv_heads = 2, .head_dim = 128, .rope_theta = 1e6, .n_experts = 16, .n_used = 4,
     .expert_size = 256},
    {.architecture = "qwen3moe", .size = "30b-a3b", .name = "Qwen3 30B-A3B", .n_layers = 48, .hidden_size = 2048,
     .vocab_size = 151936, .n_heads = 32, .n_kv_heads = 4, .head_dim = 128, .context_length = 40960,
     .rope_theta = 1e6, .n_experts = 128, .n_used = 8, .expert_size = 768},
};
// clang-format on

// Keys with the architecture in front.
class Keys {
 public:
  Keys(gguf::Writer& writer, std::string_view architecture)
      : writer_(writer), prefix_(std::string(architecture) + ".") {}
  void count(std::string_view name, int64_t value) { writer_.add_int(full(name), ValueType::Uint32, value); }
  void count_if(std::string_view name, int64_t value) {
    if (value != 0) count(name, value);
  }
  void real(std::string_view name, double value) { writer_.add_real(full(name), ValueType::Float32, value); }
  void flag(std::string_view name, bool value) { writer_.add_int(full(name), ValueType::Bool, value); }
  void counts(std::string_view name, std::span<const int64_t> values) {
    writer_.add_ints(full(name), ValueType::Int32, values);
  }

 private:
  std::string full(std::string_view name) const { return prefix_ + std::string(name); }
  gguf::Writer& writer_;
  std::string prefix_;
};

void add_common(const SynthShape& shape, Keys& keys) {
  const SynthSize& s = *shape.size;
  keys.count("block_count", shape.n_blocks());
  keys.count_if("nextn_predict_layers", shape.mtp ? 1 : 0);
  keys.count("context_length", s.context_length);
  keys.count("embedding_length", s.hidden_size);
  keys.count_if("feed_forward_length", s.intermediate_size);
  keys.count("vocab_size", s.vocab_size);
  keys.count("attention.head_count", s.n_heads);
  keys.count("attention.key_length", s.head_dim);
  keys.count("attention.value_length", s.head_dim);
  keys.real("attention.layer_norm_rms_epsilon", s.rms_norm_eps);
  keys.real("rope.freq_base", s.rope_theta);
  keys.count("rope.dimension_count", s.rope_dim > 0 ? s.rope_dim : s.head_dim);
  if (s.attends.empty()) return keys.count("attention.head_count_kv", s.n_kv_heads);
  std::vector<int64_t> kv(static_cast<size_t>(shape.n_blocks()), 0);
  for (int layer : s.attends)
    if (layer < shape.n_blocks()) kv[static_cast<size_t>(layer)] = s.n_kv_heads;
  keys.counts("attention.head_count_kv", kv);
}

void add_experts(const SynthShape& shape, Keys& keys) {
  const SynthSize& s = *shape.size;
  if (s.n_experts == 0) return;
  keys.count("expert_count", s.n_experts);
  keys.count("expert_used_count", s.n_used);
  keys.count("expert_feed_forward_length", s.expert_size);
  keys.count_if("expert_shared_feed_forward_length", s.shared_size);
  keys.count_if("leading_dense_block_count", std::min(s.n_dense_layers, shape.n_layers));
  const std::string_view arch = s.architecture;
  if (arch == "lfm2moe" || arch == "bailingmoe2") keys.count("expert_gating_func", 2);  // sigmoid
  if (arch != "bailingmoe2") return;
  keys.count("expert_shared_count", 1);
  keys.count("expert_group_count", 8);
  keys.count("expert_group_used_count", 4);
  keys.flag("expert_weights_norm", true);
  keys.real("expert_weights_scale", 2.5);
}

void add_mixers(const SynthShape& shape, Keys& keys) {
  const SynthSize& s = *shape.size;
  if (!s.attends.empty()) keys.count("shortconv.l_cache", 3);
  keys.count_if("attention.sliding_window", s.window);
  if (s.delta_dim == 0) return;
  keys.count("full_attention_interval", 4);
  keys.count("ssm.conv_kernel", 4);
  keys.count("ssm.state_size", s.delta_dim);
  keys.count("ssm.group_count", s.n_k_heads);
  keys.count("ssm.time_step_rank", s.n_v_heads);
  keys.count("ssm.inner_size", s.n_v_heads * s.delta_dim);
  // Which axis of an image's place turns which pairs: 11, 11, 10 of 32.
  const int pairs = s.rope_dim / 2, third = (pairs + 2) / 3;
  const int64_t sections[] = {third, third, pairs - 2 * third, 0};
  keys.counts("rope.dimension_sections", sections);
}

}  // namespace

std::span<const SynthSize> synth_sizes() { return kSizes; }

const SynthSize& find_synth_size(std::string_view architecture, std::string_view size) {
  std::string sizes, architectures;
  for (const SynthSize& s : kSizes) {
    if (architectures.find(fmt::format(" {},", s.architecture)) == std::string::npos)
      architectures += fmt::format(" {},", s.architecture);
    if (architecture != s.architecture) continue;
    if (size == s.size || size == s.name) return s;
    sizes += (sizes.empty() ? "" : ", ") + std::string(s.size);
  }
  if (sizes.empty())
    fail(ErrorCode::Usage, "no sizes are known of the architecture \"{}\"; known:{}", architecture,
         architectures.substr(0, architectures.size() - 1));
  fail(ErrorCode::Usage, "{} has no size \"{}\"; known: {} (--list shows them)", architecture, size, sizes);
}

void add_synth_metadata(const SynthShape& shape, int64_t file_type, gguf::Writer& writer) {
  const SynthSize& s = *shape.size;
  if (shape.mtp && s.delta_dim == 0)
    fail(ErrorCode::Usage, "{} has no block for multi-token prediction; leave out --mtp", s.architecture);
  writer.add_text("general.architecture", s.architecture);
  writer.add_text("general.type", "model");
  writer.add_text("general.name", fmt::format("synthetic {}", s.name));
  writer.add_text("general.size_label", s.size);
  writer.add_text("general.description", "random weights in the shapes of the model named, for timing and tests");
  Keys keys(writer, s.architecture);
  add_common(shape, keys);
  add_experts(shape, keys);
  add_mixers(shape, keys);
  writer.add_int("general.file_type", ValueType::Uint32, file_type);
  writer.add_int("general.quantization_version", ValueType::Uint32, 2);
  writer.add_int("general.alignment", ValueType::Uint32, 32);
}

bool has_optional_tensor(const SynthShape& shape, std::string_view name) {
  const SynthSize& s = *shape.size;
  const std::string_view arch = s.architecture;
  if (name == "output.weight") return !s.tied;
  if (name == "rope_freqs.weight") return s.rope_factor > 0;
  if (name == "blk.0.attn_norm.weight") return true;  // the trunk is in the file
  if (arch == "bailingmoe2" && name.ends_with(".attn_qkv.weight")) return true;
  return name.ends_with(".exp_probs_b.bias") && (arch == "bailingmoe2" || arch == "lfm2moe");
}

}  // namespace tally::app
