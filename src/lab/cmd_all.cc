// tally lab all: everything about one model, in the order in which it can be trusted.
#include "app/model_path.h"
#include "lab/all.h"
#include "lab/machine.h"
#include "lab/menu.h"

namespace tally::lab {

void add_all(CLI::App& lab) {
  struct Args {
    AllArgs all;
    std::string turns = "2000:25,1000:250";
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "all", "everything about one model: correctness, null run, speed, costs, where the time goes, energy, a task");
  AllArgs& o = a->all;
  o.measure.add_to(*c, true);
  c->add_option("-p,--prompt", o.prompt, "tokens that are read")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  c->add_option("-n,--gen", o.gen, "tokens that are generated")->check(CLI::Range(2, 1 << 20))->capture_default_str();
  c->add_option("-r,--rounds", o.rounds, "rounds of each part")->check(CLI::Range(2, 100000))->capture_default_str();
  c->add_option("--max-spread", o.max_spread, "largest spread of rounds that still gives numbers")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  c->add_option("--verify-tokens", o.verify_tokens, "tokens of the correctness gate (the reference is slow)")
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  c->add_option("--rest", o.rest_s, "seconds of rest before the cold measurement")
      ->check(CLI::Range(0.0, 1e5))
      ->capture_default_str();
  c->add_option("--duration", o.duration_s, "seconds of load for the sustained speed")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  c->add_option("--lengths", o.lengths, "prompt lengths that the cost is fitted to")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--target", o.target_decode, "generated tok/s wanted: can kernels alone reach it?")
      ->check(CLI::PositiveNumber);
  c->add_option("--target-prompt", o.target_prompt, "prompt tok/s wanted")->check(CLI::PositiveNumber);
  c->add_option("--turns", a->turns, "the task: tokens in and out of each turn")->capture_default_str();
  c->add_option("--endpoint", o.endpoint, "a server of the OpenAI dialects, for the agent task");
  c->callback([a] {
    a->all.turns = parse_turns(a->turns);
    Output output("all", a->all.measure.json_to(),
                  head_of(a->all.measure, weights_sha256(app::find_model(a->all.measure.engine.model))));
    run_all(a->all, output);
    output.finish();
  });
}

}  // namespace tally::lab
