#include "ops/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/fields.h"

namespace tally::ops {
namespace {

// What the operations beside products of matrices count, per element.
constexpr uint64_t kNormFlops = 4;        // square, add, scale, weight
constexpr uint64_t kActivationFlops = 5;  // exponential, add, divide, two products
constexpr uint64_t kRecurrenceFlops =
    7;  // per element of the delta net's state: decay 1, and 2 for each of three steps

// How many positions the first n tokens of a sequence see together.
uint64_t visible_pairs(uint64_t n, int window) {
  uint64_t full = window > 0 ? std::min<uint64_t>(n, window) : n;  // tokens that see all before them
  return full * (full + 1) / 2 + (n - full) * uint64_t(window);
}

struct CostOf {
  const Program& program;
  const Weights& weights;
  const Batch& batch;
  int n_distinct_experts;
  bool exact;

  uint64_t rows(Value v) const { return program.info(v).rows == Rows::Tokens ? batch.n_tokens : batch.n_outputs; }
  uint64_t elements(Value v) const { return rows(v) * program.info(v).cols; }
  uint64_t bytes(WeightRef w) const { return w ? weights.views[w.id].bytes_per_expert() : 0; }
  uint64_t macs(WeightRef w) const { return uint64_t(program.info(w).in) * program.info(w).out; }

  Cost operator()(const Embed& o) const {
    return {.weight_bytes = uint64_t(batch.n_tokens) * weights.views[o.w.id].row_bytes,
            .flops = o.scale == 1.f ? 0 : elements(o.out)};
  }
  Cost operator()(const Input&) const { return {}; }
  Cost operator()(const RmsNorm& o) const {
    return {.weight_bytes = bytes(o.w), .flops = kNormFlops * elements(o.x) + (o.accumulate ? elements(o.x) : 0)};
  }
  Cost operator()(const Linear& o) const {
    uint64_t adds = (o.bias ? 1 : 0) + (o.accumulate ? 1 : 0);
    return {.weight_bytes = bytes(o.w) + bytes(o.bias), .flops = rows(o.x) * 2 * macs(o.w) + adds * elements(o.out)};
  }
  Cost operator()(const Attention& o) const {
    Cost c{.weight_bytes = bytes(o.q_norm) + bytes(o.k_norm) + bytes(o.rope.divisors)};
    uint64_t position_bytes = 2 * uint64_t(program.info(o.pages).elements()) * (exact ? 4 : 2);
    for (int s = 0; s < batch.n_segments; ++s) {
      int64_t context = batch.context_len[s], n = batch.segment_length(s);
      int64_t first = o.window > 0 ? std::max<int64_t>(0, context - o.window + 1) : 0;
      c.state_bytes += position_bytes * (context + n - first + n);  // visible ones read, new ones written
      uint64_t pairs = visible_pairs(context + n, o.window) - visible_pairs(context, o.window);
      c.flops += 4 * uint64_t(o.n_heads) * o.head_dim * pairs;
    }
    uint64_t heads = uint64_t(batch.n_tokens) * (o.n_heads + o.n_kv_heads);
    if (o.q_norm) c.flops += kNormFlops * heads * o.head_dim;
    c.flops += 3 * heads * o.rope.dim;
    if (o.gated) c.flops += kActivationFlops * elements(o.out);
    return c;
  }
  // Read and written once per segment; each checkpoint is one more copy.
  uint64_t slot_bytes(StateRef s) const {
    auto used = [](int slot) { return slot >= 0; };
    uint64_t copies = std::count_if(batch.checkpoint_slot.begin(), batch.checkpoint_slot.end(), used);
    return 4 * uint64_t(program.info(s).elements()) * (2 * uint64_t(batch.n_segments) + copies);
  }
  Cost operator()(const ShortConv& o) const {
    uint64_t per_channel = 2 * o.taps + (o.kind == ConvKind::Silu ? kActivationFlops : 2);
    return {.weight_bytes = bytes(o.w),
            .state_bytes = slot_bytes(o.state),
            .flops = uint64_t(batch.n_tokens) * o.channels * per_channel};
  }
  Cost operator()(const GatedDelta& o) const {
    uint64_t state = program.info(o.state).elements();
    uint64_t norms = kNormFlops * 2 * o.n_k_heads * o.head_dim;
    return {.weight_bytes = bytes(o.a) + bytes(o.dt_bias),
            .state_bytes = slot_bytes(o.state),
            .flops = uint64_t(batch.n_tokens) * (kRecurrenceFlops * state + norms)};
  }
  Cost operator()(const GatedNorm& o) const {
    return {.weight_bytes = bytes(o.w), .flops = (kNormFlops + kActivationFlops) * elements(o.x)};
  }
  Cost operator()(const Swiglu& o) const { return {.flops = kActivationFlops * elements(o.out)}; }
  Cost operator()(const Route& o) const {
    return {.weight_bytes = bytes(o.w) + bytes(o.bias),
            .flops = rows(o.x) * (2 * macs(o.w) + kActivationFlops * o.n_experts)};
  }
  Cost operator()(const Experts& o) const {
    uint64_t per_expert = bytes(o.gate) + bytes(o.up) + bytes(o.down);
    double distinct = n_distinct_experts;
    if (n_distinct_experts < 0)
      distinct = o.n_experts * (1 - std::pow(1 - double(o.n_used) / o.n_experts, double(rows(o.x))));
    uint64_t each = 2 * (macs(o.gate) + macs(o.up) + macs(o.down)) + kActivationFlops * o.intermediate_size +
                    2 * uint64_t(program.info(o.out).cols);
    return {.weight_bytes = uint64_t(std::llround(distinct * double(per_expert))),
            .flops = rows(o.x) * o.n_used * each};
  }
  Cost operator()(const SharedExpert& o) const {
    uint64_t each = 2 * (macs(o.gate) + macs(o.up) + macs(o.down)) + kActivationFlops * o.intermediate_size +
                    2 * uint64_t(program.info(o.out).cols) + (o.gate_input ? 2 * macs(o.gate_input) : 0);
    return {.weight_bytes = bytes(o.gate) + bytes(o.up) + bytes(o.down) + bytes(o.gate_input),
            .flops = rows(o.x) * each};
  }
  Cost operator()(const Concat&) const { return {}; }
  Cost operator()(const Select&) const { return {}; }
  Cost operator()(const Softcap& o) const { return {.flops = kActivationFlops * elements(o.x)}; }

