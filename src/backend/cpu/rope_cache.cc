#include "backend/cpu/rope_cache.h"

#include <algorithm>
#include <cmath>

namespace tally::cpu {

namespace {

bool same(const ops::Rope& a, const ops::Rope& b) {
  return a.layout == b.layout && a.dim == b.dim && a.theta == b.theta && a.freq_scale == b.freq_scale &&
         a.magnitude == b.magnitude && a.yarn == b.yarn && a.yarn_low == b.yarn_low && a.yarn_high == b.yarn_high &&
         a.divisors == b.divisors;
}

}  // namespace

const RopeTable* RopeCache::table(const ops::Rope& rope, const ops::Weights& weights) {
  for (const auto& t : tables_)
    if (same(t->rope, rope)) return t.get();
  auto table = std::make_unique<RopeTable>();
  table->rope = rope;
  std::vector<float> divisors(rope.dim / 2, 1.f);
  if (rope.divisors) weights.views[rope.divisors.id].dequantize_row(0, 0, divisors.data());
  for (int p = 0; p < rope.dim / 2; ++p) {
    table->frequency.push_back(std::pow(double(rope.theta), -2.0 * p / rope.dim) / divisors[p]);
    table->ramp.push_back(
        1.0 -
        std::clamp((p - double(rope.yarn_low)) / std::max(0.001, double(rope.yarn_high) - rope.yarn_low), 0.0, 1.0));
  }
  tables_.push_back(std::move(table));
  return tables_.back().get();
}

void RopeCache::grow(int position) {
  for (auto& t : tables_) {
    int half = t->rope.dim / 2;
    while (static_cast<int>(t->pages.size()) <= position / 64) {
      auto page = std::make_unique<float[]>(64 * t->rope.dim);
      for (int i = 0; i < 64; ++i) {
        double at = static_cast<double>(t->pages.size() * 64 + i);
        float* row = &page[i * t->rope.dim];
        for (int p = 0; p < half; ++p) {
          double angle = at * double(t->rope.freq_scale) * t->frequency[p];
          if (t->rope.yarn) angle = angle * (1.0 - t->ramp[p]) + at * t->frequency[p] * t->ramp[p];
          row[p] = float(std::cos(angle) * t->rope.magnitude);
          row[half + p] = float(std::sin(angle) * t->rope.magnitude);
        }
      }
      t->pages.push_back(std::move(page));
    }
  }
}

}  // namespace tally::cpu
