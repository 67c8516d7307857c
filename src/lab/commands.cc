#include "lab/command.h"

namespace tally::lab {

// One line per command: declaration here, definition in cmd_<name>.cc.
void add_agent(CLI::App& lab);
void add_all(CLI::App& lab);
void add_check(CLI::App& lab);
void add_menu(CLI::App& lab);
void add_report(CLI::App& lab);
void add_ab(CLI::App& lab);
void add_bench(CLI::App& lab);
void add_bisect(CLI::App& lab);
void add_board(CLI::App& lab);
void add_fit(CLI::App& lab);
void add_sustain(CLI::App& lab);
void add_whatif(CLI::App& lab);
void add_tokenizer(CLI::App& lab);
void add_reconcile(CLI::App& lab);
void add_explain(CLI::App& lab);
void add_slope(CLI::App& lab);
void add_verify(CLI::App& lab);
void add_ablate(CLI::App& lab);
void add_batch(CLI::App& lab);
void add_limits(CLI::App& lab);
void add_speculate(CLI::App& lab);
void add_table(CLI::App& lab);

void add_lab(CLI::App& app) {
  CLI::App* lab = app.add_subcommand("lab", "the laboratory: where time goes, what a change could buy, A/B with proof");
  lab->require_subcommand(1);
  add_agent(*lab);
  add_all(*lab);
  add_check(*lab);
  add_menu(*lab);
  add_report(*lab);
  add_ab(*lab);
  add_bench(*lab);
  add_bisect(*lab);
  add_board(*lab);
  add_fit(*lab);
  add_sustain(*lab);
  add_whatif(*lab);
  add_tokenizer(*lab);
  add_reconcile(*lab);
  add_explain(*lab);
  add_slope(*lab);
  add_verify(*lab);
  add_ablate(*lab);
  add_batch(*lab);
  add_limits(*lab);
  add_speculate(*lab);
  add_table(*lab);
}

}  // namespace tally::lab
