// What the machine can do (M15), without a model.
#pragma once

#include <string>

#include "lab/output.h"

namespace tally::lab {

struct LimitsOptions {
  int n_threads = 0;                       // 0: all physical cores in reach
  size_t largest_set = size_t(512) << 20;  // bytes of the largest working set
  bool store = true;                       // keep the results where other commands find them (app/limits.h)
};

// Nanoseconds of one inert dispatch through a team: a virtual call, the barrier, and worker 0's clock read; without the
// clock read and the call: the barrier alone; and of starting a team on an empty body and waiting for it.
struct DispatchCosts {
  double dispatch_ns = 0, barrier_ns = 0, team_run_ns = 0;
};
DispatchCosts measure_dispatch(int n_threads);

// Blocks "limits.bandwidth", "limits.multiply" and "limits.dispatch".
void run_limits(const LimitsOptions& options, Output& out);

}  // namespace tally::lab
