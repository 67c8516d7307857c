// The vocabulary: what a model computes, as plain records at the grain at which papers name things. A Program is a
// short straight list of them; weights, state, scratch memory and cost are derived from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace tally::ops {

// Handles into the Program's tables; id −1 means "none" where a field is optional.
struct Value {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const Value&) const = default;
};
struct WeightRef {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const WeightRef&) const = default;
};
struct StateRef {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const StateRef&) const = default;
};

enum class Rows : uint8_t { Tokens, Outputs };  // the one symbolic dimension of a value
struct ValueInfo {
  std::string name;
  Rows rows = Rows::Tokens;
  int cols = 0;
};

// One weight matrix: out × in, times experts. `in` is contiguous. A weight may be a range of rows of a tensor of the
// file (fused projections): rows [row_begin, row_begin + out) of file_out rows, within each expert.
struct WeightInfo {
  std::string name;  // tensor name in the file
  int64_t in = 0, out = 1, experts = 1;
  int64_t row_begin = 0, file_out = 1;
  // The hyper-parameters that the sizes follow from, separated by spaces; static text, for messages only.
  const char *in_keys = "", *out_keys = "", *experts_keys = "";
};

enum class StateKind : uint8_t { Pages, Slot };
struct StateInfo {
  std::string name;
  StateKind kind = StateKind::Slot;
  // Pages: elements of K (= of V) per token, as n_kv_heads × head_dim. Slot: floats per sequence, n_kv_heads ×
  // head_dim.
  int n_kv_heads = 0, head_dim = 0;
  int layer = 0;
  int64_t elements() const { return int64_t(n_kv_heads) * head_dim; }
};

enum class RopeLayout : uint8_t { None, Interleaved, HalfSplit };

// Rotary position embedding. Source: RoFormer; YaRN (arXiv 2309.00071); divisors of Llama 3.
struct Rope {
  RopeLayout layout = RopeLayout::None;
  int dim = 0;  // rotated dims of each head, the first ones
  float theta = 10000.f;
  float freq_scale = 1.f;             // 1 / linear or YaRN factor
  float magnitude = 1.f;              // factor on cos and sin
  float yarn_low = 0, yarn_high = 0;  // ramp over pairs; both 0: no YaRN
  bool yarn = false;
  WeightRef divisors;  // optional, [dim / 2]
};

