// Parsed model output as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "text/parse/parser.h"

namespace tally::app {

// {"reasoning", "content", "tool_calls": [{"id", "name", "arguments": JSON text}], "finish"}
nlohmann::ordered_json parsed_json(const parse::Parsed& parsed);

// Deltas as in the chunks of a chat stream: {"reasoning_content"}, {"content"}, {"tool_calls": [{"index", "id", "type",
// "function": {"name", "arguments"}}]}; of a call that is announced already only "index" and "function.arguments".
nlohmann::ordered_json deltas_json(const std::vector<parse::Delta>& deltas);

}  // namespace tally::app
