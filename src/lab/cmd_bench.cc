// tally lab bench: prefill, decode, depth and batch grid.
#include "lab/bench.h"

namespace tally::lab {

namespace {

void run(const BenchArgs& args) {
  auto target = open_target(args.target, args.measure.target_options());
  Json head = head_of(args.measure, args.no_machine ? "" : target->weights_sha256());
  head["target"] = target->provenance();
  Output output("bench", args.measure.json_to(), head);
  run_bench(args, *target, output);
  output.finish();
}

}  // namespace

void add_bench(CLI::App& lab) {
  auto a = std::make_shared<BenchArgs>();
  CLI::App* command = lab.add_subcommand("bench", "prefill, decode, depth and batch grid, with error bars");
  a->measure.add_to(*command, false);
  a->shapes.add_to(*command, true);
  command->add_option("--target", a->target, std::string("what to measure:\n") + kTargetHelp)->capture_default_str();
  command->add_option("-r,--rounds", a->rounds, "measurements of each test")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_flag("--no-machine", a->no_machine, "no hash of the weights, no bandwidth, no energy");
  command->callback([a] { run(*a); });
}

}  // namespace tally::lab
