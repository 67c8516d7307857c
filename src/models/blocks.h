// The parts that layers are made of. h: the normed input of the part; x: the residual stream that it is added to.
#pragma once

#include "models/builder.h"

namespace tally::models {

struct Config;

struct AttentionConfig {
  int n_heads = 0, n_kv_heads = 0, head_dim = 0;
  int window = 0;
  float scale = 0, eps = 0;
  bool gated = false;      // attn_q holds [query | gate] per head
  bool qk_norm = false;    // attn_q_norm and attn_k_norm
  bool need_bias = false;  // q, k and v must have biases
  ops::Rope rope;
};

struct DeltaConfig {
  int n_k_heads = 0, n_v_heads = 0, head_dim = 0, taps = 0;
  float eps = 0;
};

struct MoeConfig {
  int n_experts = 0, n_used = 0, intermediate_size = 0;
  ops::RouteScore score = ops::RouteScore::Softmax;
  int n_groups = 1, n_groups_used = 1;
  bool normalize = true;
  float scale = 1.f;
  int shared_size = 0;       // 0: no shared expert
  bool shared_gate = false;  // scalar sigmoid gate on it
};

// The concatenated heads, before the output projection. Projections are separate or fused in attn_qkv.
Value attention_heads(Builder& b, const AttentionConfig& c, Value h);
void attention(Builder& b, const AttentionConfig& c, Value h, Value x);
void gated_delta_net(Builder& b, const DeltaConfig& c, Value h, Value x);
void short_conv(Builder& b, int taps, Value h, Value x);

// act(gate h) ⊙ up h, before ffn_down.
Value gated_ffn(Builder& b, int intermediate_size, Value h, ops::Activation act = ops::Activation::Silu);
void dense_ffn(Builder& b, int intermediate_size, Value h, Value x);
void moe_ffn(Builder& b, const MoeConfig& c, Value h, Value x);

// Token rows; what messages call the sizes.
Value embed_tokens(Builder& b, const Config& c, float scale = 1.f);
// Final norm of the rows whose logits are wanted (of all rows when the options ask for hidden rows), then the head:
// output.weight, or token_embd.weight where the file has none.
ops::Program finish(Builder& b, const Config& c, Value x, std::string_view norm_name, const BuildOptions& options);

}  // namespace tally::models
