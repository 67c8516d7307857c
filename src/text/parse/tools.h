// The tools of a request as far as parsing needs them: their names, and the kinds of values of their parameters.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tally::parse {

// Kinds of JSON values, as bits. None: nothing is known.
using Kinds = uint8_t;
inline constexpr Kinds kNull = 1, kBoolean = 2, kInteger = 4, kNumber = 8, kString = 16, kArray = 32, kObject = 64;

struct Parameter {
  std::string name;
  Kinds kinds = 0;
};

struct Tool {
  std::string name;
  std::vector<Parameter> parameters;  // in the schema's order
  Kinds kinds_of(std::string_view parameter) const;
};

class ToolSet {
 public:
  ToolSet() = default;
  // `tools` as in a Chat Completions request: an array of {"type": "function", "function": {"name", "parameters", …}},
  // or null; other types of tools are skipped. Error (BadInput) naming the field for anything else.
  explicit ToolSet(const nlohmann::ordered_json& tools);

  bool empty() const { return tools_.empty(); }
  const Tool* find(std::string_view name) const;  // null: not declared
  const std::vector<Tool>& all() const { return tools_; }

 private:
  std::vector<Tool> tools_;
};

// The JSON text of a parameter that stands as plain text (formats in XML). Only strings: the text as it is. Other
// kinds: JSON, white space around it ignored, Python spellings allowed, and a string where it is no JSON. Strings and
// others: the JSON value if it is one of the others. Nothing known: JSON if it is that, else a string.
std::string json_of_text(std::string_view text, Kinds kinds);

}  // namespace tally::parse
