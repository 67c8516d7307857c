// Running another program to measure it: its output is captured, its time taken, and it ends with us.
#pragma once

#include <string>
#include <vector>

namespace tally::lab {

struct ChildOptions {
  double timeout_s = 1800;               // then its process group is killed, and an Error (Failed) says so
  size_t max_output = size_t(64) << 20;  // bytes of standard output; more is an Error (BadInput)
};

struct ChildResult {
  int status = 0;      // exit status, or 128 + the signal that ended it
  double wall_ms = 0;  // from just before the start to its end
  std::string out;     // standard output
  std::string err;     // the last 4 KiB of standard error
};

// Runs argv[0] (looked up in PATH) without a shell, in a process group of its own, with no standard input. Waits.
// Errors: it cannot be started (BadInput), timeout (Failed), Ctrl-C (Interrupted; the group is killed first).
ChildResult run_child(const std::vector<std::string>& argv, const ChildOptions& options = {});

// The same, and a status other than 0 is an Error (Failed) with the command and the end of its standard error.
ChildResult run_child_ok(const std::vector<std::string>& argv, const ChildOptions& options = {});

// Words of a command line: separated by blanks; '…' and "…" hold blanks, a backslash takes the next character as it
// is. Error (Usage) for a quote that does not end.
std::vector<std::string> split_words(const std::string& text);

}  // namespace tally::lab
