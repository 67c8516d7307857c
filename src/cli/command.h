// How a subcommand joins the program: a function that adds itself to the command line and sets a callback.
#pragma once

#include <CLI/CLI.hpp>

namespace tally::cli {

// Adds all commands to `app`; each lives in one file of this folder and is listed in commands.cc.
void add_commands(CLI::App& app);

}  // namespace tally::cli
