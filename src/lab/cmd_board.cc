// tally lab board: several engines on the same weights, with a file that remembers.
#include "base/error.h"
#include "lab/board.h"

namespace tally::lab {

namespace {

void run(const BoardArgs& args) {
  if (args.show && args.file.empty()) fail(ErrorCode::Usage, "--show needs --file");
  if (!args.show && args.engines.empty())
    fail(ErrorCode::Usage, "nothing to measure: give --engine NAME=TARGET, or --show with --file");
  Output output("board", args.measure.json_to(), head_of(args.measure, ""));
  run_board(args, output);
  output.finish();
}

}  // namespace

void add_board(CLI::App& lab) {
  auto a = std::make_shared<BoardArgs>();
  CLI::App* command = lab.add_subcommand("board", "several engines on the same weights: dated entries, ties as ties");
  a->measure.add_to(*command, false);
  a->shapes.add_to(*command, true);
  command->add_option("--engine", a->engines, std::string("NAME=TARGET, for each engine; targets:\n") + kTargetHelp)
      ->take_all();
  command->add_option("--file", a->file, "the board: entries are appended and the latest of each engine is shown");
  command->add_flag("--show", a->show, "only print the file");
  command->add_option("-r,--rounds", a->rounds, "rounds; each measures every engine once, in rotated order")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  add_inner(*command, a->inner);
  command->callback([a] { run(*a); });
}

}  // namespace tally::lab
