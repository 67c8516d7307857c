// Tools in a chat: told to the model, bound in what it writes, read out of it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "app/chat_prompt.h"
#include "app/constraint.h"
#include "text/constrain/call_rules.h"
#include "text/parse/parser.h"

namespace tally::app {

struct ToolChoice {
  enum class Kind : uint8_t {
    Auto,      // text, calls or both
    None,      // no calls; the tools are not told
    Required,  // at least one call
    Named,     // a call of this tool
  };
  Kind kind = Kind::Auto;
  std::string name;
};

// "auto", "none", "required" or the name of a tool.
ToolChoice tool_choice_named(std::string_view text);
// The same as in a request: null, one of the first three texts, or {"type": "function", "function": {"name"}}.
ToolChoice tool_choice_of(const nlohmann::ordered_json& value);

class ToolUse {
 public:
  // The model must outlive it. Error (BadInput) for tools that make no sense, a tool that is not there, or a name that
  // the model's format cannot write.
  ToolUse(const ChatModel& model, nlohmann::ordered_json tools, ToolChoice choice);

  // The prompt for a request. Where the template does not show tools, a system message describes them.
  text::ChatPrompt prompt(ChatRequest request) const;
  // What reads the output behind that prompt.
  parse::OutputParser parser(const text::ChatPrompt& prompt, uint64_t id_seed) const;
  // What it must obey; tools must be allowed and there be some (binds()).
  constrain::CallRules rules(const text::ChatPrompt& prompt) const;
  bool binds() const { return choice_.kind != ToolChoice::Kind::None && !set_.empty(); }

 private:
  nlohmann::ordered_json described(const nlohmann::ordered_json& messages) const;

  const ChatModel* model_;
  nlohmann::ordered_json tools_;
  ToolChoice choice_;
  parse::ToolSet set_;
};

}  // namespace tally::app
