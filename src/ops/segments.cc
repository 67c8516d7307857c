#include "ops/segments.h"

#include <array>

namespace tally::ops {
namespace {

struct Named {
  std::string_view weight, segment;
};

// By what follows "blk.<layer>." in the weight's name.
constexpr std::array kProjections{
    Named{"attn_q.weight", "qkv (attention)"},
    Named{"attn_k.weight", "qkv (attention)"},
    Named{"attn_v.weight", "qkv (attention)"},
    Named{"attn_gate.weight", "z"},
    Named{"ssm_alpha.weight", "alpha/beta"},
    Named{"ssm_beta.weight", "alpha/beta"},
    Named{"attn_output.weight", "output projection"},
    Named{"ssm_out.weight", "output projection"},
    Named{"shortconv.in_proj.weight", "conv projection"},
    Named{"shortconv.out_proj.weight", "output projection"},
    Named{"ffn_gate.weight", "ffn gate/up"},
    Named{"ffn_up.weight", "ffn gate/up"},
    Named{"ffn_down.weight", "ffn down"},
    Named{"nextn.eh_proj.weight", "mtp projection"},
    Named{"nextn.shared_head_head.weight", "head"},
    Named{"output.weight", "head"},
    Named{"token_embd.weight", "head"},
};

std::string_view linear_segment(const WeightInfo& w) {
  std::string_view name = w.name;
  if (name.starts_with("blk.")) name.remove_prefix(std::min(name.find('.', 4), name.size() - 1) + 1);
  // Attention takes a fused projection in three ranges of rows, the delta net as a whole.
  if (name == "attn_qkv.weight") return w.out == w.file_out ? "qkv (delta)" : "qkv (attention)";
  for (const Named& n : kProjections)
    if (n.weight == name) return n.segment;
  return "projection";
}

struct SegmentOf {
  const Program& program;
  std::string_view operator()(const Linear& o) const { return linear_segment(program.info(o.w)); }
  std::string_view operator()(const Embed&) const { return "embedding"; }
  std::string_view operator()(const Input&) const { return "input"; }
  std::string_view operator()(const RmsNorm&) const { return "norm"; }
  std::string_view operator()(const Attention&) const { return "attention"; }
  std::string_view operator()(const ShortConv&) const { return "conv"; }
  std::string_view operator()(const GatedDelta&) const { return "recurrence"; }
  std::string_view operator()(const GatedNorm&) const { return "gated norm"; }
  std::string_view operator()(const Swiglu&) const { return "ffn activation"; }
  std::string_view operator()(const Route&) const { return "router"; }
  std::string_view operator()(const Experts&) const { return "expert gate/up/down"; }
  std::string_view operator()(const SharedExpert&) const { return "shared expert"; }
  std::string_view operator()(const Concat&) const { return "concat"; }
  std::string_view operator()(const Select&) const { return "select"; }
  std::string_view operator()(const Softcap&) const { return "softcap"; }
};

}  // namespace

std::string_view segment_name(const Program& program, int op) {
  return std::visit(SegmentOf{program}, program.ops[op]);
}

}  // namespace tally::ops
