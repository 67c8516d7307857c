// tally lab table: the latency table of this machine and a model.
#include "lab/command.h"
#include "lab/latency.h"

namespace tally::lab {

void add_table(CLI::App& lab) {
  struct Args {
    EngineCommand command;
    TableOptions options;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "table",
      "the latency table: loop iteration, lock, memory read, process start, tokenizer, tokens, round trip, load");
  a->command.add_to(*c);
  c->add_option("-p,--n-prompt", a->options.n_prompt, "prompt tokens per measurement")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("-n,--n-gen", a->options.n_gen, "decoded tokens per measurement")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->callback([a] {
    Output out("table", a->command.json, a->command.head());
    a->options.rounds = a->command.rounds;
    a->options.max_spread = a->command.max_spread;
    a->options.seed = a->command.seed;
    run_table(a->command.engine, a->options, out);
    out.finish();
  });
}

}  // namespace tally::lab
