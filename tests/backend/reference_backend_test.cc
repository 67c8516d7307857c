// The reference backend beyond logits: batches of several sequences, checkpoints, state that moves, observers, ledger.
#include "backend/reference/reference_backend.h"

#include "base/error.h"
#include "golden/golden_model.h"

#include <algorithm>

namespace tally::test {
namespace {

class ReferenceBackendTest : public ::testing::Test {
 protected:
  void open(const std::string& name, ledger::Ledger* ledger = nullptr) {
    model_ = std::make_unique<GoldenModel>(load_golden(name, *golden_folder(name)));
    program_ = models::build_program(models::source_of(model_->file));
    weights_ = models::bind_weights(program_, model_->file);
    backend_ = reference::make_reference_backend({.ledger = ledger});
    state_ = backend_->make_state(program_, {.n_slots = 4, .n_pages = 8});
    plan_ = backend_->compile(program_, weights_, *state_, {.max_tokens = 128, .max_outputs = 128});
  }
  std::vector<float> run(const ops::Batch& batch, backend::Observer* observer = nullptr) {
    backend::StepOutput out = backend_->run(*plan_, batch, observer);
    return {out.logits, out.logits + int64_t(batch.n_outputs) * program_.vocab_size};
  }
  // n tokens of the sequence of 200, from `from` on, in a slot and pages of one's own; logits of the last.
  ops::Batch part(int from, int n, int slot, int first_page) const {
    ops::Batch b = ops::single_segment(n, from, 1);
    const auto& tokens = model_->sequence(200).tokens;
    b.tokens.assign(tokens.begin() + from, tokens.begin() + from + n);
    b.slot = {slot};
    for (int32_t& page : b.page_table) page += first_page;
    return b;
  }

  std::unique_ptr<GoldenModel> model_;
  ops::Program program_;
  ops::Weights weights_;
  std::unique_ptr<backend::Backend> backend_;
  std::unique_ptr<backend::State> state_;
  std::unique_ptr<backend::Plan> plan_;
};

// One batch of two: segments keep their order, page tables are widened to the larger.
ops::Batch join(const ops::Batch& a, const ops::Batch& b) {
  ops::Batch j = a;
  j.n_tokens += b.n_tokens, j.n_segments += b.n_segments, j.n_outputs += b.n_outputs;
  auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(j.tokens, b.tokens), append(j.positions, b.positions), append(j.slot, b.slot);
  append(j.context_len, b.context_len);
  j.segment_start.push_back(a.n_tokens + b.n_tokens);
  for (int row : b.output_row) j.output_row.push_back(a.n_tokens + row);
  j.max_pages = std::max(a.max_pages, b.max_pages);
  j.page_table.resize(j.max_pages, -1);
  append(j.page_table, b.page_table);
  j.page_table.resize(2 * j.max_pages, -1);
  return j;
}

TEST_F(ReferenceBackendTest, NeighboursInABatchDoNotMatter) {
  open("qwen35moe");
  run(part(0, 70, 0, 0));
  std::vector<float> decode = run(part(70, 1, 0, 0)), prefill = run(part(0, 9, 1, 4));
  for (int slot : {2, 3}) state_->clear_slot(slot);
  run(part(0, 70, 2, 2));
  std::vector<float> both = run(join(part(70, 1, 2, 2), part(0, 9, 3, 5)));
  decode.insert(decode.end(), prefill.begin(), prefill.end());
  EXPECT_EQ(both, decode);
}

TEST_F(ReferenceBackendTest, CheckpointsRollBack) {
  for (const char* name : {"qwen35moe", "lfm2"}) {
    open(name);
    run(part(0, 10, 0, 0));
    ops::Batch verify = part(10, 3, 0, 0);
    verify.checkpoint_slot = {1, -1, 2};  // after token 10 into slot 1
    run(verify);
    std::vector<float> rolled_back = run(part(11, 1, 1, 0));
    state_->clear_slot(0);
    run(part(0, 11, 0, 0));
    EXPECT_EQ(run(part(11, 1, 0, 0)), rolled_back) << name;
    EXPECT_EQ(run(part(13, 1, 2, 0)).size(), size_t(program_.vocab_size));
  }
}

TEST_F(ReferenceBackendTest, SavedSlotsAndPagesContinueElsewhere) {
  open("qwen35moe");
  run(part(0, 20, 0, 0));
  std::vector<uint8_t> slot(state_->bytes_per_slot()), page(state_->bytes_per_page());
  state_->save_slot(0, slot), state_->save_page(0, page);
  std::vector<float> expected = run(part(20, 1, 0, 0));
  state_->load_slot(3, slot), state_->load_page(6, page);
  EXPECT_EQ(run(part(20, 1, 3, 6)), expected);
  state_->load_slot(2, slot), state_->copy_slot(2, 1), state_->copy_page(6, 7);
  EXPECT_EQ(run(part(20, 1, 1, 7)), expected);
  state_->clear_slot(1);
  EXPECT_NE(run(part(20, 1, 1, 7)), expected);
}

struct Recorder : backend::Observer {
  const ops::Program* program = nullptr;
  int n_calls = 0, zero_op = -1;
  void after_op(int op, ops::Value value, std::span<float> values) override {
    ++n_calls;
    EXPECT_EQ(values.size() % program->info(value).cols, 0u);
    for (float v : values) EXPECT_TRUE(std::isfinite(v)) << "op " << op;
    if (op == zero_op) std::fill(values.begin(), values.end(), 0.f);
  }
};

TEST_F(ReferenceBackendTest, ObserversSeeAndChangeEveryValue) {
  open("llama");
  std::vector<float> plain = run(part(0, 5, 0, 0));
  Recorder recorder;
  recorder.program = &program_;
  EXPECT_EQ(run(part(0, 5, 0, 0), &recorder), plain);
  EXPECT_EQ(recorder.n_calls, int(program_.ops.size()));
  recorder.zero_op = 0;  // the embedding
  std::vector<float> zero = run(part(0, 5, 0, 0), &recorder);
  EXPECT_EQ(zero, std::vector<float>(program_.vocab_size, 0.f));
}

TEST_F(ReferenceBackendTest, LedgerKnowsEveryDispatch) {
  ledger::Ledger ledger;
  open("qwen35moe", &ledger);
  run(part(0, 5, 0, 0));
  run(part(5, 1, 0, 0));
  EXPECT_EQ(ledger.n_dispatches(), 2 * program_.ops.size());
  ASSERT_EQ(ledger.plans().size(), 1u);
  uint64_t bytes = 0;
  for (const ledger::StepTotal& total : ledger.plans()[0].totals) bytes += total.bytes;
  // One token chooses two experts; five chose between two and six.
  ops::Cost one = ops::decode_cost(program_, weights_, 5);
  EXPECT_GT(bytes, 2 * one.bytes());
  EXPECT_NE(plan_->text().find("recurrence"), std::string::npos);
}

TEST_F(ReferenceBackendTest, ForcedKernelsMustExist) {
  open("llama");
  auto compile = [&](const char* forced) {
    backend_->compile(program_, weights_, *state_, {.max_tokens = 1, .forced = forced});
  };
  EXPECT_NO_THROW(compile("linear=reference,attention=reference"));
  EXPECT_THROW(compile("linear=reference,attention=fast"), Error);
}

}  // namespace
}  // namespace tally::test
