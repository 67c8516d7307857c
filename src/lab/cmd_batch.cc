// tally lab batch: several sequences at once.
#include <algorithm>

#include "lab/command.h"
#include "lab/engine_blocks.h"

namespace tally::lab {

void add_batch(CLI::App& lab) {
  struct Args {
    EngineCommand command;
    BatchOptions options;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "batch", "decoding 1…N sequences at once: outputs against single runs, the gain foreseen and measured");
  a->command.add_to(*c);
  c->add_option("-b,--batch", a->options.batches, "numbers of sequences; 1 is always among them")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  c->add_option("-p,--n-prompt", a->options.n_prompt, "random tokens that each sequence starts with")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("-n,--n-gen", a->options.n_gen, "decoded tokens")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  c->callback([a] {
    Output out("batch", a->command.json, a->command.head());
    BatchOptions& o = a->options;
    o.rounds = a->command.rounds;
    int most = o.batches.empty() ? 1 : *std::max_element(o.batches.begin(), o.batches.end());
    Probe probe(a->command.engine, o.n_prompt + o.n_gen + 1, most, a->command.seed);
    probe.max_spread = a->command.max_spread;
    run_batch(probe, o, out);
    out.finish();
  });
}

}  // namespace tally::lab
