// Tables of cos and sin for the rotary embeddings of a model, computed in double once per position and shared by all
// layers with the same settings. They grow by whole pages of positions before a step runs, never inside it.
#pragma once

#include <memory>
#include <vector>

#include "ops/op.h"
#include "ops/weights.h"

namespace tally::cpu {

struct RopeTable {
  ops::Rope rope;
  std::vector<double> frequency;                // [dim / 2], before YaRN's blend
  std::vector<double> ramp;                     // [dim / 2], YaRN only
  std::vector<std::unique_ptr<float[]>> pages;  // each [64][cos: dim / 2 | sin: dim / 2]

  const float* cos_of(int position) const { return &pages[position / 64][(position % 64) * rope.dim]; }
  const float* sin_of(int position) const { return cos_of(position) + rope.dim / 2; }
};

class RopeCache {
 public:
  // The table for these settings (shared when equal); stays valid for the cache's life.
  const RopeTable* table(const ops::Rope& rope, const ops::Weights& weights);
  // Makes all tables reach `position`. Not during a step.
  void grow(int position);

 private:
  std::vector<std::unique_ptr<RopeTable>> tables_;
};

}  // namespace tally::cpu
