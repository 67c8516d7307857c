// Speculative decoding (M17): V(w), the time of a forward over w positions, without any draft model; break-even; then
// what the model's own draft block achieves.
#pragma once

#include "lab/probe.h"
#include "lab/target.h"

namespace tally::lab {

struct SpeculateOptions {
  std::vector<int> widths{1, 2, 3, 4, 5, 8};
  std::vector<int> drafts{1, 3};  // for the measured acceptance
  int depth = 64;                 // tokens before the forward
  int n_gen = 64;                 // tokens generated per measurement of acceptance
  int rounds = 9;
  double max_spread = 1.25;
  uint64_t seed = 1;
  std::string text;  // prose to continue; "": a built-in paragraph
};

// Blocks "speculate.width" and "speculate.acceptance". Opens its own engines.
void run_speculate(const app::EngineArgs& args, const SpeculateOptions& options, Output& out);

// Block "speculate.width" of another engine, as pp1, pp2, pp3 …; not valid for targets that cannot time them apart.
void run_speculate_target(Target& target, const std::string& spec, const SpeculateOptions& options, Output& out);

}  // namespace tally::lab