// out = embedding rows of the tokens, times scale.
struct Embed {
  WeightRef w;
  float scale = 1.f;
  Value out;
  static constexpr std::string_view kName = "embed";
};
// out = rows handed in with the Batch.
struct Input {
  Value out;
  static constexpr std::string_view kName = "input";
};
// out (+)= x / sqrt(mean(x²) + eps) · w
struct RmsNorm {
  Value x;
  WeightRef w;
  float eps = 0;
  bool accumulate = false;
  Value out;
  static constexpr std::string_view kName = "rms_norm";
};
// out (+)= x·wᵀ + bias. Accumulating makes the residual stream need no op of its own.
struct Linear {
  Value x;
  WeightRef w;
  WeightRef bias;  // optional
  bool accumulate = false;
  Value out;
  static constexpr std::string_view kName = "linear";
};
// Norm and rope of q and k, append k and v to the pages, causal softmax(q·k·scale)·v, optional sigmoid gate.
struct Attention {
  Value q;                   // [n_heads × head_dim]; gated: per head [query | gate]
  Value k, v;                // [n_kv_heads × head_dim]
  WeightRef q_norm, k_norm;  // optional, [head_dim]
  StateRef pages;
  int n_heads = 0, n_kv_heads = 0, head_dim = 0;
  int window = 0;  // 0: all; else keys u with t − u < window
  float scale = 0, eps = 0;
  bool gated = false;
  Rope rope;
  Value out;  // [n_heads × head_dim]
  static constexpr std::string_view kName = "attention";
};
enum class ConvKind : uint8_t {
  Silu,  // out = silu(conv(x)); x has `channels` columns
  Gated  // x = [B | C | X]; out = C ⊙ conv(B ⊙ X); x has 3 × `channels` columns
};
// Causal depth-wise convolution over time with `taps` taps; state: the last taps − 1 inputs of the convolution, oldest
// first.
struct ShortConv {
  Value x;
  WeightRef w;     // [channels × taps], last tap multiplies the current token
  StateRef state;  // [(taps − 1) × channels]
  ConvKind kind = ConvKind::Silu;
  int channels = 0, taps = 0;
  Value out;
  static constexpr std::string_view kName = "short_conv";
};
// Gated delta rule (arXiv 2412.06464). qkv = [q: n_k_heads | k: n_k_heads | v: n_v_heads] × head_dim; q and k are
// L2-normalised, q scaled by 1/sqrt(head_dim); value head j uses key head j mod n_k_heads.
struct GatedDelta {
  Value qkv, alpha, beta;  // alpha, beta: [n_v_heads]
  WeightRef a, dt_bias;    // [n_v_heads]: decay = exp(a·softplus(alpha + dt_bias))
  StateRef state;          // [n_v_heads × head_dim(value) × head_dim(key)], value index major
  int n_k_heads = 0, n_v_heads = 0, head_dim = 0;
  float eps = 0;
  Value out;  // [n_v_heads × head_dim]
  static constexpr std::string_view kName = "gated_delta";
};
// Per head: out = x / sqrt(mean(x²) + eps) · w ⊙ silu(z)
struct GatedNorm {
  Value x, z;
  WeightRef w;  // [head_dim], shared by all heads
  int head_dim = 0;
  float eps = 0;
  Value out;
  static constexpr std::string_view kName = "gated_norm";
};
enum class Activation : uint8_t { Silu, GeluTanh };
// out = act(gate) ⊙ up
struct Swiglu {
  Value gate, up;
  Activation act = Activation::Silu;
  Value out;
  static constexpr std::string_view kName = "swiglu";
};
enum class RouteScore : uint8_t { Softmax, Sigmoid };
// Expert choice. scores = softmax or sigmoid of w·x; the top n_used by score + bias (within the best n_groups_used
// groups when n_groups > 1; a group's score is the sum of its two best); weights are the scores, normalised over the
// chosen (denominator at least 6.1035e-5) if `normalize`, times scale.
struct Route {
  Value x;
  WeightRef w;     // router, [n_experts × hidden]
  WeightRef bias;  // optional, [n_experts], for choosing only
  RouteScore score = RouteScore::Softmax;
  int n_experts = 0, n_used = 0, n_groups = 1, n_groups_used = 1;
  bool normalize = true;
  float scale = 1.f;
  Value out;  // [2 × n_used]: ids (as exact floats), then weights
  static constexpr std::string_view kName = "route";
};
// out (+)= Σ over chosen experts of weight · down_e(silu(gate_e x) ⊙ up_e x)
struct Experts {
  Value x, route;
  WeightRef gate, up, down;  // per expert: [intermediate × hidden] twice, [hidden × intermediate]
  int n_experts = 0, n_used = 0, intermediate_size = 0;
  bool accumulate = false;
  Value out;
  static constexpr std::string_view kName = "experts";
};
// out (+)= sigmoid(gate_input·x) · down(silu(gate x) ⊙ up x); without gate_input the factor is 1.
struct SharedExpert {
  Value x;
  WeightRef gate, up, down;
  WeightRef gate_input;  // optional, [hidden]
  int intermediate_size = 0;
  bool accumulate = false;
  Value out;
  static constexpr std::string_view kName = "shared_expert";
};
// out = [a | b] by columns.
struct Concat {
  Value a, b, out;
  static constexpr std::string_view kName = "concat";
};
// out = the rows of x whose logits are wanted.
struct Select {
  Value x, out;
  static constexpr std::string_view kName = "select";
};
// x = cap · tanh(x / cap), in place.
struct Softcap {
  Value x;
  float cap = 0;
  static constexpr std::string_view kName = "softcap";
};

using Op = std::variant<Embed, Input, RmsNorm, Linear, Attention, ShortConv, GatedDelta, GatedNorm, Swiglu, Route,
                        Experts, SharedExpert, Concat, Select, Softcap>;

struct Program {
  std::string name;           // architecture, for messages
  std::vector<Op> ops;        // in order; no control flow
  std::vector<int> op_layer;  // layer of each op, −1 outside layers
  std::vector<ValueInfo> values;
  std::vector<WeightInfo> weights;  // the manifest
  std::vector<StateInfo> states;
  Value logits;  // [Outputs × vocab_size]
  Value hidden;  // post-norm rows of all tokens, where the program was built with them
  int n_layers = 0, hidden_size = 0, vocab_size = 0, context_length = 0;

  const ValueInfo& info(Value v) const { return values[v.id]; }
  const WeightInfo& info(WeightRef w) const { return weights[w.id]; }
  const StateInfo& info(StateRef s) const { return states[s.id]; }
};

inline std::string_view name_of(const Op& op) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kName; }, op);
}

}  // namespace tally::ops
