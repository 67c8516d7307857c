// Llama 2 and 3, SmolLM2, Mistral, and Mixtral's experts. Rope is interleaved: converters permute q and k for it.
#include "models/architectures.h"
#include "models/config.h"

namespace tally::models {

ops::Program llama(const ModelSource& source, const BuildOptions& options) {
  Keys keys(source.meta);
  Config c = read_config(keys, source);
  AttentionConfig attn = read_attention(keys, c, ops::RopeLayout::Interleaved);
  if (attn.rope.dim != c.head_dim)
    keys.bad("rope.dimension_count", std::to_string(attn.rope.dim), "the head size, " + std::to_string(c.head_dim));
  bool has_experts = keys.get("expert_count", 0, 4096, 0) > 0;
  MoeConfig moe;
  std::vector<int> ffn = read_intermediate_sizes(keys, c);
  if (has_experts) {
    moe = read_moe(keys, ops::RouteScore::Softmax);
    if (!keys.has("expert_feed_forward_length")) moe.intermediate_size = ffn[0];
  }

  Builder b(source, keys.arch());
  if (b.has("rope_freqs.weight")) attn.rope.divisors = b.vector("rope_freqs.weight", {attn.rope.dim / 2});
  Value x = embed_tokens(b, c);
  for (int layer : b.layers(0, c.n_layers)) {
    attn.n_heads = c.n_heads[layer], attn.n_kv_heads = c.n_kv_heads[layer];
    attention(b, attn, b.rms_norm(x, "attn_norm", c.rms_norm_eps), x);
    Value h = b.rms_norm(x, "ffn_norm", c.rms_norm_eps);
    if (has_experts)
      moe_ffn(b, moe, h, x);
    else
      dense_ffn(b, ffn[layer], h, x);
  }
  return finish(b, c, x, "output_norm", options);
}

}  // namespace tally::models
