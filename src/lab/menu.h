// `tally lab menu`: several models side by side (M20, M21): rates, energy, memory, and what a task of given turns
// takes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/def_agent.h"
#include "lab/target.h"

namespace tally::lab {

class EnergyMeter;

struct MenuArgs {
  std::vector<std::string> models;
  std::string target = "tally";  // each model runs in it
  int prompt = 512, gen = 64;
  int rounds = 6;  // per model, half of them in the second pass
  std::vector<def::Turn> turns{{2000, 25}, {1000, 250}};
  double tools_s = 0;
  double max_spread = 1.25;  // of the rounds, 5 % to 95 %; beyond, a model has no numbers
  double timeout_s = 1800;
  int n_threads = 0;
  uint64_t seed = 1;
};

// "2000:25,1000:250": tokens in and out of each turn. Error (Usage) otherwise.
std::vector<def::Turn> parse_turns(const std::string& text);

// What was found of one model.
struct MenuRow {
  std::string model, weights_sha256;
  std::vector<double> prefill, decode;             // tok/s, one a round
  bool lower_bound = false;                        // of the prefill rate
  double joules = 0, joule_tokens = 0, watts = 0;  // while decoding; 0: not known
  std::optional<uint64_t> memory;                  // bytes: weights, state for the task's tokens, activations
  std::string problem;                             // why it has no numbers
};

// Block "menu": one row a model, the best of each column is not named where intervals overlap; and where two models
// trade places, at how many output tokens per input token.
Block menu_block(const MenuArgs& args, const std::vector<MenuRow>& rows, const std::string& why_no_energy);

// Measures the models one at a time, in order and then in reverse (so that a drifting machine favours none), never two
// engines at once. A model that fails has its reason in its row. open: as open_target, other in tests.
using OpenTarget = std::function<std::unique_ptr<Target>(const std::string& spec, const TargetOptions& options)>;
// One model alone, all rounds in one pass; Errors as the target has them.
MenuRow measure_menu_row(const MenuArgs& args, const std::string& model, EnergyMeter& energy, Output& output,
                         const OpenTarget& open = open_target);
void run_menu(const MenuArgs& args, Output& output, const OpenTarget& open = open_target);

}  // namespace tally::lab
