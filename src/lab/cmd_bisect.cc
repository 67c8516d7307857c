// tally lab bisect: which step of an ordered list of versions got slower.
#include "base/error.h"
#include "lab/bisect.h"

namespace tally::lab {

namespace {

void run(const BisectArgs& args) {
  if (args.steps.size() < 2)
    fail(ErrorCode::Usage, "--step is given {} times, expected two versions or more", args.steps.size());
  std::vector<std::unique_ptr<Target>> targets;
  Json head_targets = Json::array();
  for (const std::string& spec : args.steps) {
    targets.push_back(open_target(spec, args.measure.target_options()));
    head_targets.push_back(targets.back()->provenance());
  }
  Json head = head_of(args.measure, targets[0]->weights_sha256());
  head["versions"] = head_targets;
  Output output("bisect", args.measure.json_to(), head);
  run_bisect(args, targets, output);
  output.finish();
}

}  // namespace

void add_bisect(CLI::App& lab) {
  auto a = std::make_shared<BisectArgs>();
  CLI::App* command = lab.add_subcommand("bisect", "versions with the same weights: which step got slower");
  a->measure.add_to(*command, false);
  command
      ->add_option("--step", a->steps, std::string("a version, oldest first; given two times or more:\n") + kTargetHelp)
      ->required()
      ->take_all();
  command->add_option("-p,--prompt", a->prompt, "tokens of the prefill test; 0: none")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command->add_option("-n,--gen", a->gen, "tokens of the decode test; 0: none")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command->add_option("-r,--rounds", a->rounds, "rounds; each measures every version once, in rotated order")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  command->add_flag("--search", a->search, "halve the list in place of measuring every version");
  command->add_flag("--one-by-one", a->one_by_one, "each version alone; its steps are not paired");
  add_inner(*command, a->inner);
  command->callback([a] { run(*a); });
}

}  // namespace tally::lab
