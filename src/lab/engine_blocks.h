// The measurements of an engine in this process, as functions that write their blocks: the commands of the same names
// call one each, and others may compose them.
#pragma once

#include <string>
#include <vector>

#include "lab/probe.h"

namespace tally::lab {

// M1, M2, M3, M15: blocks "explain.prompt" and "explain.decode".
struct ExplainOptions {
  int n_prompt = 128, n_gen = 32, depth = 0;  // 0 leaves out the prompt or the decode part
  int rounds = 9;
  double target_prompt = 0, target_decode = 0;  // tok/s; 0: none
};
void run_explain(Probe& probe, const ExplainOptions& options, Output& out);

// M4: block "slope"; M5: blocks "dispatch_cost.prompt" and "dispatch_cost.decode".
struct SlopeOptions {
  std::vector<int> lengths{16, 64, 128, 256};
  std::vector<double> inert{0.5, 1, 2};  // extra dispatches per dispatch; 0 is always among them
  int n_prompt = 64, n_gen = 16, depth = 0;
  int rounds = 9;
};
void run_slope(Probe& probe, const SlopeOptions& options, Output& out);

// M10: blocks "ablate.prompt" and "ablate.decode".
struct AblateOptions {
  std::vector<std::string> components;  // empty: all that the model has
  int n_prompt = 64, n_gen = 16, depth = 0;
  int rounds = 9;
};
void run_ablate(Probe& probe, const AblateOptions& options, Output& out);

// M16: block "batch". The probe must have room for max(batches) sequences.
struct BatchOptions {
  std::vector<int> batches{1, 2, 4, 8};
  int n_prompt = 32, n_gen = 16;
  int rounds = 9;
};
void run_batch(Probe& probe, const BatchOptions& options, Output& out);

}  // namespace tally::lab
