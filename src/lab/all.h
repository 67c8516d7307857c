// `tally lab all`: everything about one model in the order in which it can be trusted: what it is and where, whether it
// computes rightly (with a fault that must be found), what the same program shows against itself, cold and sustained
// speed, fixed and per-token cost, where the time goes, what a dispatch costs, energy, and the time of a task.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/def_agent.h"
#include "lab/measuring.h"

namespace tally::lab {

struct AllArgs {
  MeasureArgs measure;
  int prompt = 256, gen = 32;
  int rounds = 9;
  double max_spread = 1.25;
  int verify_tokens = 16;  // the reference is slow
  double rest_s = 10, duration_s = 30;
  std::vector<int> lengths{128, 256, 512, 1024};
  double target_prompt = 0, target_decode = 0;  // tok/s wanted; 0: none
  std::vector<def::Turn> turns{{2000, 25}, {1000, 250}};
  std::string endpoint;  // of a server, for the real agent task; "": only the task by rates
};

// Writes the blocks of all parts. A part that fails leaves its block "not valid" with the reason, and the rest goes on;
// exit status 1 when the correctness gate fails.
void run_all(const AllArgs& args, Output& output);

// Parts of their own; the others are those of the commands.
Block fingerprint_block(const AllArgs& args);
// A against A in alternated rounds: a block "null" for reading and one for writing.
void run_null(const AllArgs& args, Output& output);

}  // namespace tally::lab
