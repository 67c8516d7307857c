// From messages to token ids: the model's chat template (ChatML where it has none), then its tokenizer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/chat_template.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace tally::app {

struct ChatRequest {
  nlohmann::ordered_json messages;  // [{"role", "content", …}]
  nlohmann::ordered_json tools = nullptr;
  nlohmann::ordered_json vars = nlohmann::ordered_json::object();  // further variables of the template
  bool add_generation_prompt = true;
};

class ChatModel {
 public:
  // The tokenizer must outlive it. Error (BadInput) when the file's template cannot be parsed.
  ChatModel(const gguf::Metadata& metadata, const text::Tokenizer& tokenizer);

  std::string render(const ChatRequest& request) const;
  // Rendered and tokenised; special tokens in the text count, a beginning-of-text token is not doubled.
  std::vector<int32_t> encode(const ChatRequest& request) const;
  std::vector<int32_t> encode(const text::ChatPrompt& prompt) const {
    return tokenizer_->encode(prompt.text, true, true);
  }

  // The prompt with its end that opens the assistant's turn apart.
  text::ChatPrompt prompt(const ChatRequest& request) const;
  // The format of what the model writes (parse::family_names()), by its template, architecture and name.
  const std::string& family(bool with_tools) const { return with_tools ? tools_family_ : family_; }
  // Whether the template tells the model about tools.
  bool shows_tools() const { return shows_tools_; }

 private:
  text::ChatInput input_of(const ChatRequest& request) const;

  ModelTemplate template_;
  std::string family_, tools_family_;
  bool shows_tools_ = false;
  const text::Tokenizer* tokenizer_;
};

}  // namespace tally::app
