// Models that every clone has, and engines over them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "gguf/gguf.h"
#include "runtime/engine.h"

namespace tally::test {

inline std::string bundled() { return std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf"; }

// The bundled model and the tiny random ones of tests/data/tiny: one of each kind of architecture.
inline std::vector<std::string> all_models() {
  std::vector<std::string> out{bundled()};
  for (const auto& e : std::filesystem::directory_iterator(std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny"))
    if (e.path().extension() == ".gguf") out.push_back(e.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

struct Opened {
  explicit Opened(const std::string& path, runtime::EngineOptions options = {}) : file(gguf::File::open(path)) {
    if (options.n_threads == 0) options.n_threads = 2;
    if (options.context_length == 0) options.context_length = 512;
    engine = std::make_unique<runtime::Engine>(file, options);
  }
  gguf::File file;
  std::unique_ptr<runtime::Engine> engine;
};

inline std::vector<int32_t> random_tokens(int n, int vocab_size, uint64_t seed) {
  std::vector<int32_t> out(n);
  for (int i = 0; i < n; ++i) out[i] = static_cast<int32_t>(random_u64(seed, i) % vocab_size);
  return out;
}

// Logits after every token, concatenated.
inline std::vector<float> all_logits(runtime::Engine& engine, std::span<const int32_t> tokens) {
  runtime::Sequence s = engine.open();
  std::vector<int> wanted(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) wanted[i] = static_cast<int>(i);
  std::vector<float> out;
  engine.consume(s, tokens, wanted,
                 [&](int, std::span<const float> row) { out.insert(out.end(), row.begin(), row.end()); });
  engine.close(s);
  return out;
}

}  // namespace tally::test
