// LFM2 and LFM2-MoE: short convolutions where a layer has no kv heads, attention elsewhere; the experts of the latter
// begin after the leading dense layers. The final norm is stored as token_embd_norm.
#include "models/architectures.h"
#include "models/config.h"

namespace tally::models {

ops::Program lfm2(const ModelSource& source, const BuildOptions& options) {
  Keys keys(source.meta);
  Config c = read_config(keys, source, true);
  AttentionConfig attn = read_attention(keys, c, ops::RopeLayout::HalfSplit);
  attn.qk_norm = true;
  attn.window = keys.get("attention.sliding_window", 0, 1 << 30, 0);
  int taps = keys.get("shortconv.l_cache", 2, 64);
  bool has_experts = keys.arch() == "lfm2moe";
  int n_dense = has_experts ? keys.get("leading_dense_block_count", 0, c.n_layers, 0) : c.n_layers;
  MoeConfig moe = has_experts ? read_moe(keys, ops::RouteScore::Sigmoid) : MoeConfig{};
  std::vector<int> ffn(c.n_layers);
  if (n_dense > 0) ffn = read_intermediate_sizes(keys, c);

  Builder b(source, keys.arch());
  Value x = embed_tokens(b, c);
  for (int layer : b.layers(0, c.n_layers)) {
    attn.n_heads = c.n_heads[layer], attn.n_kv_heads = c.n_kv_heads[layer];
    Value h = b.rms_norm(x, "attn_norm", c.rms_norm_eps);
    if (attn.n_kv_heads > 0)
      attention(b, attn, h, x);
    else
      short_conv(b, taps, h, x);
    h = b.rms_norm(x, "ffn_norm", c.rms_norm_eps);
    if (layer < n_dense)
      dense_ffn(b, ffn[layer], h, x);
    else
      moe_ffn(b, moe, h, x);
  }
  return finish(b, c, x, "token_embd_norm", options);
}

}  // namespace tally::models
