#include "app/chat_prompt.h"

#include "base/error.h"
#include "text/parse/parser.h"

namespace tally::app {

namespace {

std::string family_of(const gguf::Metadata& metadata, bool with_tools) {
  std::optional<std::string_view> source;
  if (with_tools) source = metadata.find_text("tokenizer.chat_template.tool_use");
  if (!source) source = metadata.find_text("tokenizer.chat_template");
  return std::string(parse::detect_family(source.value_or(""), metadata.find_text("general.architecture").value_or(""),
                                          metadata.find_text("general.name").value_or("")));
}

}  // namespace

ChatModel::ChatModel(const gguf::Metadata& metadata, const text::Tokenizer& tokenizer)
    : template_(model_template(metadata)),
      family_(family_of(metadata, false)),
      tools_family_(family_of(metadata, true)),
      tokenizer_(&tokenizer) {
  ChatRequest probe{.messages = {{{"role", "user"}, {"content", "x"}}}};
  probe.tools = {
      {{"type", "function"},
       {"function", {{"name", "probe_of_tools"}, {"description", "d"}, {"parameters", {{"type", "object"}}}}}}};
  try {
    shows_tools_ = render(probe).find("probe_of_tools") != std::string::npos;
  } catch (const Error&) {  // a template that raises for it shows none
  }
}

text::ChatInput ChatModel::input_of(const ChatRequest& r) const {
  text::ChatInput input;
  input.messages = r.messages;
  input.tools = r.tools;
  input.extra_vars = r.vars;
  input.add_generation_prompt = r.add_generation_prompt;
  input.tokenizer_adds_bos = tokenizer_->add_bos();
  input.tokenizer_adds_eos = tokenizer_->add_eos();
  return input;
}

std::string ChatModel::render(const ChatRequest& r) const { return template_.render(input_of(r)); }

text::ChatPrompt ChatModel::prompt(const ChatRequest& r) const { return template_.prompt(input_of(r), false); }

std::vector<int32_t> ChatModel::encode(const ChatRequest& r) const { return tokenizer_->encode(render(r), true, true); }

}  // namespace tally::app
