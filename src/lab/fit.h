// `tally lab fit`: fixed and per-token cost of one target, or of two (M6, M7, M8).
#pragma once

#include <string>
#include <vector>

#include "lab/def_fit.h"
#include "lab/measuring.h"

namespace tally::lab {

struct FitArgs {
  MeasureArgs measure;
  std::string target = "tally", against;  // against: the old curve, "" for one curve
  std::vector<int> lengths{128, 256, 512, 1024};
  std::vector<int> held_out;  // empty: one below the range, one inside
  int rounds = 5;
  int inner = 3;            // runs in a row, of which the median is the round\'s value
  bool generation = false;  // generated tokens in place of prompt tokens
  double tolerance = 0.10;  // of the held-out check
};

// Medians over rounds as (tokens, ms); the tokens are those that were really read.
std::vector<def::Point> points_of(const std::vector<std::vector<Measurement>>& by_shape);

// Lengths that are measured but not fitted: half of the shortest (when that is 8 or more) and the middle of the widest
// gap.
std::vector<int> default_held_out(const std::vector<int>& lengths);

// Writes a block "fit" per target and, with two, "slowdown" and "crossing". old: null for one curve.
void run_fit(const FitArgs& args, Target& target, Target* old, Output& output);

}  // namespace tally::lab
