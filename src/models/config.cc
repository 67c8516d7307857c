#include "models/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tally::models {
namespace {

constexpr int kMaxLayers = 512, kMaxHeads = 4096, kMaxHeadDim = 4096, kMaxWidth = 1 << 20, kMaxExperts = 4096;
constexpr int kMaxVocab = 1 << 24, kMaxContext = 1 << 30;

std::string range_text(int64_t min, int64_t max) { return fmt::format("an integer from {} to {}", min, max); }

}  // namespace

void Keys::bad(std::string_view name, std::string_view found, std::string_view expected) const {
  fail(ErrorCode::BadInput, "{}: key \"{}\" is {}, expected {}; the file is damaged or of an unsupported kind",
       meta_.file(), full(name), found, expected);
}

void Keys::missing(std::string_view name, std::string_view expected) const {
  fail(ErrorCode::BadInput,
       "{}: key \"{}\" is missing, expected {}; the file is damaged or was converted by an older "
       "tool",
       meta_.file(), full(name), expected);
}

int Keys::checked(std::string_view name, int64_t value, int64_t min, int64_t max) const {
  if (value < min || value > max) bad(name, std::to_string(value), range_text(min, max));
  return static_cast<int>(value);
}

int Keys::get(std::string_view name, int64_t min, int64_t max) const {
  std::optional<int64_t> value = meta_.find_int(full(name));
  if (!value) missing(name, range_text(min, max));
  return checked(name, *value, min, max);
}

int Keys::get(std::string_view name, int64_t min, int64_t max, int fallback) const {
  std::optional<int64_t> value = meta_.find_int(full(name));
  return value ? checked(name, *value, min, max) : fallback;
}

float Keys::real(std::string_view name, double min, double max, std::optional<float> fallback) const {
  std::string expected = fmt::format("a number from {:g} to {:g}", min, max);
  std::optional<double> value = meta_.find_real(full(name));
  if (!value && !fallback) missing(name, expected);
  if (!value) return *fallback;
  if (!(*value >= min && *value <= max)) bad(name, fmt::format("{:g}", *value), expected);  // NaN fails too
  return static_cast<float>(*value);
}

std::string Keys::text(std::string_view name, std::string_view fallback) const {
  return std::string(meta_.find_text(full(name)).value_or(fallback));
}

std::vector<int> Keys::per_layer(std::string_view name, int n_layers, int64_t min, int64_t max,
                                 std::optional<int> fallback) const {
  std::optional<std::vector<int64_t>> values = array(name);
  if (!values && !fallback) missing(name, range_text(min, max));
  if (!values) return std::vector<int>(n_layers, *fallback);
  const gguf::Value* stored = meta_.find(full(name));
  if (stored->type != gguf::ValueType::Array) return std::vector<int>(n_layers, checked(name, (*values)[0], min, max));
  if (int64_t(values->size()) < n_layers)
    bad(name, fmt::format("an array of {} values", values->size()),
        fmt::format("one value or {}, one for each layer (\"{}\")", n_layers, full("block_count")));
  std::vector<int> out;
  for (int i = 0; i < n_layers; ++i) out.push_back(checked(name, (*values)[i], min, max));
  return out;
}

