// `tally lab bench`: prefill, decode, depth and batch grid of one target.
#pragma once

#include <string>

#include "lab/measuring.h"

namespace tally::lab {

struct BenchArgs {
  MeasureArgs measure;
  ShapeArgs shapes;
  std::string target = "tally";
  int rounds = 5;
  bool no_machine = false;  // leave out what takes time and disturbs: hash of the weights, bandwidth, energy
};

// Writes the samples and the blocks "bench" and "machine".
void run_bench(const BenchArgs& args, Target& target, Output& output);

}  // namespace tally::lab
