// A model with exact logits (tests/data/tiny/README.md says the format), and running it on a backend.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "gguf/gguf.h"
#include "models/registry.h"
#include "models/weights.h"
#include "ops/cost.h"
#include "support.h"

namespace tally::test {

inline const std::vector<std::string>& golden_names() {
  static const std::vector<std::string> names{"qwen35moe",  "qwen35",      "qwen35-r3-mtp", "qwen3moe", "qwen3",
                                              "qwen3-yarn", "qwen2",       "llama",         "gemma3",   "lfm2",
                                              "lfm2moe",    "bailingmoe2", "llama3-rope",   "qwen3-q",  "qwen35moe-q"};
  return names;
}

// Names as GoogleTest likes them.
inline std::string golden_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// In the repository, or in the shared data; null when in neither.
inline std::optional<std::filesystem::path> golden_folder(const std::string& name) {
  std::filesystem::path own = std::filesystem::path(TALLY_SOURCE_DIR) / "tests" / "data" / "tiny";
  if (std::filesystem::exists(own / (name + ".gguf"))) return own;
  if (auto shared = shared_data(); shared && std::filesystem::exists(*shared / "data/golden/tiny" / (name + ".gguf")))
    return *shared / "data/golden/tiny";
  return std::nullopt;
}

inline std::vector<float> read_floats(const std::filesystem::path& path) {
  std::vector<uint8_t> bytes = read_file(path);
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

struct GoldenSequence {
  std::vector<int32_t> tokens;
  std::vector<int> positions;
  int first_row = 0;
};

struct GoldenModel {
  std::string name;
  nlohmann::json json;
  gguf::File file;
  int n_vocab = 0;
  double bound = 0;  // largest |Δlogit| of an engine with float32 activations
  std::vector<GoldenSequence> sequences;
  std::vector<float> logits, mtp_logits, state;

  const GoldenSequence& sequence(size_t n_tokens) const {
    for (const GoldenSequence& s : sequences)
      if (s.tokens.size() == n_tokens) return s;
    throw std::runtime_error("no sequence of that length");
  }
};

inline GoldenModel load_golden(const std::string& name, const std::filesystem::path& folder) {
  auto path = [&](const std::string& suffix) { return folder / (name + suffix); };
  std::vector<uint8_t> text = read_file(path(".json"));
  GoldenModel m{.name = name,
                .json = nlohmann::json::parse(text.begin(), text.end()),
                .file = gguf::File::open(path(".gguf").string())};
  m.n_vocab = m.json["n_vocab"];
  m.bound = m.json["bound_max_abs"];
  for (const auto& s : m.json["sequences"]) m.sequences.push_back({s["tokens"], s["positions"], s["first_row"]});
  m.logits = read_floats(path(".logits.bin"));
  if (m.json.contains("mtp")) m.mtp_logits = read_floats(path(".mtp.bin"));
  if (m.json.contains("state")) m.state = read_floats(path(".state.bin"));
  return m;
}

// One sequence on one backend: a program, its state, and a plan that takes chunks of any size up to max_tokens.
class Runner {
 public:
  Runner(backend::Backend& backend, const gguf::File& file, ops::Program program, int max_tokens, bool exact = true)
      : backend_(backend), program_(std::move(program)), weights_(models::bind_weights(program_, file)) {
    int n_pages = (kMaxContext + ops::kPageTokens - 1) / ops::kPageTokens;
    state_ = backend.make_state(program_, {.n_slots = 2, .n_pages = n_pages, .exact = exact});
    plan_ = backend.compile(program_, weights_, *state_,
                            {.max_tokens = max_tokens, .max_outputs = max_tokens, .exact = exact});
  }

  // Appends to logits (and hidden, where the program has it) the rows of all tokens. input: rows for the op `input`.
  void feed(std::span<const int32_t> tokens, const float* input = nullptr) {
    ops::Batch batch = ops::single_segment(int(tokens.size()), n_fed_, int(tokens.size()));
    batch.tokens.assign(tokens.begin(), tokens.end());
    batch.input = input;
    backend::StepOutput out = backend_.run(*plan_, batch);
    n_fed_ += int(tokens.size());
    logits.insert(logits.end(), out.logits, out.logits + tokens.size() * program_.vocab_size);
    if (out.hidden) hidden.insert(hidden.end(), out.hidden, out.hidden + tokens.size() * program_.hidden_size);
  }
  void feed_in_chunks(std::span<const int32_t> tokens, size_t chunk) {
    for (size_t i = 0; i < tokens.size(); i += chunk) feed(tokens.subspan(i, std::min(chunk, tokens.size() - i)));
  }
  void restart() {
    n_fed_ = 0;
    logits.clear(), hidden.clear();
    state_->clear_slot(0);
  }
  // Forgets the last n tokens (of a program without recurrent state).
  void take_back(int n) { n_fed_ -= n; }
  const float* last_logits() const { return logits.data() + logits.size() - program_.vocab_size; }
  const float* last_hidden() const { return hidden.data() + hidden.size() - program_.hidden_size; }
  int greedy() const {
    return int(std::max_element(last_logits(), last_logits() + program_.vocab_size) - last_logits());
  }
  backend::State& state() { return *state_; }
  const ops::Program& program() const { return program_; }

  std::vector<float> logits, hidden;  // of all tokens fed

 private:
  static constexpr int kMaxContext = 256;
  backend::Backend& backend_;
  ops::Program program_;
  ops::Weights weights_;
  std::unique_ptr<backend::State> state_;
  std::unique_ptr<backend::Plan> plan_;
  int n_fed_ = 0;
};

// Largest |difference| of the stored rows of a sequence from `logits` ([tokens × vocabulary]).
inline double max_difference(const GoldenSequence& s, const std::vector<float>& golden,
                             const std::vector<float>& logits, int n_vocab) {
  double worst = 0;
  for (size_t i = 0; i < s.positions.size(); ++i)
    for (int v = 0; v < n_vocab; ++v) {
      double d = std::abs(double(golden[(s.first_row + i) * n_vocab + v]) -
                          double(logits[int64_t(s.positions[i]) * n_vocab + v]));
      if (!(d <= worst)) worst = d;  // NaN stays
    }
  return worst;
}

// MTP rows of a whole sequence: its tokens and the trunk's hidden rows, shifted by one.
inline std::vector<float> shifted_hidden(const std::vector<float>& hidden, int hidden_size) {
  std::vector<float> out(hidden.size(), 0.f);
  std::copy(hidden.begin(), hidden.end() - hidden_size, out.begin() + hidden_size);
  return out;
}

}  // namespace tally::test
