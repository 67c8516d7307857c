// tally lab slope: dispatch counts against length, and what a dispatch costs.
#include <algorithm>

#include "lab/command.h"
#include "lab/engine_blocks.h"

namespace tally::lab {

void add_slope(CLI::App& lab) {
  struct Args {
    EngineCommand command;
    SlopeOptions options;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "slope", "dispatch counts at three or more lengths, and the cost of a dispatch by injecting inert ones");
  a->command.add_to(*c);
  c->add_option("--lengths", a->options.lengths, "prompt lengths to count dispatches at, at least three")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--inert", a->options.inert, "inert dispatches to add, per dispatch of the plan")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  EngineCommand::add_parts(*c, a->options.n_prompt, a->options.n_gen, a->options.depth);
  c->callback([a] {
    Output out("slope", a->command.json, a->command.head());
    SlopeOptions& o = a->options;
    o.rounds = a->command.rounds;
    int longest = o.lengths.empty() ? 1 : *std::max_element(o.lengths.begin(), o.lengths.end());
    Probe probe(a->command.engine, std::max({longest, o.n_prompt, o.depth + o.n_gen}) + 1, 1, a->command.seed);
    probe.max_spread = a->command.max_spread;
    run_slope(probe, o, out);
    out.finish();
  });
}

}  // namespace tally::lab
