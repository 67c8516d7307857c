// Perplexity of a text under a model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/engine.h"

namespace tally::app {

struct PerplexityResult {
  double nll_sum = 0;  // Σ −ln p over the scored positions
  int64_t n_scored = 0;
  int n_windows = 0;
  double perplexity() const;
};

// Windows of `ctx` consecutive tokens, each from an empty sequence; every position but a window's first is scored. With
// bos ≥ 0 each window is bos and ctx − 1 tokens. n_windows: the first so many; 0: all full ones. Error when the text is
// shorter than one window.
PerplexityResult perplexity(runtime::Engine& engine, std::span<const int32_t> tokens, int ctx, int n_windows,
                            int32_t bos, const std::function<void(int done, int total)>& on_progress);

}  // namespace tally::app
