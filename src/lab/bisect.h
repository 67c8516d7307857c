// `tally lab bisect`: an ordered list of versions with the same weights: which step got slower (M9).
#pragma once

#include <string>
#include <vector>

#include "lab/def_bisect.h"
#include "lab/measuring.h"
#include "lab/stats_bootstrap.h"

namespace tally::lab {

struct BisectArgs {
  MeasureArgs measure;
  std::vector<std::string> steps;  // targets, oldest first
  int prompt = 256, gen = 32;      // 0: that phase is left out
  int rounds = 8;
  int inner = 3;            // runs in a row, of which the median is the round\'s value
  bool search = false;      // measure the ends, then halve, in place of all versions
  bool one_by_one = false;  // each version alone, as in articles; its steps are "not paired"
};

// One step of the paired view: ratio of the newer to the older version's rate, round by round.
struct PairedStep {
  stats::RatioInterval ratio;  // its level is corrected for the number of steps (Bonferroni)
  bool named = false;          // the interval excludes 1 and the change is more than 2 %
};

// What the rounds of a phase say. rates: [version][round], all of one session (or of one session each when not paired).
struct BisectPhase {
  std::string phase;  // "prefill", "decode"
  std::vector<def::VersionRate> versions;
  def::Bisect steps;               // M9, on rates from which the rounds' common part is divided out
  std::vector<PairedStep> paired;  // [steps], empty when not paired
  // Steps that are named, by M9 or by the paired interval, worst drop first.
  std::vector<int> named;
};
BisectPhase bisect_phase(const std::string& phase, const std::vector<std::string>& names,
                         const std::vector<std::vector<double>>& rates, bool paired);

void run_bisect(const BisectArgs& args, const std::vector<std::unique_ptr<Target>>& targets, Output& output);

}  // namespace tally::lab