namespace {

// Rows of the embedding; at least as many as the tokenizer has tokens (some files pad), and the key's number where
// there are no tokens to count.
int read_vocab_size(const Keys& keys, const ModelSource& source) {
  const gguf::Value* tokens = source.meta.find("tokenizer.ggml.tokens");
  const gguf::TensorInfo* embd = source.find("token_embd.weight");
  if (tokens != nullptr && tokens->type == gguf::ValueType::Array && tokens->count > uint64_t(kMaxVocab))
    fail(ErrorCode::BadInput, "{}: key \"tokenizer.ggml.tokens\" has {} tokens, expected at most {}",
         source.meta.file(), tokens->count, kMaxVocab);
  uint64_t n_tokens = tokens != nullptr && tokens->type == gguf::ValueType::Array ? tokens->count : 0;
  if (embd == nullptr) return n_tokens > 0 ? int(n_tokens) : keys.get("vocab_size", 1, kMaxVocab);
  if (embd->dims[1] == 0 || embd->dims[1] > uint64_t(kMaxVocab))
    fail(ErrorCode::BadInput, "{}: tensor \"token_embd.weight\" has {} rows, expected 1 to {}", source.meta.file(),
         embd->dims[1], kMaxVocab);
  if (embd->dims[1] < n_tokens)
    fail(ErrorCode::BadInput,
         "{}: tensor \"token_embd.weight\" has {} rows, expected one for each of the {} tokens in the key "
         "\"tokenizer.ggml.tokens\"; the file is damaged or was converted by an older tool",
         source.meta.file(), embd->dims[1], n_tokens);
  int rows = static_cast<int>(embd->dims[1]);
  if (n_tokens == 0 && keys.get("vocab_size", 1, kMaxVocab, rows) != rows)
    keys.bad("vocab_size", std::to_string(keys.get("vocab_size", 1, kMaxVocab)),
             fmt::format("{}, the rows of tensor \"token_embd.weight\"", rows));
  return rows;
}

void check_heads(const Keys& keys, const Config& c) {
  for (size_t i = 0; i < c.n_heads.size(); ++i)
    if (c.n_kv_heads[i] > 0 && c.n_heads[i] % c.n_kv_heads[i] != 0)
      keys.bad("attention.head_count_kv", std::to_string(c.n_kv_heads[i]),
               fmt::format("a divisor of \"{}\", which is {} (layer {})", keys.full("attention.head_count"),
                           c.n_heads[i], i));
}

int read_head_dim(const Keys& keys, const Config& c) {
  int fallback = 0;
  if (!keys.has("attention.key_length")) {
    if (c.hidden_size % c.n_heads[0] != 0)
      keys.bad("attention.head_count", std::to_string(c.n_heads[0]),
               fmt::format("a divisor of \"{}\", which is {}, since \"{}\" is absent", keys.full("embedding_length"),
                           c.hidden_size, keys.full("attention.key_length")));
    fallback = c.hidden_size / c.n_heads[0];
  }
  int dim = keys.get("attention.key_length", 1, kMaxHeadDim, fallback);
  int value_dim = keys.get("attention.value_length", 1, kMaxHeadDim, dim);
  if (value_dim != dim)
    keys.bad("attention.value_length", std::to_string(value_dim),
             fmt::format("{}, as \"{}\"", dim, keys.full("attention.key_length")));
  if (dim > kMaxHeadDim) keys.missing("attention.key_length", range_text(1, kMaxHeadDim));
  return dim;
}

// The pair at which `rotations` full turns fit into the original context.
double yarn_pair(const ops::Rope& rope, int original_context, double rotations) {
  return rope.dim * std::log(original_context / (rotations * 2 * M_PI)) / (2 * std::log(double(rope.theta)));
}

void read_yarn(const Keys& keys, const Config& c, double factor, ops::Rope& rope) {
  int original = keys.get("rope.scaling.original_context_length", 1, kMaxContext, c.context_length);
  double ext = keys.real("rope.scaling.yarn_ext_factor", -1e9, 1e9, 1.f);
  if (ext != 1.0) keys.bad("rope.scaling.yarn_ext_factor", fmt::format("{:g}", ext), "1");
  double fast = keys.real("rope.scaling.yarn_beta_fast", 1e-3, 1e6, 32.f);
  double slow = keys.real("rope.scaling.yarn_beta_slow", 1e-3, 1e6, 1.f);
  rope.yarn = true;
  rope.yarn_low = float(std::max(0.0, std::floor(yarn_pair(rope, original, fast))));
  rope.yarn_high = float(std::min(rope.dim - 1.0, std::ceil(yarn_pair(rope, original, slow))));
  double log_factor = std::log(std::max(1.0, factor));
  double magnitude = keys.real("rope.scaling.attn_factor", 1e-6, 1e6, 1.f);
  magnitude = keys.real("rope.scaling.yarn_attn_factor", 1e-6, 1e6, float(magnitude));
  double multiplier = keys.real("rope.scaling.yarn_log_multiplier", 0, 1e6, 0.f);
  rope.magnitude = float(magnitude * (1 + 0.1 * log_factor) / (1 + 0.1 * multiplier * log_factor));
}

}  // namespace

