// What a MODEL argument means.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tally::app {

// A path that exists is itself. Otherwise: a short name (smollm2, gemma3-270m, tally-tiny), or the file name of a
// cached model with or without ".gguf". Throws BadInput that says what was looked for and what to do.
std::string find_model(const std::string& name_or_path);

// models/tally-tiny.gguf of the source tree or installation that this program runs from, when it is there.
std::optional<std::filesystem::path> bundled_model();

}  // namespace tally::app
