// Running another program of this machine.
#pragma once

#include <string>
#include <vector>

namespace tally::app {

// Runs argv[0] (looked up in PATH) with no standard input and its standard output joined to our standard error, and
// waits. Returns its exit status, 128 + signal when a signal ended it, or 127 when it could not be started.
int run_process(const std::vector<std::string>& argv);

}  // namespace tally::app