Config read_config(const Keys& keys, const ModelSource& source, bool kv_optional) {
  Config c;
  int n_blocks = keys.get("block_count", 1, kMaxLayers);
  c.n_mtp_layers = keys.get("nextn_predict_layers", 0, n_blocks - 1, 0);
  c.n_layers = n_blocks - c.n_mtp_layers;
  c.hidden_size = keys.get("embedding_length", 1, kMaxWidth);
  c.context_length = keys.get("context_length", 1, kMaxContext);
  c.vocab_size = read_vocab_size(keys, source);
  c.rms_norm_eps = keys.real("attention.layer_norm_rms_epsilon", 0, 1.0);
  c.n_heads = keys.per_layer("attention.head_count", n_blocks, 1, kMaxHeads);
  c.n_kv_heads = keys.has("attention.head_count_kv")
                     ? keys.per_layer("attention.head_count_kv", n_blocks, kv_optional ? 0 : 1, kMaxHeads)
                     : c.n_heads;
  check_heads(keys, c);
  c.head_dim = read_head_dim(keys, c);
  return c;
}

ops::Rope read_rope(const Keys& keys, const Config& c, ops::RopeLayout layout) {
  ops::Rope rope{.layout = layout};
  rope.dim = keys.get("rope.dimension_count", 2, c.head_dim, c.head_dim);
  if (rope.dim % 2 != 0) keys.bad("rope.dimension_count", std::to_string(rope.dim), "an even number");
  rope.theta = keys.real("rope.freq_base", 1.001, 1e15, 10000.f);
  std::string type = keys.text("rope.scaling.type", "linear");
  if (type == "none") return rope;
  if (type != "linear" && type != "yarn")
    keys.bad("rope.scaling.type", fmt::format("\"{}\"", type), "\"none\", \"linear\" or \"yarn\"");
  double factor = keys.real("rope.scale_linear", 0, 1e6, 0.f);
  factor = keys.real("rope.scaling.factor", 0, 1e6, float(factor));
  if (factor == 0) factor = 1;  // written by some tools for "none"
  rope.freq_scale = float(1.0 / factor);
  if (type == "yarn")
    read_yarn(keys, c, factor, rope);
  else
    rope.magnitude = keys.real("rope.scaling.attn_factor", 1e-6, 1e6, 1.f);
  return rope;
}

AttentionConfig read_attention(const Keys& keys, const Config& c, ops::RopeLayout layout) {
  AttentionConfig a{.n_heads = c.n_heads[0], .n_kv_heads = c.n_kv_heads[0], .head_dim = c.head_dim};
  a.scale = float(1.0 / std::sqrt(double(c.head_dim)));
  a.eps = c.rms_norm_eps;
  a.rope = read_rope(keys, c, layout);
  return a;
}

std::vector<int> read_intermediate_sizes(const Keys& keys, const Config& c) {
  return keys.per_layer("feed_forward_length", c.n_layers + c.n_mtp_layers, 1, kMaxWidth);
}

MoeConfig read_moe(const Keys& keys, ops::RouteScore default_score) {
  MoeConfig m;
  m.n_experts = keys.get("expert_count", 1, kMaxExperts);
  m.n_used = keys.get("expert_used_count", 1, m.n_experts);
  if (keys.has("expert_feed_forward_length")) {
    m.intermediate_size = keys.get("expert_feed_forward_length", 1, kMaxWidth);
  } else {
    int dense = keys.get("feed_forward_length", 1, kMaxWidth);
    m.intermediate_size = std::max(1, dense / m.n_used);
  }
  int score = keys.get("expert_gating_func", 0, 4, 0);  // 0: the architecture's own
  if (score > 2) keys.bad("expert_gating_func", std::to_string(score), "1 (softmax) or 2 (sigmoid)");
  m.score = score == 0 ? default_score : score == 2 ? ops::RouteScore::Sigmoid : ops::RouteScore::Softmax;
  m.scale = keys.real("expert_weights_scale", 0, 1e6, 1.f);
  if (m.scale == 0) m.scale = 1;  // 0: not set
  m.n_groups = std::max(1, keys.get("expert_group_count", 0, m.n_experts, 1));
  if (m.n_experts % m.n_groups != 0)
    keys.bad("expert_group_count", std::to_string(m.n_groups),
             fmt::format("a divisor of \"{}\", which is {}", keys.full("expert_count"), m.n_experts));
  m.n_groups_used = m.n_groups > 1 ? keys.get("expert_group_used_count", 1, m.n_groups) : 1;
  if (m.n_experts / m.n_groups * m.n_groups_used < m.n_used)
    keys.bad("expert_group_used_count", std::to_string(m.n_groups_used),
             fmt::format("groups that hold at least {} experts (\"{}\")", m.n_used, keys.full("expert_used_count")));
  return m;
}

}  // namespace tally::models
