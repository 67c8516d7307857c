// tally lab sustain: cold and back-to-back speed.
#include "base/error.h"
#include "lab/sustain.h"

namespace tally::lab {

namespace {

void run(SustainArgs& args) {
  if ((args.prompt > 0) == (args.gen > 0)) {
    if (args.prompt == 0) fail(ErrorCode::Usage, "nothing to measure: -p and -n are both 0");
    args.gen = 0;  // -p asked for: generation is the default only
  }
  TargetOptions options = args.measure.target_options();
  auto target = open_target(args.target, options);
  std::unique_ptr<Target> against;
  if (!args.against.empty()) against = open_target(args.against, options);
  Json head = head_of(args.measure, target->weights_sha256());
  head["target"] = target->provenance();
  if (against) head["against"] = against->provenance();
  Output output("sustain", args.measure.json_to(), head);
  run_sustain(args, *target, against.get(), output);
  output.finish();
}

}  // namespace

void add_sustain(CLI::App& lab) {
  auto a = std::make_shared<SustainArgs>();
  CLI::App* command = lab.add_subcommand("sustain", "cold, rested and back-to-back speed, clocks, power, temperature");
  a->measure.add_to(*command, false);
  command->add_option("--target", a->target, std::string("what to measure:\n") + kTargetHelp)->capture_default_str();
  command->add_option("--against", a->against, "another one, for cold with cold and sustained with sustained");
  command->add_option("-p,--prompt", a->prompt, "read prompts of so many tokens, in place of generating")
      ->check(CLI::Range(0, 1 << 20));
  command->add_option("-n,--gen", a->gen, "tokens a measurement generates")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command->add_option("--rest", a->rest_s, "seconds of rest before")
      ->check(CLI::Range(0.0, 1e5))
      ->capture_default_str();
  command->add_option("--duration", a->duration_s, "seconds of load")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command->callback([a] { run(*a); });
}

}  // namespace tally::lab
