// Gemma 3: scaled embedding, norms before and after each part, GELU, and local layers (sliding window, own rope base)
// between global ones.
#include <cmath>

#include "models/architectures.h"
#include "models/config.h"

namespace tally::models {
namespace {

// Which layers see only the window: the pattern is a period (all but the last layer of each) or a flag per layer.
std::vector<bool> local_layers(const Keys& keys, int n_layers) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  std::vector<bool> local(n_layers);
  if (keys.get("attention.sliding_window", 0, 1 << 30, 0) == 0) return local;
  std::vector<int64_t> pattern = keys.array(kPattern).value_or(std::vector<int64_t>{6});
  if (pattern.size() > 1) {
    std::vector<int> flags = keys.per_layer(kPattern, n_layers, 0, 1);
    for (int i = 0; i < n_layers; ++i) local[i] = flags[i] != 0;
    return local;
  }
  int period = keys.get(kPattern, 1, 512, 6);
  for (int i = 0; i < n_layers; ++i) local[i] = i % period < period - 1;
  return local;
}

}  // namespace

ops::Program gemma3(const ModelSource& source, const BuildOptions& options) {
  Keys keys(source.meta);
  Config c = read_config(keys, source);
  AttentionConfig global = read_attention(keys, c, ops::RopeLayout::HalfSplit);
  global.qk_norm = true;
  if (c.n_layers == 62) global.scale = float(1 / std::sqrt(double(c.hidden_size) / c.n_heads[0]));  // the 27B model
  AttentionConfig local = global;
  local.window = keys.get("attention.sliding_window", 0, 1 << 30, 0);
  local.rope = ops::Rope{.layout = global.rope.layout, .dim = global.rope.dim};
  local.rope.theta = keys.real("rope.freq_base_swa", 1.001, 1e15, 10000.f);
  std::vector<bool> is_local = local_layers(keys, c.n_layers);
  std::vector<int> ffn = read_intermediate_sizes(keys, c);
  float cap = keys.real("final_logit_softcapping", 0, 1e6, 0.f);

  Builder b(source, keys.arch());
  Value x = embed_tokens(b, c, float(std::sqrt(double(c.hidden_size))));
  for (int layer : b.layers(0, c.n_layers)) {
    AttentionConfig attn = is_local[layer] ? local : global;
    attn.n_heads = c.n_heads[layer], attn.n_kv_heads = c.n_kv_heads[layer];
    Value heads = attention_heads(b, attn, b.rms_norm(x, "attn_norm", c.rms_norm_eps));
    b.rms_norm_add(b.linear(heads, "attn_output", b.cols(x)), "post_attention_norm", c.rms_norm_eps, x);
    Value h = gated_ffn(b, ffn[layer], b.rms_norm(x, "ffn_norm", c.rms_norm_eps), ops::Activation::GeluTanh);
    b.rms_norm_add(b.linear(h, "ffn_down", b.cols(x)), "post_ffw_norm", c.rms_norm_eps, x);
  }
  ops::Program p = finish(b, c, x, "output_norm", options);
  if (cap > 0) {
    p.ops.push_back(ops::Softcap{.x = p.logits, .cap = cap});
    p.op_layer.push_back(-1);
  }
  return p;
}

}  // namespace tally::models
