// tally lab: measures tally and any other engine, and takes claims about speed apart. One file per command
// (cmd_<name>.cc) defines add_<name>(CLI::App& lab); commands.cc lists them.
#pragma once

#include <CLI/CLI.hpp>

namespace tally::lab {

// Adds `lab` with all its commands to the program.
void add_lab(CLI::App& app);

}  // namespace tally::lab
