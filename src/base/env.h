// The one place that reads environment variables; HACKING.md lists those that tally knows.
#pragma once

#include <optional>
#include <string>

namespace tally {

// The variable's value; nothing when it is unset or empty.
std::optional<std::string> env(const char* name);

}  // namespace tally
