// Qwen3.5 and 3.6 (qwen35, qwen35moe): three layers of gated delta net, then one of gated attention; dense FFN or
// experts with a gated shared expert; an optional block that predicts the token after next (MTP).
#include <algorithm>

#include "base/error.h"
#include "models/architectures.h"
#include "models/config.h"

namespace tally::models {
namespace {

// Rope indices of images interleave three axes over the pairs. For text the axes have equal positions, so the rope is
// the ordinary one as long as no pair takes the fourth axis, whose position stays 0.
void check_sections(const Keys& keys, int rope_dim) {
  constexpr std::string_view kKey = "rope.dimension_sections";
  std::optional<std::vector<int64_t>> found = keys.array(kKey);
  if (!found) return;
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(found->size(), 8); ++i) text += (i ? ", " : "") + std::to_string((*found)[i]);
  text = "[" + text + (found->size() > 8 ? ", …]" : "]");
  if (found->size() != 3 && found->size() != 4) keys.bad(kKey, text, "3 or 4 numbers");
  int64_t sum = 0;
  for (int64_t s : *found) {
    if (s < 0 || s > rope_dim) keys.bad(kKey, text, "numbers from 0 to " + std::to_string(rope_dim / 2));
    sum += s;
  }
  if (sum < 1 || sum > rope_dim / 2)
    keys.bad(
        kKey, text,
        "a sum from 1 to " + std::to_string(rope_dim / 2) + ", half of \"" + keys.full("rope.dimension_count") + "\"");
  for (int p = 0; p < rope_dim / 2; ++p) {
    int64_t sector = p % sum;
    if (sector >= 3 * (*found)[sector % 3])
      keys.bad(kKey, text, "time, height and width for every pair; pair " + std::to_string(p) + " has none of them");
  }
}

DeltaConfig read_delta(const Keys& keys, const Config& c) {
  DeltaConfig d;
  d.taps = keys.get("ssm.conv_kernel", 2, 64);
  d.head_dim = keys.get("ssm.state_size", 1, 512);
  d.n_v_heads = keys.get("ssm.time_step_rank", 1, 1024);
  d.n_k_heads = keys.get("ssm.group_count", 1, d.n_v_heads);
  if (d.n_v_heads % d.n_k_heads != 0)
    keys.bad("ssm.group_count", std::to_string(d.n_k_heads),
             "a divisor of \"" + keys.full("ssm.time_step_rank") + "\", which is " + std::to_string(d.n_v_heads));
  int inner = keys.get("ssm.inner_size", 1, 1 << 20);
  if (inner != d.n_v_heads * d.head_dim)
    keys.bad("ssm.inner_size", std::to_string(inner),
             std::to_string(d.n_v_heads * d.head_dim) + ", the product of \"" + keys.full("ssm.time_step_rank") +
                 "\" and \"" + keys.full("ssm.state_size") + "\"");
  d.eps = c.rms_norm_eps;
  return d;
}

// Which layers are delta nets.
std::vector<int> read_recurrent_layers(const Keys& keys, const Config& c) {
  int interval = keys.get("full_attention_interval", 1, 512, 4);
  if (keys.has("attention.recurrent_layers")) return keys.per_layer("attention.recurrent_layers", c.n_layers, 0, 1);
  std::vector<int> recurrent(c.n_layers);
  for (int i = 0; i < c.n_layers; ++i) recurrent[i] = (i + 1) % interval != 0;
  return recurrent;
}

struct Qwen35 {
  Config c;
  AttentionConfig attn;
  MoeConfig moe;         // qwen35moe
  std::vector<int> ffn;  // qwen35
};

Qwen35 read_qwen35(const Keys& keys, const ModelSource& source) {
  Qwen35 m{.c = read_config(keys, source, true)};
  m.attn = read_attention(keys, m.c, ops::RopeLayout::HalfSplit);
  m.attn.gated = m.attn.qk_norm = true;
  check_sections(keys, m.attn.rope.dim);
  if (keys.arch() != "qwen35moe") {
    m.ffn = read_intermediate_sizes(keys, m.c);
    return m;
  }
  m.moe = read_moe(keys, ops::RouteScore::Softmax);
  m.moe.shared_size = keys.get("expert_shared_feed_forward_length", 1, 1 << 20, m.moe.intermediate_size);
  m.moe.shared_gate = true;
  return m;
}

// Gated attention of the current layer.
void attention_layer(Builder& b, const Keys& keys, Qwen35& m, int layer, Value h, Value x) {
  m.attn.n_heads = m.c.n_heads[layer], m.attn.n_kv_heads = m.c.n_kv_heads[layer];
  if (m.attn.n_kv_heads == 0)
    keys.bad("attention.head_count_kv", "0", "at least 1 in attention layer " + std::to_string(layer));
  attention(b, m.attn, h, x);
}

void ffn_layer(Builder& b, const Qwen35& m, int layer, Value x) {
  Value h = b.rms_norm(x, "post_attention_norm", m.c.rms_norm_eps);
  if (m.ffn.empty())
    moe_ffn(b, m.moe, h, x);
  else
    dense_ffn(b, m.ffn[layer], h, x);
}

}  // namespace

