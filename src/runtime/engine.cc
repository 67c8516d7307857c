#include "runtime/engine.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "models/registry.h"
#include "models/weights.h"

namespace tally::runtime {

namespace {

// Logits of one step are kept to this much memory; a chunk with more wanted rows is cut.
constexpr int64_t kLogitBytesMax = int64_t(512) << 20;

int bucket_of(int n_tokens, int chunk) {
  for (int b : {1, 8, 64, 512, 2048, 4096})
    if (n_tokens <= b) return std::max(n_tokens, std::min(b, std::max(chunk, 8)));
  return n_tokens;
}

}  // namespace

Engine::Engine(const gguf::File& file, const EngineOptions& options) : file_(file), options_(options) {
  if (options.n_draft < 0 || options.n_draft > kMaxDraft)
    fail(ErrorCode::Usage, "at most {} tokens can be drafted per step, not {}", kMaxDraft, options.n_draft);
  if (options.chunk < 1 || options.chunk > 1 << 16)
    fail(ErrorCode::Usage, "--chunk is {}, expected 1 to {}", options.chunk, 1 << 16);
  models::ModelSource source = models::source_of(file);
  bool want_mtp = options.n_draft > 0 || options.with_mtp;
  if (want_mtp) mtp_ = models::build_mtp_program(source);
  if (want_mtp && !mtp_)
    fail(ErrorCode::BadInput,
         "{}: has no multi-token-prediction block (key \"{}.nextn_predict_layers\"), so nothing can be drafted",
         file.path(), file.metadata().architecture());
  program_ = models::build_program(source, {.hidden_rows = want_mtp});
  weights_ = models::bind_weights(*program_, file);
  if (mtp_) mtp_weights_ = models::bind_weights(*mtp_, file);
  context_length_ =
      options.context_length > 0 ? options.context_length : std::min(program_->context_length, kDefaultContext);
  if (context_length_ > program_->context_length * 8)
    fail(ErrorCode::Usage, "--ctx {} is far beyond the model's context of {} tokens", context_length_,
         program_->context_length);
  backend_ = backend::make_backend(options.device, {options.n_threads, options.isa, options.ledger});
  device_ = backend_->info();
  int n_pages = (context_length_ + ops::kPageTokens - 1) / ops::kPageTokens * options.n_sequences;
  int n_slots = options.n_sequences * (1 + options.n_draft);
  state_ = backend_->make_state(*program_, {n_slots, n_pages, options.exact});
  if (mtp_) mtp_state_ = backend_->make_state(*mtp_, {n_slots, n_pages, options.exact});
  slots_ = std::make_unique<Pool>(n_slots);
  pages_ = std::make_unique<Pool>(n_pages);
}

Engine::~Engine() = default;

uint64_t Engine::state_bytes_per_slot() const { return state_->bytes_per_slot(); }
uint64_t Engine::state_bytes_per_page() const {
  return state_->bytes_per_page() + (mtp_state_ ? mtp_state_->bytes_per_page() : 0);
}

Sequence Engine::open() {
  if (slots_->n_free() < 1 + options_.n_draft)
    fail(ErrorCode::Resources, "all {} sequences are in use", options_.n_sequences);
  Sequence s;
  s.slot = slots_->take();
  for (int i = 0; i < options_.n_draft; ++i) s.spare_slots.push_back(slots_->take());
  state_->clear_slot(s.slot);
  if (mtp_) s.last_hidden.assign(program_->hidden_size, 0.f);
  return s;
}

void Engine::close(Sequence& s) {
  if (s.slot < 0) return;
  slots_->release(s.slot);
  for (int slot : s.spare_slots) slots_->release(slot);
  for (int page : s.pages) pages_->release(page);
  s = Sequence{};
}

backend::Plan& Engine::plan_for(bool mtp, int n_tokens) {
  int bucket = bucket_of(n_tokens, options_.chunk);
  auto& plan = plans_[{mtp, bucket, options_.instruments}];
  if (!plan) {
    plan = backend_->compile(mtp ? *mtp_ : *program_, mtp ? mtp_weights_ : weights_, mtp ? *mtp_state_ : *state_,
                             {bucket, bucket, options_.exact, options_.forced_kernels, options_.instruments});
    if (options_.trace_plans) fmt::print(stderr, "plan for {} rows{}:\n{}", bucket, mtp ? " (MTP)" : "", plan->text());
  }
  return *plan;
}

void Engine::add_pages(Sequence& s, size_t n_tokens) {
  size_t total = s.tokens.size() + n_tokens, n_pages = (total + ops::kPageTokens - 1) / ops::kPageTokens;
  if (total > size_t(context_length_))
    fail(ErrorCode::Resources,
         "the context of {} tokens is full ({} wanted); choose a larger --ctx (the model was made for {})",
         context_length_, total, program_->context_length);
  while (s.pages.size() < n_pages) {
    int page = pages_->take();
    if (page < 0) fail(ErrorCode::Resources, "all {} pages of the cache are in use", pages_->size());
    s.pages.push_back(page);
  }
}

void Engine::check_tokens(const Sequence& s, std::span<const int32_t> tokens) const {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= program_->vocab_size)
      fail(ErrorCode::BadInput, "token id {} at position {} is outside the vocabulary of {} tokens", tokens[i],
           s.tokens.size() + i, program_->vocab_size);
}

