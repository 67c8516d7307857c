// `tally synth`: models with the exact shapes of published ones and random weights, for timing and tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/progress.h"
#include "app/synth_sizes.h"
#include "app/synth_values.h"

namespace tally::app {

struct SynthOptions {
  std::string architecture, size;
  std::string types = "q4_k_m";  // a preset of quantize_rules.h
  std::string path;
  int n_layers = 0;  // of the trunk; 0: the size's own
  bool mtp = false;
  uint64_t seed = 1;
  int n_threads = 0;  // 0: all cores in reach
  ProgressMode progress = ProgressMode::Auto;
};

struct SynthResult {
  uint64_t bytes = 0, n_tensors = 0, n_parameters = 0;
  double seconds = 0;
};

// Writes the model; the file appears under its name only when it is complete. Errors: Usage (unknown architecture,
// size or types), Resources (the disk is too small), BadInput (the file cannot be created).
SynthResult synthesize(const SynthOptions& options);

// The tensors of such a model: those that its Programs ask for, with their types.
std::vector<SynthTensor> synth_tensors(const SynthShape& shape, const std::string& types);

}  // namespace tally::app
