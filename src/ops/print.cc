#include "ops/print.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "ops/fields.h"

namespace tally::ops {
namespace {

std::string text_of(Value v, const Program& p) { return v ? fmt::format("{}#{}", p.info(v).name, v.id) : ""; }
std::string text_of(StateRef s, const Program& p) { return s ? p.info(s).name : ""; }
std::string text_of(WeightRef w, const Program& p) {
  if (!w) return "";
  const WeightInfo& info = p.info(w);
  if (info.out == info.file_out) return info.name;
  return fmt::format("{}[{}:{}]", info.name, info.row_begin, info.row_begin + info.out);
}
std::string text_of(float x, const Program&) { return fmt::format("{}", x); }
std::string text_of(int x, const Program&) { return fmt::format("{}", x); }
std::string text_of(bool x, const Program&) { return x ? "yes" : "no"; }
std::string text_of(RopeLayout x, const Program&) {
  return x == RopeLayout::None ? "none" : x == RopeLayout::Interleaved ? "interleaved" : "half_split";
}
std::string text_of(ConvKind x, const Program&) { return x == ConvKind::Silu ? "silu" : "gated"; }
std::string text_of(Activation x, const Program&) { return x == Activation::Silu ? "silu" : "gelu_tanh"; }
std::string text_of(RouteScore x, const Program&) { return x == RouteScore::Softmax ? "softmax" : "sigmoid"; }

template <typename O>
std::string print_op(const O& op, const Program& program) {
  std::vector<std::string> defaults;
  fields(O{}, [&](std::string_view, const auto& field) { defaults.push_back(text_of(field, program)); });
  std::string line = fmt::format("{:<13}", O::kName);
  size_t i = 0;
  fields(op, [&](std::string_view name, const auto& field) {
    std::string text = text_of(field, program);
    if (text != defaults[i++]) line += fmt::format(" {}={}", name, text);
  });
  return line;
}

}  // namespace

std::string print(const Op& op, const Program& program) {
  return std::visit([&](const auto& o) { return print_op(o, program); }, op);
}

std::string print(const Program& program) {
  std::string text;
  for (const Op& op : program.ops) text += print(op, program) + "\n";
  return text;
}

uint64_t program_hash(const Program& p) {
  std::string text = fmt::format("{} {} {} {} {} {} {}\n", p.name, p.n_layers, p.hidden_size, p.vocab_size,
                                 p.context_length, p.logits.id, p.hidden.id);
  text += print(p);
  for (const ValueInfo& v : p.values) text += fmt::format("{} {} {}\n", v.name, int(v.rows), v.cols);
  for (const WeightInfo& w : p.weights)
    text += fmt::format("{} {} {} {} {} {}\n", w.name, w.in, w.out, w.experts, w.row_begin, w.file_out);
  for (const StateInfo& s : p.states)
    text += fmt::format("{} {} {} {}\n", s.name, int(s.kind), s.n_kv_heads, s.head_dim);
  return hash_bytes(text.data(), text.size());
}

}  // namespace tally::ops
