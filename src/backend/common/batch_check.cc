#include "backend/common/batch_check.h"

#include <algorithm>

#include "base/error.h"

namespace tally::backend {
namespace {

template <typename... Args>
void require(bool good, fmt::format_string<Args...> format, Args&&... args) {
  if (!good) fail(ErrorCode::Internal, "batch: {}", fmt::format(format, std::forward<Args>(args)...));
}

void require_index(const char* field, int64_t i, int64_t value, int64_t n) {
  require(value >= 0 && value < n, "{}[{}] is {}, expected 0 to {}", field, i, value, n - 1);
}

template <typename Op>
bool has_op(const ops::Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const ops::Op& op) { return std::holds_alternative<Op>(op); });
}

bool has_state(const ops::Program& program, ops::StateKind kind) {
  return std::any_of(program.states.begin(), program.states.end(),
                     [kind](const ops::StateInfo& s) { return s.kind == kind; });
}

void check_sizes(const ops::Batch& b, const BatchSizes& sizes) {
  require(b.n_tokens >= 1 && b.n_tokens <= sizes.max_tokens, "n_tokens is {}, expected 1 to {}", b.n_tokens,
          sizes.max_tokens);
  require(b.n_segments >= 1 && b.n_segments <= b.n_tokens, "n_segments is {}, expected 1 to {}", b.n_segments,
          b.n_tokens);
  require(b.n_outputs >= 0 && b.n_outputs <= sizes.max_outputs, "n_outputs is {}, expected 0 to {}", b.n_outputs,
          sizes.max_outputs);
  auto holds = [](const auto& array, int64_t n, const char* field) {
    require(int64_t(array.size()) >= n, "{} has {} entries, expected {}", field, array.size(), n);
  };
  holds(b.tokens, b.n_tokens, "tokens");
  holds(b.positions, b.n_tokens, "positions");
  holds(b.segment_start, b.n_segments + 1, "segment_start");
  holds(b.slot, b.n_segments, "slot");
  holds(b.context_len, b.n_segments, "context_len");
  require(b.max_pages >= 0, "max_pages is {}, expected at least 0", b.max_pages);
  holds(b.page_table, int64_t(b.n_segments) * b.max_pages, "page_table");
  holds(b.output_row, b.n_outputs, "output_row");
  if (!b.checkpoint_slot.empty()) holds(b.checkpoint_slot, b.n_tokens, "checkpoint_slot");
}

void check_segments(const ops::Batch& b) {
  require(b.segment_start[0] == 0 && b.segment_start[b.n_segments] == b.n_tokens,
          "segments span tokens {} to {}, expected 0 to {}", b.segment_start[0], b.segment_start[b.n_segments],
          b.n_tokens);
  for (int s = 0; s < b.n_segments; ++s) require(b.segment_start[s] < b.segment_start[s + 1], "segment {} is empty", s);
  for (int s = 0; s < b.n_segments; ++s) {
    require(b.context_len[s] >= 0, "context_len[{}] is {}, expected at least 0", s, b.context_len[s]);
    for (int t = b.segment_start[s]; t < b.segment_start[s + 1]; ++t) {
      int64_t expected = int64_t(b.context_len[s]) + t - b.segment_start[s];
      require(b.positions[t] == expected, "positions[{}] is {}, expected {}", t, b.positions[t], expected);
    }
  }
}

void check_slots(const ops::Batch& b, int n_slots) {
  std::vector<int32_t> used(b.slot.begin(), b.slot.begin() + b.n_segments);
  for (int s = 0; s < b.n_segments; ++s) require_index("slot", s, b.slot[s], n_slots);
  for (int t = 0; t < b.n_tokens; ++t)
    if (b.checkpoint(t) != -1) require_index("checkpoint_slot", t, b.checkpoint(t), n_slots);
  std::sort(used.begin(), used.end());
  auto twice = std::adjacent_find(used.begin(), used.end());
  require(twice == used.end(), "slot {} belongs to two segments", twice == used.end() ? 0 : *twice);
}

void check_pages(const ops::Batch& b, int n_pages) {
  for (int s = 0; s < b.n_segments; ++s) {
    int64_t end = int64_t(b.context_len[s]) + b.segment_length(s);
    int64_t needed = (end + ops::kPageTokens - 1) / ops::kPageTokens;
    require(needed <= b.max_pages, "segment {} needs {} pages, the page table has {}", s, needed, b.max_pages);
    for (int64_t i = 0; i < needed; ++i)
      require_index("page_table", s * b.max_pages + i, b.page_table[s * b.max_pages + i], n_pages);
  }
}

}  // namespace

void check_batch(const ops::Program& program, const ops::Batch& batch, const BatchSizes& sizes) {
  check_sizes(batch, sizes);
  check_segments(batch);
  if (has_op<ops::Embed>(program))
    for (int t = 0; t < batch.n_tokens; ++t) require_index("tokens", t, batch.tokens[t], program.vocab_size);
  if (has_op<ops::Input>(program)) require(batch.input != nullptr, "input is missing");
  for (int m = 0; m < batch.n_outputs; ++m) require_index("output_row", m, batch.output_row[m], batch.n_tokens);
  if (has_state(program, ops::StateKind::Slot)) check_slots(batch, sizes.n_slots);
  if (has_state(program, ops::StateKind::Pages)) check_pages(batch, sizes.n_pages);
}

}  // namespace tally::backend
