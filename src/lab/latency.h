// The latency table (M19): unit costs of this very machine and model, from a loop iteration to a cold load.
#pragma once

#include "lab/probe.h"

namespace tally::lab {

struct TableOptions {
  int rounds = 9;
  int n_prompt = 64, n_gen = 16;
  double max_spread = 1.25;
  uint64_t seed = 1;
  size_t chase_bytes = size_t(256) << 20;  // memory that the chain of dependent reads goes through
};

// Block "table": unit costs with intervals, each as so many decoded tokens; block "table.savings": what saves less than
// one call. The engine is opened (cold) by this function.
void run_table(const app::EngineArgs& args, const TableOptions& options, Output& out);

}  // namespace tally::lab
