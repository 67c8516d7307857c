#include "cli/command.h"

namespace tally::cli {

// One line per command: declaration here, definition in <command>.cc.

int& exit_status() {
  static int status = 0;
  return status;
}

void add_commands(CLI::App& app) {
  app.require_subcommand(1);
}

}  // namespace tally::cli