ops::Program qwen35(const ModelSource& source, const BuildOptions& options) {
  Keys keys(source.meta);
  Qwen35 m = read_qwen35(keys, source);
  DeltaConfig delta = read_delta(keys, m.c);
  std::vector<int> recurrent = read_recurrent_layers(keys, m.c);

  if (m.c.n_mtp_layers > 0 && !source.has("blk.0.attn_norm.weight"))
    fail(ErrorCode::BadInput, "{}: holds only the MTP block of a model; open the file with its trunk layers",
         source.meta.file());

  Builder b(source, keys.arch());
  Value x = embed_tokens(b, m.c);
  for (int layer : b.layers(0, m.c.n_layers)) {
    Value h = b.rms_norm(x, "attn_norm", m.c.rms_norm_eps);
    if (recurrent[layer])
      gated_delta_net(b, delta, h, x);
    else
      attention_layer(b, keys, m, layer, h, x);
    ffn_layer(b, m, layer, x);
  }
  return finish(b, m.c, x, "output_norm", options);
}

// Tokens and the hidden rows of the positions before them → logits of the tokens after them, and hidden rows to chain
// on.
std::optional<ops::Program> qwen35_mtp(const ModelSource& source) {
  Keys keys(source.meta);
  Qwen35 m = read_qwen35(keys, source);
  if (m.c.n_mtp_layers == 0) return std::nullopt;
  if (m.c.n_mtp_layers > 1) keys.bad("nextn_predict_layers", std::to_string(m.c.n_mtp_layers), "0 or 1");
  int layer = m.c.n_layers;
  Size hidden{m.c.hidden_size, "embedding_length"}, vocab{m.c.vocab_size, "vocab_size"};

  Builder b(source, keys.arch() + " mtp");
  b.set_layer(layer);
  bool own_embedding = b.has("nextn.embed_tokens.weight"), own_norm = b.has("nextn.shared_head_norm.weight");
  bool own_head = b.has("nextn.shared_head_head.weight");
  if (!own_embedding) b.set_layer(-1);
  Value e = b.embed(own_embedding ? "nextn.embed_tokens" : "token_embd", vocab, hidden);
  b.set_layer(layer);
  Value both = b.concat(b.rms_norm(e, "nextn.enorm", m.c.rms_norm_eps),
                        b.rms_norm(b.input("hidden", hidden), "nextn.hnorm", m.c.rms_norm_eps), "concat");
  Value x = b.linear(both, "nextn.eh_proj", hidden);
  attention_layer(b, keys, m, layer, b.rms_norm(x, "attn_norm", m.c.rms_norm_eps), x);
  ffn_layer(b, m, layer, x);

  ops::Program& p = b.program();
  if (!own_norm) b.set_layer(-1);
  p.hidden = b.rms_norm(x, own_norm ? "nextn.shared_head_norm" : "output_norm", m.c.rms_norm_eps);
  b.set_layer(own_head ? layer : -1);
  std::string_view tied = source.has("output.weight") ? "output" : "token_embd";
  p.logits = b.head(b.select_outputs(p.hidden), own_head ? "nextn.shared_head_head" : tied, vocab);
  p.n_layers = 1, p.hidden_size = m.c.hidden_size;
  p.vocab_size = m.c.vocab_size, p.context_length = m.c.context_length;
  return std::move(p);
}

}  // namespace tally::models
