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

 private:
  ModelTemplate template_;
  const text::Tokenizer* tokenizer_;
};

}  // namespace tally::app
