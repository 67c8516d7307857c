// Runs sequences of a model: builds batches, keeps pages and slots, and runs the plans of the trunk and, where there is
// one, of the multi-token-prediction (MTP) block.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backend/backend.h"
#include "gguf/gguf.h"
#include "ops/op.h"
#include "ops/weights.h"
#include "runtime/pools.h"

namespace tally::runtime {

struct EngineOptions {
  std::string device = "cpu";
  int n_threads = 0;       // 0: all physical cores in reach
  std::string isa;         // "": the best
  int context_length = 0;  // tokens per sequence; 0: the model's, at most kDefaultContext
  int chunk = 512;         // prompt tokens per step
  int n_sequences = 1;
  int n_draft = 0;  // most drafted tokens per step (needs an MTP block); at most kMaxDraft
  bool exact = false;
  bool with_mtp = false;       // run the MTP block even without drafting (its logits are wanted)
  std::string forced_kernels;  // op=kernel,…
  ledger::Ledger* ledger = nullptr;
  bool trace_plans = false;          // print each plan to standard error when it is compiled
  backend::Instruments instruments;  // for measurement only
};
inline constexpr int kDefaultContext = 32768;
inline constexpr int kMaxDraft =
    7;  // a verified segment stays within kMaxExactColumns rows, where products do not depend on their number

// One request being served: what it has consumed and where its state lies.
struct Sequence {
  std::vector<int32_t> tokens;  // consumed, position = index
  std::vector<int> pages;       // in order of position
  int slot = -1;
  std::vector<int> spare_slots;    // [n_draft] for checkpoints of a verified segment
  std::vector<float> last_hidden;  // post-norm row of the last consumed token (MTP's input); zero at the start
};

// A part of a sequence that a step shall consume.
struct Segment {
  Sequence* sequence = nullptr;
  std::span<const int32_t> tokens;
  std::vector<int> outputs;      // indices within tokens whose logits are wanted
  std::vector<int> checkpoints;  // [tokens] or empty: slots for the state after each token (−1: none)
};

// Rows of the last step; valid until the next.
struct Rows {
  const float* data = nullptr;
  int cols = 0;
  std::span<const float> row(int i) const { return {data + int64_t(i) * cols, size_t(cols)}; }
};

class Engine {
 public:
  // The file must outlive the engine. Errors: unknown architecture, bad tensors, too little memory, bad options.
  Engine(const gguf::File& file, const EngineOptions& options);
  ~Engine();

  const ops::Program& program() const { return *program_; }
  const ops::Program* mtp_program() const { return mtp_ ? &*mtp_ : nullptr; }
  const ops::Weights& weights() const { return weights_; }
  const ops::Weights& mtp_weights() const { return mtp_weights_; }
  const backend::DeviceInfo& device() const { return device_; }
  const EngineOptions& options() const { return options_; }
  int context_length() const { return context_length_; }
  int vocab_size() const { return program_->vocab_size; }
  backend::State& state() { return *state_; }
  uint64_t state_bytes_per_slot() const;
  uint64_t state_bytes_per_page() const;

  // A fresh sequence holding a slot; Error (Resources) when all are taken.
  Sequence open();
  void close(Sequence& sequence);

  // Consumes the segments in one step; logits rows in the order of segments and their outputs. Segments' tokens are
  // appended to their sequences. Error when a token id is out of range or the context is full.
  Rows step(std::span<const Segment> segments);

  // Consumes tokens in chunks; calls on_logits(index in tokens, logits) for each wanted index (ascending). When
  // on_draft is set, also the MTP block's row at that index.
  using OnRow = std::function<void(int index, std::span<const float> logits)>;
  void consume(Sequence& sequence, std::span<const int32_t> tokens, std::span<const int> wanted, const OnRow& on_logits,
               const OnRow& on_draft = nullptr);
  // Consumes one token and returns its logits.
  std::span<const float> decode(Sequence& sequence, int32_t token);

  // MTP: runs the block over tokens at positions first, first + 1, …; inputs: [tokens × hidden_size]. Logits for the
  // rows in `outputs`. hidden (if not null) receives the block's own post-norm rows.
  Rows step_mtp(Sequence& sequence, int first_position, std::span<const int32_t> tokens, const float* inputs,
                std::span<const int> outputs, std::vector<float>* hidden);
  // Takes pages for n more tokens of a sequence. Error when the context or the pool is full.
  void reserve(Sequence& sequence, size_t n_tokens) { add_pages(sequence, n_tokens); }
  bool drafting() const { return options_.n_draft > 0; }
  // Takes a sequence back to `n_tokens` consumed tokens; its recurrent state is then that of spare_slots[spare] (−1: it
  // stays).
  void truncate(Sequence& sequence, size_t n_tokens, int spare);
  // The post-norm rows of the last trunk step.
  Rows hidden() const { return hidden_; }

  // Snapshots: slot, pages and tokens of a sequence as bytes, and back into a fresh sequence (this model only).
  std::vector<uint8_t> save(const Sequence& sequence) const;
  Sequence restore(std::span<const uint8_t> snapshot);
  void save_file(const Sequence& sequence, const std::string& path) const;
  // Error when the file is damaged, of another model, program or cache type.
  Sequence restore_file(const std::string& path);

  uint64_t n_dispatches() const { return n_dispatches_; }

  // For measurement only: from now on steps run plans with these instruments (compiled on first use, each with memory
  // of its own).
  void instrument(const backend::Instruments& instruments) { options_.instruments = instruments; }

 private:
  backend::Plan& plan_for(bool mtp, int n_tokens);
  void add_pages(Sequence& sequence, size_t n_tokens);
  void check_tokens(const Sequence& sequence, std::span<const int32_t> tokens) const;
  void run_mtp_after(Sequence& sequence, std::span<const int32_t> tokens, int first_position,
                     std::span<const int> wanted, const OnRow& on_draft);
  uint64_t model_hash() const;

  const gguf::File& file_;
  EngineOptions options_;
  int context_length_ = 0;
  std::optional<ops::Program> program_, mtp_;
  ops::Weights weights_, mtp_weights_;
  std::unique_ptr<backend::Backend> backend_;
  backend::DeviceInfo device_;
  std::unique_ptr<backend::State> state_, mtp_state_;
  using PlanKey = std::tuple<bool, int, backend::Instruments>;  // MTP, rows
  std::map<PlanKey, std::unique_ptr<backend::Plan>> plans_;
  std::unique_ptr<Pool> slots_, pages_;
  Rows hidden_;
  uint64_t n_dispatches_ = 0;
};

}  // namespace tally::runtime
