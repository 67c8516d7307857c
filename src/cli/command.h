// How a subcommand joins the program: a function that adds itself to the command line and sets a callback.
#pragma once

#include <CLI/CLI.hpp>

namespace tally::cli {

// Each command lives in one file of this folder and is listed in commands.cc.
using AddCommand = void (*)(CLI::App& app);

// Adds all commands to `app`.
void add_commands(CLI::App& app);

// What the chosen command's callback leaves as exit status (0 unless set): commands set 1 for "the work found a
// failure".
int& exit_status();

}  // namespace tally::cli
