// Costs of single ops, counted by hand.
#include <gtest/gtest.h>

#include "ops/cost.h"

namespace tally::ops {
namespace {

// A Program of values and weights to cost ops in: values 0–2 of 8 columns, weight 0 of 8 × 8 in F16.
struct World {
  Program program;
  Weights weights;
  World() {
    for (Rows rows : {Rows::Tokens, Rows::Tokens, Rows::Outputs}) program.values.push_back({"v", rows, 8});
    program.weights.push_back({.name = "w", .in = 8, .out = 8, .file_out = 8});
    const quant::QuantType& f16 = quant::type_of(quant::TypeId::F16);
    weights.views.push_back({nullptr, &f16, 8, 8, 1, 16, 128});
    program.states.push_back({"pages", StateKind::Pages, 2, 4, 0});
    program.states.push_back({"slot", StateKind::Slot, 6, 2, 0});
  }
  Cost of(const Op& op, const Batch& batch, bool exact = false) const {
    return cost(op, program, weights, batch, -1, exact);
  }
};

TEST(Cost, Linear) {
  World w;
  Linear op{.x = {0}, .w = {0}, .out = {1}};
  Cost c = w.of(op, single_segment(3, 0, 1));
  EXPECT_EQ(c, (Cost{.weight_bytes = 128, .activation_bytes = 4 * 3 * 16, .flops = 3 * 128}));
  op.accumulate = true;  // the output is read too
  EXPECT_EQ(w.of(op, single_segment(3, 0, 1)),
            (Cost{.weight_bytes = 128, .activation_bytes = 4 * 3 * 24, .flops = 3 * 128 + 24}));
  Linear head{.x = {2}, .w = {0}, .out = {2}};
  EXPECT_EQ(w.of(head, single_segment(3, 0, 0)), Cost{});
}

TEST(Cost, EmbedReadsItsRowsOnly) {
  World w;
  EXPECT_EQ(w.of(Embed{.w = {0}, .out = {0}}, single_segment(5, 0, 0)).weight_bytes, 5u * 16);
}

Attention attention(int window) {
  Attention op{.q = {0}, .k = {0}, .v = {0}, .pages = {0}, .n_heads = 2, .n_kv_heads = 2, .head_dim = 4};
  op.window = window, op.out = {1};
  return op;
}

TEST(Cost, AttentionReadsWhatIsVisible) {
  World w;
  const uint64_t position = 2 * 8 * 2;  // K and V of 8 values, half precision
  Cost c = w.of(attention(0), single_segment(1, 9, 1));
  EXPECT_EQ(c.state_bytes, position * (10 + 1));
  EXPECT_EQ(c.flops, 4u * 2 * 4 * 10);
  EXPECT_EQ(w.of(attention(0), single_segment(1, 9, 1), true).state_bytes, 2 * position * 11);
  EXPECT_EQ(w.of(attention(0), single_segment(3, 2, 1)).flops, 4u * 2 * 4 * (3 + 4 + 5));
  Cost windowed = w.of(attention(4), single_segment(3, 2, 1));
  EXPECT_EQ(windowed.flops, 4u * 2 * 4 * (3 + 4 + 4));
  EXPECT_EQ(windowed.state_bytes, position * (5 + 3));
  EXPECT_EQ(w.of(attention(4), single_segment(1, 100, 1)).state_bytes, position * (4 + 1));
}

TEST(Cost, SlotsAreReadAndWrittenOncePerSegment) {
  World w;
  ShortConv op{.x = {0}, .w = {0}, .state = {1}, .channels = 8, .taps = 4, .out = {1}};
  Batch batch = single_segment(5, 0, 1);
  EXPECT_EQ(w.of(op, batch).state_bytes, 2u * 4 * 12);
  batch.checkpoint_slot = {-1, 2, -1, 3, -1};
  EXPECT_EQ(w.of(op, batch).state_bytes, 4u * 4 * 12);
}

TEST(Cost, SingleSegment) {
  Batch b = single_segment(3, 130, 2);
  EXPECT_EQ(b.positions, (std::vector<int32_t>{130, 131, 132}));
  EXPECT_EQ(b.output_row, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(b.max_pages, 3);
}

}  // namespace
}  // namespace tally::ops
