// Reading hyper-parameters: every value is range-checked here, before it becomes a loop bound, divisor or size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/blocks.h"
#include "models/registry.h"

namespace tally::models {

// The keys "<architecture>.<name>" of a file. Errors name the file, key, what was found and what was expected.
class Keys {
 public:
  explicit Keys(const gguf::Metadata& meta) : meta_(meta), arch_(meta.architecture()) {}

  const std::string& arch() const { return arch_; }
  std::string full(std::string_view name) const { return arch_ + "." + std::string(name); }
  bool has(std::string_view name) const { return meta_.has(full(name)); }

  int get(std::string_view name, int64_t min, int64_t max) const;
  int get(std::string_view name, int64_t min, int64_t max, int fallback) const;
  float real(std::string_view name, double min, double max, std::optional<float> fallback = std::nullopt) const;
  bool flag(std::string_view name, bool fallback) const { return meta_.find_bool(full(name)).value_or(fallback); }
  std::string text(std::string_view name, std::string_view fallback) const;
  // One value for all layers or an array with one for each (of block_count, of which the first n_layers count).
  std::vector<int> per_layer(std::string_view name, int n_layers, int64_t min, int64_t max,
                             std::optional<int> fallback = std::nullopt) const;
  std::optional<std::vector<int64_t>> array(std::string_view name) const { return meta_.find_ints(full(name)); }

  // Throws: key "<architecture>.<name>" is `found`, expected `expected`.
  [[noreturn]] void bad(std::string_view name, std::string_view found, std::string_view expected) const;
  [[noreturn]] void missing(std::string_view name, std::string_view expected) const;

 private:
  int checked(std::string_view name, int64_t value, int64_t min, int64_t max) const;

  const gguf::Metadata& meta_;
  std::string arch_;
};

// What every architecture has.
struct Config {
  int n_layers = 0;  // of the trunk
  int n_mtp_layers = 0;
  int hidden_size = 0, vocab_size = 0, context_length = 0, head_dim = 0;
  float rms_norm_eps = 0;
  std::vector<int> n_heads, n_kv_heads;  // [n_layers + n_mtp_layers]
};

// kv_optional: layers without attention (n_kv_heads 0) may exist.
Config read_config(const Keys& keys, const ModelSource& source, bool kv_optional = false);

// Rotary embedding with its scaling (linear or YaRN); rope_dim from rope.dimension_count, default head_dim.
ops::Rope read_rope(const Keys& keys, const Config& config, ops::RopeLayout layout);

AttentionConfig read_attention(const Keys& keys, const Config& config, ops::RopeLayout layout);

// Dense FFN width of each layer.
std::vector<int> read_intermediate_sizes(const Keys& keys, const Config& config);

// Experts; the caller sets what its architecture fixes otherwise (shared expert, normalisation).
MoeConfig read_moe(const Keys& keys, ops::RouteScore default_score);

}  // namespace tally::models
