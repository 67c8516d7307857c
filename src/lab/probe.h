// An engine in this process under measurement: workloads, alternated rounds, and what its ledger says of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine_args.h"
#include "app/explain.h"
#include "lab/output.h"

namespace tally::lab {

// What commands with an engine share.
struct EngineCommand {
  app::EngineArgs engine;
  std::optional<std::string> json;
  int rounds = 9;
  double max_spread = 1.25;
  uint64_t seed = 1;
  std::vector<std::string> argv;

  void add_to(CLI::App& command);
  // -p, -n and -d of commands that time a prompt part and a decode part.
  static void add_parts(CLI::App& command, int& n_prompt, int& n_gen, int& depth);
  // The head of the output: weights, machine, engine settings, seed.
  Json head() const;
};

// Reading n_prompt random tokens into a fresh sequence, or generating n_gen tokens greedily after `depth` random ones
// (exactly one of the two is positive).
struct Work {
  int n_prompt = 0, n_gen = 0, depth = 0;
  int n_tokens() const { return n_prompt + n_gen; }
  std::string name() const;  // pp512, tg128, tg128@d4096
};

class Probe {
 public:
  // context: most tokens that a sequence will hold. Error when the model does not fit, or the context is too small.
  Probe(const app::EngineArgs& args, int context, int n_sequences = 1, uint64_t seed = 1);

  runtime::Engine& engine() { return *open_->engine; }
  ledger::Ledger& ledger() { return open_->ledger; }
  const gguf::File& file() const { return open_->file; }

  std::vector<int32_t> random_ids(int n, uint64_t salt = 0) const;
  // A sequence with `depth` random tokens in it (from a snapshot, once it was made).
  runtime::Sequence at_depth(int depth);
  // Runs the workload once; milliseconds from the first token to the last, without preparing the sequence.
  double run_ms(const Work& work);
  // How many dispatches the workload takes: counted, exact.
  uint64_t count_dispatches(const Work& work);
  // Bytes that the ledger's ops predict for one run of the workload.
  double bytes_of(const Work& work);

  // Why samples of one thing cannot be used: "" when they can. Spread (5 % to 95 % of the rounds) above max_spread, or
  // not steady: the last third differs from the first by more than 2 % (more when a larger spread is accepted).
  std::string not_usable(const std::vector<double>& ms) const;
  double max_spread = 1.25;

 private:
  void drop_totals() { open_->ledger.reset_totals(); }
  std::unique_ptr<app::OpenModel> open_;
  uint64_t seed_;
  std::map<int, std::vector<uint8_t>> snapshots_;  // by depth
};

// [variants][rounds] of run(variant) in alternated rounds: in each round every variant once, the first one rotating and
// the order reversed every other round (ABBA for two). Each variant runs `warm` times before. Samples go to `out` with
// "test", "variant", "round" and "position_in_round", in ms.
std::vector<std::vector<double>> alternate(const std::vector<std::string>& variants, int rounds,
                                           const std::function<double(int variant)>& run, const std::string& test,
                                           Output& out, int warm = 1);

// Mean with its 95 % interval by Student's t.
struct MeanInterval {
  double mean = 0, low = 0, high = 0, sd = 0;
  int n = 0;
};
MeanInterval mean_interval(const std::vector<double>& x);

}  // namespace tally::lab
