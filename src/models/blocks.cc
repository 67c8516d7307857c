#include "models/blocks.h"

#include "models/config.h"

namespace tally::models {
namespace {

constexpr const char* kHidden = "embedding_length";
constexpr const char* kQuerySize = "attention.head_count attention.key_length";
constexpr const char* kKvSize = "attention.head_count_kv attention.key_length";
constexpr const char* kHeadDim = "attention.key_length";
constexpr const char* kVocab = "vocab_size";
constexpr const char* kExperts = "expert_count";
constexpr const char* kExpertSize = "expert_feed_forward_length";

struct Qkv {
  Value q, k, v;
};

Qkv project_qkv(Builder& b, const AttentionConfig& c, Value h) {
  Size q{int64_t(c.n_heads) * c.head_dim * (c.gated ? 2 : 1), kQuerySize};
  Size kv{int64_t(c.n_kv_heads) * c.head_dim, kKvSize};
  if (!b.has("attn_qkv.weight")) {
    Value vq = b.linear(h, "attn_q", q, c.need_bias), vk = b.linear(h, "attn_k", kv, c.need_bias);
    return {vq, vk, b.linear(h, "attn_v", kv, c.need_bias)};
  }
  Size all{q.n + 2 * kv.n, "attention.head_count attention.head_count_kv attention.key_length"};
  Value vq = b.linear_rows(h, "attn_qkv", "attn_q", q, 0, all, c.need_bias);
  Value vk = b.linear_rows(h, "attn_qkv", "attn_k", kv, q.n, all, c.need_bias);
  return {vq, vk, b.linear_rows(h, "attn_qkv", "attn_v", kv, q.n + kv.n, all, c.need_bias)};
}

}  // namespace

Value attention_heads(Builder& b, const AttentionConfig& c, Value h) {
  Qkv in = project_qkv(b, c, h);
  ops::Attention op{.q = in.q, .k = in.k, .v = in.v};
  if (c.qk_norm) {
    op.q_norm = b.vector("attn_q_norm.weight", {c.head_dim, kHeadDim});
    op.k_norm = b.vector("attn_k_norm.weight", {c.head_dim, kHeadDim});
  }
  op.pages = b.pages(c.n_kv_heads, c.head_dim);
  op.n_heads = c.n_heads, op.n_kv_heads = c.n_kv_heads, op.head_dim = c.head_dim;
  op.window = c.window, op.scale = c.scale, op.eps = c.eps, op.gated = c.gated, op.rope = c.rope;
  op.out = b.value("attention", ops::Rows::Tokens, {int64_t(c.n_heads) * c.head_dim, kQuerySize});
  b.add(op);
  return op.out;
}

void attention(Builder& b, const AttentionConfig& c, Value h, Value x) {
  b.linear_add(attention_heads(b, c, h), "attn_output", x);
}

void gated_delta_net(Builder& b, const DeltaConfig& c, Value h, Value x) {
  Size heads{c.n_v_heads, "ssm.time_step_rank"}, inner{int64_t(c.n_v_heads) * c.head_dim, "ssm.inner_size"};
  Size channels{2 * int64_t(c.n_k_heads) * c.head_dim + inner.n, "ssm.group_count ssm.state_size ssm.inner_size"};
  Value qkv = b.linear(h, "attn_qkv", channels), z = b.linear(h, "attn_gate", inner);
  Value beta = b.linear(h, "ssm_beta", heads), alpha = b.linear(h, "ssm_alpha", heads);

  ops::ShortConv conv{.x = qkv, .w = b.matrix("ssm_conv1d.weight", {c.taps, "ssm.conv_kernel"}, channels)};
  conv.state = b.slot("conv", c.taps - 1, int(channels.n));
  conv.channels = int(channels.n), conv.taps = c.taps;
  conv.out = b.value("conv", ops::Rows::Tokens, channels);
  b.add(conv);

  ops::GatedDelta delta{.qkv = conv.out, .alpha = alpha, .beta = beta};
  delta.a = b.vector("ssm_a", heads), delta.dt_bias = b.vector("ssm_dt.bias", heads);
  delta.state = b.slot("recurrent", c.n_v_heads * c.head_dim, c.head_dim);
  delta.n_k_heads = c.n_k_heads, delta.n_v_heads = c.n_v_heads, delta.head_dim = c.head_dim, delta.eps = c.eps;
  delta.out = b.value("delta", ops::Rows::Tokens, inner);
  b.add(delta);

  ops::GatedNorm norm{.x = delta.out, .z = z, .w = b.vector("ssm_norm.weight", {c.head_dim, "ssm.state_size"})};
  norm.head_dim = c.head_dim, norm.eps = c.eps;
  norm.out = b.value("gated_norm", ops::Rows::Tokens, inner);
  b.add(norm);
  b.linear_add(norm.out, "ssm_out", x);
}

void short_conv(Builder& b, int taps, Value h, Value x) {
  Size channels = b.cols(x);
  ops::ShortConv conv{.x = b.linear(h, "shortconv.in_proj", {3 * channels.n, kHidden})};
  conv.w = b.matrix("shortconv.conv.weight", {taps, "shortconv.l_cache"}, channels);
  conv.state = b.slot("conv", taps - 1, int(channels.n));
  conv.kind = ops::ConvKind::Gated, conv.channels = int(channels.n), conv.taps = taps;
  conv.out = b.value("conv", ops::Rows::Tokens, channels);
  b.add(conv);
  b.linear_add(conv.out, "shortconv.out_proj", x);
}

Value gated_ffn(Builder& b, int intermediate_size, Value h, ops::Activation act) {
  Size n{intermediate_size, "feed_forward_length"};
  Value gate = b.linear(h, "ffn_gate", n), up = b.linear(h, "ffn_up", n);
  Value out = b.value("ffn", ops::Rows::Tokens, n);
  b.add(ops::Swiglu{.gate = gate, .up = up, .act = act, .out = out});
  return out;
}

void dense_ffn(Builder& b, int intermediate_size, Value h, Value x) {
  b.linear_add(gated_ffn(b, intermediate_size, h), "ffn_down", x);
}

void moe_ffn(Builder& b, const MoeConfig& c, Value h, Value x) {
  Size hidden = b.cols(x), n{c.n_experts, kExperts}, f{c.intermediate_size, kExpertSize};
  ops::Route route{.x = h, .w = b.matrix("ffn_gate_inp.weight", hidden, n)};
  if (b.has("exp_probs_b.bias")) route.bias = b.vector("exp_probs_b.bias", n);
  route.score = c.score, route.n_experts = c.n_experts, route.n_used = c.n_used;
  route.n_groups = c.n_groups, route.n_groups_used = c.n_groups_used;
  route.normalize = c.normalize, route.scale = c.scale;
  route.out = b.value("route", ops::Rows::Tokens, {2 * c.n_used, "expert_used_count"});
  b.add(route);

  ops::Experts experts{.x = h, .route = route.out};
  if (b.has("ffn_gate_up_exps.weight")) {
    Size both{2 * f.n, kExpertSize};
    experts.gate = b.rows("ffn_gate_up_exps.weight", hidden, f, 0, both, n);
    experts.up = b.rows("ffn_gate_up_exps.weight", hidden, f, f.n, both, n);
  } else {
    experts.gate = b.matrix("ffn_gate_exps.weight", hidden, f, n);
    experts.up = b.matrix("ffn_up_exps.weight", hidden, f, n);
  }
  experts.down = b.matrix("ffn_down_exps.weight", f, hidden, n);
  experts.n_experts = c.n_experts, experts.n_used = c.n_used, experts.intermediate_size = c.intermediate_size;
  experts.accumulate = true, experts.out = x;
  b.add(experts);
  if (c.shared_size == 0) return;

  Size fs{c.shared_size, "expert_shared_feed_forward_length"};
  ops::SharedExpert shared{.x = h};
  shared.gate = b.matrix("ffn_gate_shexp.weight", hidden, fs);
  shared.up = b.matrix("ffn_up_shexp.weight", hidden, fs);
  shared.down = b.matrix("ffn_down_shexp.weight", fs, hidden);
  if (c.shared_gate) shared.gate_input = b.vector("ffn_gate_inp_shexp.weight", hidden);
  shared.intermediate_size = c.shared_size, shared.accumulate = true, shared.out = x;
  b.add(shared);
}

Value embed_tokens(Builder& b, const Config& c, float scale) {
  return b.embed("token_embd", {c.vocab_size, kVocab}, {c.hidden_size, kHidden}, scale);
}

ops::Program finish(Builder& b, const Config& c, Value x, std::string_view norm_name, const BuildOptions& options) {
  ops::Program& p = b.program();
  if (options.hidden_rows) {
    p.hidden = b.rms_norm(x, norm_name, c.rms_norm_eps);
    x = b.select_outputs(p.hidden);
  } else {
    x = b.rms_norm(b.select_outputs(x), norm_name, c.rms_norm_eps);
  }
  p.logits = b.head(x, b.has("output.weight") ? "output" : "token_embd", {c.vocab_size, kVocab});
  p.n_layers = c.n_layers, p.hidden_size = c.hidden_size;
  p.vocab_size = c.vocab_size, p.context_length = c.context_length;
  return std::move(p);
}

}  // namespace tally::models
