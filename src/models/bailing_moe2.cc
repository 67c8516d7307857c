// Ling and Ring 2.0: fused qkv, partial rope, sigmoid router over groups of experts, one ungated shared expert.
#include "base/error.h"
#include "models/architectures.h"
#include "models/config.h"

namespace tally::models {

ops::Program bailingmoe2(const ModelSource& source, const BuildOptions& options) {
  Keys keys(source.meta);
  Config c = read_config(keys, source);
  AttentionConfig attn = read_attention(keys, c, ops::RopeLayout::HalfSplit);
  attn.qk_norm = true;
  int n_dense = keys.get("leading_dense_block_count", 0, c.n_layers, 0);
  std::vector<int> ffn(c.n_layers);
  if (n_dense > 0) ffn = read_intermediate_sizes(keys, c);
  MoeConfig moe = read_moe(keys, ops::RouteScore::Sigmoid);
  moe.normalize = keys.flag("expert_weights_norm", false);
  int n_shared = keys.get("expert_shared_count", 0, 64, 1);
  if (n_shared > 0)
    moe.shared_size = n_shared * keys.get("expert_shared_feed_forward_length", 1, 1 << 20, moe.intermediate_size);

  Builder b(source, keys.arch());
  Value x = embed_tokens(b, c);
  for (int layer : b.layers(0, c.n_layers)) {
    attn.n_heads = c.n_heads[layer], attn.n_kv_heads = c.n_kv_heads[layer];
    attention(b, attn, b.rms_norm(x, "attn_norm", c.rms_norm_eps), x);
    Value h = b.rms_norm(x, "ffn_norm", c.rms_norm_eps);
    if (layer < n_dense)
      dense_ffn(b, ffn[layer], h, x);
    else
      moe_ffn(b, moe, h, x);
  }
  if (!b.has("output.weight"))
    fail(ErrorCode::BadInput, "{}: tensor \"output.weight\" is missing, expected [{}, {}]; the file is damaged",
         source.meta.file(), c.hidden_size, c.vocab_size);
  return finish(b, c, x, "output_norm", options);
}

}  // namespace tally::models
