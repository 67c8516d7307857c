// A batch that is wrong in one place must be refused before anything runs, with that place named.
#include "backend/common/batch_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "ops/cost.h"

namespace tally::backend {
namespace {

ops::Program program() {
  ops::Program p;
  p.ops = {ops::Embed{}, ops::Input{}};
  p.states = {{"pages", ops::StateKind::Pages, 1, 4, 0}, {"slot", ops::StateKind::Slot, 1, 4, 0}};
  p.vocab_size = 10;
  return p;
}

constexpr BatchSizes kSizes{.max_tokens = 8, .max_outputs = 4, .n_slots = 3, .n_pages = 5};
const float kInput[8] = {};

// Two segments: tokens 0–2 at 62…64 (two pages), token 3 at 0.
ops::Batch good_batch() {
  ops::Batch b;
  b.n_tokens = 4, b.n_segments = 2, b.n_outputs = 2;
  b.tokens = {1, 2, 3, 9}, b.positions = {62, 63, 64, 0};
  b.segment_start = {0, 3, 4}, b.slot = {0, 2}, b.context_len = {62, 0};
  b.max_pages = 2, b.page_table = {4, 0, 1, -1};  // what lies behind the needed pages is not looked at
  b.output_row = {2, 3};
  b.input = kInput;
  return b;
}

std::string refusal(const std::function<void(ops::Batch&)>& spoil) {
  ops::Batch b = good_batch();
  spoil(b);
  try {
    check_batch(program(), b, kSizes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Internal);
    return e.what();
  }
  return "";
}

TEST(BatchCheck, GoodBatchesPass) {
  EXPECT_EQ(refusal([](ops::Batch&) {}), "");
  EXPECT_EQ(refusal([](ops::Batch& b) { b.n_outputs = 0; }), "");
  EXPECT_EQ(refusal([](ops::Batch& b) { b.checkpoint_slot = {-1, 1, -1, 2}; }), "");
}

TEST(BatchCheck, EachMistakeIsNamed) {
  const std::pair<const char*, std::function<void(ops::Batch&)>> cases[] = {
      {"n_tokens is 0", [](ops::Batch& b) { b.n_tokens = 0; }},
      {"n_tokens is 9", [](ops::Batch& b) { b.n_tokens = 9; }},
      {"n_segments is 5", [](ops::Batch& b) { b.n_segments = 5; }},
      {"n_outputs is 5", [](ops::Batch& b) { b.n_outputs = 5; }},
      {"tokens has 3 entries", [](ops::Batch& b) { b.tokens.pop_back(); }},
      {"segment_start has 2 entries", [](ops::Batch& b) { b.segment_start.pop_back(); }},
      {"page_table has 3 entries", [](ops::Batch& b) { b.page_table.pop_back(); }},
      {"checkpoint_slot has 1 entries", [](ops::Batch& b) { b.checkpoint_slot = {-1}; }},
      {"segments span",
       [](ops::Batch& b) {
         b.segment_start = {0, 3, 5};
       }},
      {"segment 1 is empty",
       [](ops::Batch& b) {
         b.segment_start = {0, 4, 4};
       }},
      {"context_len[1] is -1", [](ops::Batch& b) { b.context_len[1] = -1; }},
      {"positions[2] is 65, expected 64", [](ops::Batch& b) { b.positions[2] = 65; }},
      {"tokens[3] is 10, expected 0 to 9", [](ops::Batch& b) { b.tokens[3] = 10; }},
      {"tokens[0] is -1", [](ops::Batch& b) { b.tokens[0] = -1; }},
      {"input is missing", [](ops::Batch& b) { b.input = nullptr; }},
      {"output_row[1] is 4", [](ops::Batch& b) { b.output_row[1] = 4; }},
      {"slot[1] is 3, expected 0 to 2", [](ops::Batch& b) { b.slot[1] = 3; }},
      {"slot 0 belongs to two segments", [](ops::Batch& b) { b.slot[1] = 0; }},
      {"checkpoint_slot[1] is 3",
       [](ops::Batch& b) {
         b.checkpoint_slot = {-1, 3, -1, -1};
       }},
      {"segment 0 needs 2 pages, the page table has 1", [](ops::Batch& b) { b.max_pages = 1; }},
      {"page_table[1] is 5, expected 0 to 4", [](ops::Batch& b) { b.page_table[1] = 5; }},
  };
  for (const auto& [expected, spoil] : cases) {
    std::string message = refusal(spoil);
    EXPECT_TRUE(message.starts_with("batch: ")) << expected;
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tally::backend
