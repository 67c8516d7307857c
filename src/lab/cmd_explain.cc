// tally lab explain: one run taken apart.
#include "lab/command.h"
#include "lab/engine_blocks.h"

namespace tally::lab {

void add_explain(CLI::App& lab) {
  struct Args {
    EngineCommand command;
    ExplainOptions options;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "explain", "one run taken apart: segments, roofline, Amdahl ceilings, and the time that nothing claims");
  a->command.add_to(*c);
  EngineCommand::add_parts(*c, a->options.n_prompt, a->options.n_gen, a->options.depth);
  c->add_option("--target", a->options.target_decode, "decoded tokens/s wanted: can kernels alone reach it?")
      ->check(CLI::PositiveNumber);
  c->add_option("--target-prompt", a->options.target_prompt, "prompt tokens/s wanted")->check(CLI::PositiveNumber);
  c->callback([a] {
    Output out("explain", a->command.json, a->command.head());
    const ExplainOptions& o = a->options;
    Probe probe(a->command.engine, std::max(o.n_prompt, o.depth + o.n_gen) + 1, 1, a->command.seed);
    a->options.rounds = a->command.rounds;
    probe.max_spread = a->command.max_spread;
    run_explain(probe, a->options, out);
    out.finish();
  });
}

}  // namespace tally::lab
