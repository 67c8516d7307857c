// tally lab ab: two builds, settings or engines in alternated rounds with a null run.
#include "app/exit_status.h"
#include "base/error.h"
#include "lab/ab.h"

namespace tally::lab {

namespace {

void run(const AbArgs& args) {
  TargetOptions options = args.measure.target_options();
  auto a = open_target(args.a, options), b = open_target(args.b, options), again = open_target(args.a, options);
  Json head = head_of(args.measure, a->weights_sha256());
  head["a"] = a->provenance(), head["b"] = b->provenance();
  Output output("ab", args.measure.json_to(), head);
  std::vector<Verdict> verdicts = run_ab(args, *a, *b, *again, output);
  output.finish();
  if (!args.gate) return;
  for (const Verdict& v : verdicts)
    if (v.kind == VerdictKind::Slower) app::exit_status() = static_cast<int>(ErrorCode::Failed);
}

}  // namespace

void add_ab(CLI::App& lab) {
  auto a = std::make_shared<AbArgs>();
  CLI::App* command =
      lab.add_subcommand("ab", "two builds, settings or engines in alternated rounds with a null run, and a verdict");
  a->shapes.prompts = {256}, a->shapes.gens = {32};
  a->measure.add_to(*command, false);
  a->shapes.add_to(*command, true);
  command
      ->add_option(
          "--a", a->a,
          std::string("the baseline; a target (options of tally alone need --a=\"--threads 1\"):\n") + kTargetHelp)
      ->capture_default_str();
  command->add_option("--b", a->b, "what is compared with it, in the same form")->required();
  command->add_option("-r,--rounds", a->rounds, "rounds; each measures A, B and A again (null run), in rotated order")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  command->add_option("--equivalence", a->equivalence, "differences below this share do not matter")
      ->check(CLI::Range(0.0001, 0.5))
      ->capture_default_str();
  command->add_option("--best-of", a->best_of, "B is the best of so many variants that were tried")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--gate", a->gate, "exit status 1 when B is slower");
  add_inner(*command, a->inner);
  command->callback([a] { run(*a); });
}

}  // namespace tally::lab
