// tally lab ablate: components left out one at a time.
#include "base/error.h"
#include "lab/command.h"
#include "lab/engine_blocks.h"

namespace tally::lab {

void add_ablate(CLI::App& lab) {
  struct Args {
    EngineCommand command;
    AblateOptions options;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "ablate", "time without one component after another; void until leaving out a heavy one has moved the clock");
  a->command.add_to(*c);
  c->add_option("--without", a->options.components,
                "components: experts, ffn, attention, delta, qkv, head, or names of segments (default: all there are)")
      ->delimiter(',');
  EngineCommand::add_parts(*c, a->options.n_prompt, a->options.n_gen, a->options.depth);
  c->callback([a] {
    Output out("ablate", a->command.json, a->command.head());
    AblateOptions& o = a->options;
    o.rounds = a->command.rounds;
    Probe probe(a->command.engine, std::max(o.n_prompt, o.depth + o.n_gen) + 1, 1, a->command.seed);
    probe.max_spread = a->command.max_spread;
    run_ablate(probe, o, out);
    out.finish();
  });
}

}  // namespace tally::lab