namespace {

// Adds a run of tokens of one sequence to a batch.
void add_segment(ops::Batch& b, const Sequence& s, int first_position, std::span<const int32_t> tokens) {
  if (b.segment_start.empty()) b.segment_start.push_back(0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    b.tokens.push_back(tokens[i]);
    b.positions.push_back(first_position + static_cast<int>(i));
  }
  b.n_tokens += static_cast<int>(tokens.size());
  b.segment_start.push_back(b.n_tokens);
  b.slot.push_back(s.slot);
  b.context_len.push_back(first_position);
  ++b.n_segments;
}

void set_page_table(ops::Batch& b, std::span<const Sequence* const> sequences) {
  for (const Sequence* s : sequences) b.max_pages = std::max<int>(b.max_pages, s->pages.size());
  b.page_table.assign(sequences.size() * b.max_pages, 0);
  for (size_t i = 0; i < sequences.size(); ++i)
    std::copy(sequences[i]->pages.begin(), sequences[i]->pages.end(), &b.page_table[i * b.max_pages]);
}

}  // namespace

Rows Engine::step(std::span<const Segment> segments) {
  ops::Batch b;
  std::vector<const Sequence*> sequences;
  bool any_checkpoint = false;
  for (const Segment& seg : segments) {
    check_tokens(*seg.sequence, seg.tokens);
    add_pages(*seg.sequence, seg.tokens.size());
    int first = b.n_tokens;
    add_segment(b, *seg.sequence, static_cast<int>(seg.sequence->tokens.size()), seg.tokens);
    for (int i : seg.outputs) b.output_row.push_back(first + i);
    any_checkpoint |= !seg.checkpoints.empty();
    sequences.push_back(seg.sequence);
  }
  b.n_outputs = static_cast<int>(b.output_row.size());
  set_page_table(b, sequences);
  if (any_checkpoint)
    for (const Segment& seg : segments) {
      std::vector<int> c = seg.checkpoints.empty() ? std::vector<int>(seg.tokens.size(), -1) : seg.checkpoints;
      b.checkpoint_slot.insert(b.checkpoint_slot.end(), c.begin(), c.end());
    }
  backend::Plan& plan = plan_for(false, b.n_tokens);
  backend::StepOutput out = backend_->run(plan, b);
  n_dispatches_ += plan.steps().size();
  hidden_ = {out.hidden, program_->hidden_size};
  for (const Segment& seg : segments)
    seg.sequence->tokens.insert(seg.sequence->tokens.end(), seg.tokens.begin(), seg.tokens.end());
  return {out.logits, program_->vocab_size};
}

