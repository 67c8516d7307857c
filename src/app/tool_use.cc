#include "app/tool_use.h"

#include "base/error.h"
#include "text/constrain/call_form.h"

namespace tally::app {

using nlohmann::ordered_json;

ToolChoice tool_choice_named(std::string_view text) {
  if (text == "auto") return {};
  if (text == "none") return {ToolChoice::Kind::None, ""};
  if (text == "required") return {ToolChoice::Kind::Required, ""};
  return {ToolChoice::Kind::Named, std::string(text)};
}

ToolChoice tool_choice_of(const ordered_json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) {
    const ToolChoice choice = tool_choice_named(value.get_ref<const std::string&>());
    if (choice.kind == ToolChoice::Kind::Named)
      fail(
          ErrorCode::BadInput,
          R"("tool_choice" is "{}", expected "auto", "none", "required" or {{"type": "function", "function": {{"name"}}}})",
          choice.name);
    return choice;
  }
  const ordered_json::json_pointer name("/function/name");
  if (!value.is_object() || !value.contains(name) || !value.at(name).is_string())
    fail(
        ErrorCode::BadInput,
        R"("tool_choice" is a JSON {}, expected "auto", "none", "required" or {{"type": "function", "function": {{"name"}}}})",
        value.type_name());
  return {ToolChoice::Kind::Named, value.at(name).get<std::string>()};
}

ToolUse::ToolUse(const ChatModel& model, ordered_json tools, ToolChoice choice)
    : model_(&model), tools_(std::move(tools)), choice_(std::move(choice)), set_(tools_) {
  if (choice_.kind == ToolChoice::Kind::Named && !set_.find(choice_.name))
    fail(ErrorCode::BadInput, "tool_choice names \"{}\", which is not among the tools", choice_.name);
  if (choice_.kind == ToolChoice::Kind::Required && set_.empty())
    fail(ErrorCode::BadInput, "tool_choice is \"required\", but there are no tools");
}

ordered_json ToolUse::described(const ordered_json& messages) const {
  std::string text = "You may call these functions when they help:\n";
  for (const ordered_json& tool : tools_) text += tool.dump() + "\n";
  text +=
      "\nTo call a function, answer with nothing but\n" + constrain::call_example(model_->family(true)) +
      "\nwith its name in place of NAME and its arguments in place of ARGUMENT and VALUE. Otherwise answer in words.";
  ordered_json out = messages;
  const bool has_system = out.is_array() && !out.empty() && out[0].is_object() &&
                          out[0].value("role", "") == "system" && out[0].contains("content") &&
                          out[0]["content"].is_string();
  if (has_system)
    out[0]["content"] = out[0]["content"].get<std::string>() + "\n\n" + text;
  else if (out.is_array())
    out.insert(out.begin(), ordered_json::object({{"role", "system"}, {"content", text}}));
  return out;
}

text::ChatPrompt ToolUse::prompt(ChatRequest request) const {
  request.tools = nullptr;
  if (binds()) {
    if (model_->shows_tools())
      request.tools = tools_;
    else
      request.messages = described(request.messages);
  }
  return model_->prompt(request);
}

parse::OutputParser ToolUse::parser(const text::ChatPrompt& prompt, uint64_t id_seed) const {
  return parse::OutputParser({.family = std::string(model_->family(binds())),
                              .tools = binds() ? set_ : parse::ToolSet(),
                              .prompt_opens = prompt.generation_prompt,
                              .id_seed = id_seed});
}

constrain::CallRules ToolUse::rules(const text::ChatPrompt& prompt) const {
  constrain::CallRequest request{.family = model_->family(true),
                                 .tools = {},
                                 .required = choice_.kind != ToolChoice::Kind::Auto,
                                 .prompt_opens = prompt.generation_prompt};
  for (const ordered_json& tool : tools_) {
    if (tool.value("type", "function") != "function") continue;
    const ordered_json& function = tool.contains("function") ? tool.at("function") : tool;
    const std::string name = function.at("name");
    if (choice_.kind == ToolChoice::Kind::Named && name != choice_.name) continue;
    const auto schema = function.find("parameters");
    request.tools.push_back({name, schema == function.end() || schema->is_null() ? "" : schema->dump()});
  }
  return constrain::call_rules(request);
}

}  // namespace tally::app
