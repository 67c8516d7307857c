// The fields of each op, as f(name, field): printing, hashing, liveness and comparison walk these, so none lists them
// again. By convention `out` is what an op defines (and also reads, when `accumulate` is set); Softcap changes `x` in
// place.
#pragma once

#include "ops/op.h"

namespace tally::ops {

template <class F>
void fields(const Embed& o, F&& f) {
  f("w", o.w);
  f("scale", o.scale);
  f("out", o.out);
}
template <class F>
void fields(const Input& o, F&& f) {
  f("out", o.out);
}
template <class F>
void fields(const RmsNorm& o, F&& f) {
  f("x", o.x);
  f("w", o.w);
  f("eps", o.eps);
  f("accumulate", o.accumulate);
  f("out", o.out);
}
template <class F>
void fields(const Linear& o, F&& f) {
  f("x", o.x);
  f("w", o.w);
  f("bias", o.bias);
  f("accumulate", o.accumulate);
  f("out", o.out);
}
template <class F>
void fields(const Rope& o, F&& f) {
  f("rope", o.layout);
  f("rope_dim", o.dim);
  f("theta", o.theta);
  f("freq_scale", o.freq_scale);
  f("magnitude", o.magnitude);
  f("yarn", o.yarn);
  f("yarn_low", o.yarn_low);
  f("yarn_high", o.yarn_high);
  f("divisors", o.divisors);
}
template <class F>
void fields(const Attention& o, F&& f) {
  f("q", o.q);
  f("k", o.k);
  f("v", o.v);
  f("q_norm", o.q_norm);
  f("k_norm", o.k_norm);
  f("pages", o.pages);
  f("n_heads", o.n_heads);
  f("n_kv_heads", o.n_kv_heads);
  f("head_dim", o.head_dim);
  f("window", o.window);
  f("scale", o.scale);
  f("eps", o.eps);
  f("gated", o.gated);
  fields(o.rope, f);
  f("out", o.out);
}
template <class F>
void fields(const ShortConv& o, F&& f) {
  f("x", o.x);
  f("w", o.w);
  f("state", o.state);
  f("kind", o.kind);
  f("channels", o.channels);
  f("taps", o.taps);
  f("out", o.out);
}
template <class F>
void fields(const GatedDelta& o, F&& f) {
  f("qkv", o.qkv);
  f("alpha", o.alpha);
  f("beta", o.beta);
  f("a", o.a);
  f("dt_bias", o.dt_bias);
  f("state", o.state);
  f("n_k_heads", o.n_k_heads);
  f("n_v_heads", o.n_v_heads);
  f("head_dim", o.head_dim);
  f("eps", o.eps);
  f("out", o.out);
}
template <class F>
void fields(const GatedNorm& o, F&& f) {
  f("x", o.x);
  f("z", o.z);
  f("w", o.w);
  f("head_dim", o.head_dim);
  f("eps", o.eps);
  f("out", o.out);
}
template <class F>
void fields(const Swiglu& o, F&& f) {
  f("gate", o.gate);
  f("up", o.up);
  f("act", o.act);
  f("out", o.out);
}
template <class F>
void fields(const Route& o, F&& f) {
  f("x", o.x);
  f("w", o.w);
  f("bias", o.bias);
  f("score", o.score);
  f("n_experts", o.n_experts);
  f("n_used", o.n_used);
  f("n_groups", o.n_groups);
  f("n_groups_used", o.n_groups_used);
  f("normalize", o.normalize);
  f("scale", o.scale);
  f("out", o.out);
}
template <class F>
void fields(const Experts& o, F&& f) {
  f("x", o.x);
  f("route", o.route);
  f("gate", o.gate);
  f("up", o.up);
  f("down", o.down);
  f("n_experts", o.n_experts);
  f("n_used", o.n_used);
  f("intermediate_size", o.intermediate_size);
  f("accumulate", o.accumulate);
  f("out", o.out);
}
template <class F>
void fields(const SharedExpert& o, F&& f) {
  f("x", o.x);
  f("gate", o.gate);
  f("up", o.up);
  f("down", o.down);
  f("gate_input", o.gate_input);
  f("intermediate_size", o.intermediate_size);
  f("accumulate", o.accumulate);
  f("out", o.out);
}
template <class F>
void fields(const Concat& o, F&& f) {
  f("a", o.a);
  f("b", o.b);
  f("out", o.out);
}
template <class F>
void fields(const Select& o, F&& f) {
  f("x", o.x);
  f("out", o.out);
}
template <class F>
void fields(const Softcap& o, F&& f) {
  f("x", o.x);
  f("cap", o.cap);
}

// f(value, is_output) for every value that the op reads or writes.
template <class F>
void values_of(const Op& op, F&& f) {
  std::visit(
      [&](const auto& o) {
        fields(o, [&](std::string_view name, const auto& field) {
          if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Value>) {
            if (field) f(field, name == "out");
          }
        });
      },
      op);
}

// Whether the op adds to its result in place of setting it.
inline bool accumulates(const Op& op) {
  bool yes = false;
  std::visit(
      [&](const auto& o) {
        fields(o, [&](std::string_view name, const auto& field) {
          if constexpr (std::is_same_v<std::decay_t<decltype(field)>, bool>) yes |= name == "accumulate" && field;
        });
      },
      op);
  return yes;
}

// f(weight) for every weight that the op reads.
template <class F>
void weights_of(const Op& op, F&& f) {
  std::visit(
      [&](const auto& o) {
        fields(o, [&](std::string_view, const auto& field) {
          if constexpr (std::is_same_v<std::decay_t<decltype(field)>, WeightRef>) {
            if (field) f(field);
          }
        });
      },
      op);
}

}  // namespace tally::ops
