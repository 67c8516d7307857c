// Qwen2 and Qwen2.5: the standard block with biases on q, k and v.
#include "models/architectures.h"
#include "models/config.h"

namespace tally::models {

ops::Program qwen2(const ModelSource& source, const BuildOptions& options) {
  Keys keys(source.meta);
  Config c = read_config(keys, source);
  AttentionConfig attn = read_attention(keys, c, ops::RopeLayout::HalfSplit);
  attn.need_bias = true;
  std::vector<int> ffn = read_intermediate_sizes(keys, c);

  Builder b(source, keys.arch());
  Value x = embed_tokens(b, c);
  for (int layer : b.layers(0, c.n_layers)) {
    attn.n_heads = c.n_heads[layer], attn.n_kv_heads = c.n_kv_heads[layer];
    attention(b, attn, b.rms_norm(x, "attn_norm", c.rms_norm_eps), x);
    dense_ffn(b, ffn[layer], b.rms_norm(x, "ffn_norm", c.rms_norm_eps), x);
  }
  return finish(b, c, x, "output_norm", options);
}

}  // namespace tally::models