  // Values read once and written once, float32; the row of `select` counts where it is taken.
  uint64_t activations(const Op& op) const {
    uint64_t n = 0;
    const auto* linear = std::get_if<Linear>(&op);
    const auto* norm = std::get_if<RmsNorm>(&op);
    const auto* experts = std::get_if<Experts>(&op);
    const auto* shared = std::get_if<SharedExpert>(&op);
    bool accumulate = (linear && linear->accumulate) || (norm && norm->accumulate) ||
                      (experts && experts->accumulate) || (shared && shared->accumulate);
    if (const auto* select = std::get_if<Select>(&op)) return 4 * 2 * elements(select->out);
    if (const auto* cap = std::get_if<Softcap>(&op)) return 4 * 2 * elements(cap->x);
    values_of(op, [&](Value v, bool is_output) { n += elements(v) * (is_output && accumulate ? 2 : 1); });
    return 4 * n;
  }
};

// Rows that no one asked for cost nothing, their weights neither.
bool is_idle(const Op& op, const CostOf& of) {
  bool idle = false;
  values_of(op, [&](Value v, bool is_output) { idle |= is_output && of.rows(v) == 0; });
  return idle;
}

}  // namespace

Cost cost(const Op& op, const Program& program, const Weights& weights, const Batch& batch, int n_distinct_experts,
          bool exact) {
  CostOf of{program, weights, batch, n_distinct_experts, exact};
  if (is_idle(op, of)) return {};
  Cost c = std::visit(of, op);
  c.activation_bytes = of.activations(op);
  return c;
}

Cost cost(const Program& program, const Weights& weights, const Batch& batch, bool exact) {
  Cost sum;
  for (const Op& op : program.ops) sum += cost(op, program, weights, batch, -1, exact);
  return sum;
}

Batch single_segment(int n_tokens, int context_len, int n_outputs) {
  Batch b;
  b.n_tokens = n_tokens, b.n_segments = 1, b.n_outputs = n_outputs;
  b.tokens.assign(n_tokens, 0);
  b.positions.resize(n_tokens);
  std::iota(b.positions.begin(), b.positions.end(), context_len);
  b.segment_start = {0, n_tokens};
  b.slot = {0};
  b.context_len = {context_len};
  b.max_pages = (context_len + n_tokens + kPageTokens - 1) / kPageTokens;
  b.page_table.resize(b.max_pages);
  std::iota(b.page_table.begin(), b.page_table.end(), 0);
  b.output_row.resize(n_outputs);
  std::iota(b.output_row.begin(), b.output_row.end(), n_tokens - n_outputs);
  return b;
}

}  // namespace tally::ops
