// tally lab fit: fixed and per-token cost from several lengths.
#include "lab/fit.h"

namespace tally::lab {

namespace {

void run(const FitArgs& args) {
  TargetOptions options = args.measure.target_options();
  auto target = open_target(args.target, options);
  std::unique_ptr<Target> old;
  if (!args.against.empty()) old = open_target(args.against, options);
  Json head = head_of(args.measure, target->weights_sha256());
  head["target"] = target->provenance();
  if (old) head["against"] = old->provenance();
  Output output("fit", args.measure.json_to(), head);
  run_fit(args, *target, old.get(), output);
  output.finish();
}

}  // namespace

void add_fit(CLI::App& lab) {
  auto a = std::make_shared<FitArgs>();
  CLI::App* command =
      lab.add_subcommand("fit", "fixed and per-token cost from several lengths; two engines: shape of the slowdown");
  a->measure.add_to(*command, false);
  command->add_option("--target", a->target, std::string("what to measure:\n") + kTargetHelp)->capture_default_str();
  command->add_option("--against", a->against, "the old or other one: a second curve, compared with the first");
  command->add_option("-p,--lengths", a->lengths, "lengths that are fitted")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--held-out", a->held_out,
                   "lengths that only check the line (default: half of the shortest, and one in the widest gap)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("-r,--rounds", a->rounds, "measurements of each length")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_flag("--generation", a->generation, "generated tokens in place of prompt tokens");
  command->add_option("--tolerance", a->tolerance, "share by which the line may miss a held-out length")
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  add_inner(*command, a->inner);
  command->callback([a] { run(*a); });
}

}  // namespace tally::lab