Rows Engine::step_mtp(Sequence& s, int first_position, std::span<const int32_t> tokens, const float* inputs,
                      std::span<const int> outputs, std::vector<float>* hidden) {
  CHECK(mtp_.has_value());
  ops::Batch b;
  add_segment(b, s, first_position, tokens);
  b.output_row.assign(outputs.begin(), outputs.end());
  b.n_outputs = static_cast<int>(outputs.size());
  b.input = inputs;
  const Sequence* sequence = &s;
  set_page_table(b, {&sequence, 1});
  backend::Plan& plan = plan_for(true, b.n_tokens);
  backend::StepOutput out = backend_->run(plan, b);
  n_dispatches_ += plan.steps().size();
  if (hidden) hidden->assign(out.hidden, out.hidden + size_t(b.n_tokens) * program_->hidden_size);
  return {out.logits, mtp_->vocab_size};
}

// The block's input at a position is its token and the trunk's post-norm row of the position before.
void Engine::run_mtp_after(Sequence& s, std::span<const int32_t> tokens, int first_position,
                           std::span<const int> wanted, const OnRow& on_draft) {
  size_t n = program_->hidden_size;
  std::vector<float> inputs(s.last_hidden);
  inputs.insert(inputs.end(), hidden_.data, hidden_.data + (tokens.size() - 1) * n);
  s.last_hidden.assign(hidden_.data + (tokens.size() - 1) * n, hidden_.data + tokens.size() * n);
  Rows rows = step_mtp(s, first_position, tokens, inputs.data(), on_draft ? wanted : std::span<const int>{}, nullptr);
  if (on_draft)
    for (size_t i = 0; i < wanted.size(); ++i) on_draft(wanted[i], rows.row(static_cast<int>(i)));
}

void Engine::consume(Sequence& s, std::span<const int32_t> tokens, std::span<const int> wanted, const OnRow& on_logits,
                     const OnRow& on_draft) {
  int64_t rows_max = std::max<int64_t>(1, kLogitBytesMax / (int64_t(program_->vocab_size) * 4));
  size_t at = 0, next = 0;
  while (at < tokens.size()) {
    size_t n = std::min<size_t>(options_.chunk, tokens.size() - at);
    std::vector<int> outputs;
    size_t end = next;
    while (end < wanted.size() && size_t(wanted[end]) < at + n && int64_t(outputs.size()) < rows_max)
      outputs.push_back(wanted[end++] - int(at));
    if (end < wanted.size() && size_t(wanted[end]) < at + n)
      n = wanted[end] - at;  // more rows than fit: the rest in the next chunk
    int first_position = static_cast<int>(s.tokens.size());
    Segment segment{&s, tokens.subspan(at, n), outputs, {}};
    Rows rows = step({&segment, 1});
    for (size_t i = 0; i < outputs.size(); ++i) on_logits(int(at) + outputs[i], rows.row(static_cast<int>(i)));
    if (mtp_) {
      OnRow shifted =
          on_draft ? OnRow([&](int i, std::span<const float> row) { on_draft(int(at) + i, row); }) : OnRow();
      run_mtp_after(s, tokens.subspan(at, n), first_position, outputs, shifted);
    }
    at += n;
    next = end;
  }
}

std::span<const float> Engine::decode(Sequence& s, int32_t token) {
  Segment segment{&s, {&token, 1}, {0}, {}};
  Rows rows = step({&segment, 1});
  if (mtp_) {
    // The MTP plan has its own arena: the trunk's logits stay valid.
    run_mtp_after(s, {&token, 1}, static_cast<int>(s.tokens.size()) - 1, {}, nullptr);
  }
  return rows.row(0);
}

void Engine::truncate(Sequence& s, size_t n_tokens, int spare) {
  CHECK(n_tokens <= s.tokens.size(), "{} of {}", n_tokens, s.tokens.size());
  s.tokens.resize(n_tokens);
  if (spare >= 0) std::swap(s.slot, s.spare_slots[spare]);
  size_t n_pages = (n_tokens + ops::kPageTokens - 1) / ops::kPageTokens;
  while (s.pages.size() > n_pages) {
    pages_->release(s.pages.back());
    s.pages.pop_back();
  }
}

}  // namespace tally::runtime
