// Which of the two costs of a line changed between two engines: paired rounds in, intervals and a name out. M7 names a
// shape from single curves; this says how sure that is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/stats_bootstrap.h"

namespace tally::lab {

struct CostChange {
  // Mean over rounds of new − old, and its interval (Student's t over rounds, 99 % each).
  double fixed_ms = 0, per_token_ms = 0;
  stats::Interval fixed_ci, per_token_ci;
  // Largest share of the old time that the change makes within the lengths: of the shortest, and of the longest one.
  double fixed_share = 0, per_token_share = 0;
  bool fixed_changed = false, per_token_changed = false;  // the interval excludes 0 and the share is above 2 %
  std::string named;                                      // "fixed", "per_token", "both", "none"
  std::string words;
};

// n: [lengths] tokens, at least two different; old_ms, new_ms: [lengths][rounds], at least three rounds, all > 0. Of
// each round the differences are fitted by a line with weights 1/old², as noise is a share of the time. Error
// otherwise.
CostChange cost_change(std::span<const double> n, const std::vector<std::vector<double>>& old_ms,
                       const std::vector<std::vector<double>>& new_ms);

}  // namespace tally::lab
