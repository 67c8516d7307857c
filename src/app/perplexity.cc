#include "app/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace tally::app {

namespace {

double log_probability(std::span<const float> logits, int32_t token) {
  double top = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float x : logits) sum += std::exp(double(x) - top);
  return double(logits[token]) - top - std::log(sum);
}

}  // namespace

double PerplexityResult::perplexity() const { return n_scored ? std::exp(nll_sum / n_scored) : 0; }

PerplexityResult perplexity(runtime::Engine& engine, std::span<const int32_t> tokens, int ctx, int n_windows,
                            int32_t bos, const std::function<void(int, int)>& on_progress) {
  if (ctx < 2) fail(ErrorCode::Usage, "--ctx is {}, expected at least 2", ctx);
  size_t fresh = bos >= 0 ? ctx - 1 : ctx;  // tokens of the text per window
  int available = static_cast<int>(tokens.size() / fresh);
  if (available == 0)
    fail(ErrorCode::BadInput, "the text has {} tokens, one window needs {}; use a longer text or a smaller --ctx",
         tokens.size(), fresh);
  int n = n_windows > 0 ? std::min(n_windows, available) : available;
  std::vector<int> wanted(ctx - 1);
  std::iota(wanted.begin(), wanted.end(), 0);
  PerplexityResult result;
  for (int w = 0; w < n; ++w) {
    std::vector<int32_t> window(ctx, bos);
    std::copy_n(tokens.begin() + w * fresh, fresh, window.end() - fresh);
    runtime::Sequence s = engine.open();
    engine.consume(s, window, wanted, [&](int i, std::span<const float> logits) {
      result.nll_sum -= log_probability(logits, window[i + 1]);
      ++result.n_scored;
    });
    engine.close(s);
    on_progress(w + 1, n);
  }
  result.n_windows = n;
  return result;
}

}  // namespace tally::app
