// What the measuring commands share: their options, the tests they ask for, rounds in rotated order, and the lines that
// they write.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/engine_args.h"
#include "lab/machine.h"
#include "lab/target.h"

namespace tally::lab {

// Options of every command that measures targets on a model.
struct MeasureArgs {
  app::EngineArgs engine;  // MODEL and the engine's options
  std::string json;
  CLI::Option* json_option = nullptr;
  double timeout_s = 1800;
  uint64_t seed = 1;

  // model_required: false where targets may bring their own.
  void add_to(CLI::App& command, bool model_required);
  std::optional<std::string> json_to() const;  // as Output takes it
  TargetOptions target_options() const;
};

// -p, -n, -d, -b lists as llama-bench has them.
struct ShapeArgs {
  std::vector<int> prompts{512}, gens{128}, depths{0}, batches{1};
  void add_to(CLI::App& command, bool with_batches);
  // Prompts and generations at each depth, generations for each batch size too; 0 in a list leaves that kind out. Error
  // (Usage) when nothing is left, or a number is out of range.
  std::vector<TestShape> shapes() const;
};

// -k: how many runs in a row make a round's value (Rounds, below).
void add_inner(CLI::App& command, int& inner);

// The head that every measuring command writes: machine, model, hash of the weights, seed.
Json head_of(const MeasureArgs& args, const std::string& weights);

// What identifies a sample beyond its measurement.
struct SampleTag {
  std::string variant, phase = "warm";  // "cold" (first run), "warm", "sustained"
  int round = 0, position = 0;
};
Json sample_json(const TestShape& shape, const Measurement& m, const SampleTag& tag);

// One variant of a comparison.
struct Variant {
  std::string name;
  Target* target = nullptr;
};

// Rounds: in each, every variant measures every shape, in an order that rotates (permutation(n, round)). A round's
// value is the median of `inner` runs in a row, which keeps single disturbances out of it; all runs are written as
// samples. `of` is [variant][shape][round]. No round is dropped.
struct Rounds {
  std::vector<std::vector<std::vector<Measurement>>> of;
  MachineTrack machine;
};
Rounds measure_rounds(const std::vector<Variant>& variants, const std::vector<TestShape>& shapes, int rounds,
                      Output& output, int inner = 1);
// The measurement with the median time; of an even number the faster of the two. CHECK: not empty.
const Measurement& median_of(const std::vector<Measurement>& runs);

// Order of n variants in a round: every order in turn for up to four (AB, BA, AB …: with its neighbours ABBA), cyclic
// shifts and their mirror images beyond. Position 0 first.
std::vector<int> permutation(int n, int round);

// Same weights everywhere, or an Error (BadInput) that says which differ. Returns the hash ("" when none is known) and
// adds a note for targets whose weights cannot be known.
std::string require_same_weights(const std::vector<Variant>& variants, std::vector<std::string>* notes);

std::vector<double> rates_of(const std::vector<Measurement>& list);
std::vector<double> times_of(const std::vector<Measurement>& list);
bool any_lower_bound(const std::vector<Measurement>& list);
// "≥ 783.8" or "783.8"; four significant digits.
std::string rate_text(double rate, bool lower_bound);
// The block "machine" of a measurement.
Block machine_block(const MachineTrack& machine);
// Clocks of a track as judge() takes them: three, or none when one is not known.
std::vector<double> clocks_of(const MachineTrack& machine);

}  // namespace tally::lab
