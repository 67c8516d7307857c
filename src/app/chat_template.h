// The chat template of a model file.
#pragma once

#include <optional>

#include "gguf/gguf.h"
#include "text/chat.h"

namespace tally::app {

// A model's templates, parsed and probed, with the texts of its special tokens.
class ModelTemplate {
 public:
  // The template that serves chats with or without tools; null: ChatML.
  const text::Template* get(bool with_tools) const;
  const text::ChatTraits& traits(bool with_tools) const;
  const std::string& bos_token() const { return bos_token_; }
  const std::string& eos_token() const { return eos_token_; }
  // Where the file has no template or one that cannot be parsed (and ChatML serves instead); empty otherwise.
  const std::string& warning() const { return warning_; }

  // The input's token texts are filled in.
  std::string render(text::ChatInput input, const text::RenderOptions& options = {}) const;
  text::ChatPrompt prompt(text::ChatInput input, bool continue_final, const text::RenderOptions& options = {}) const;

 private:
  friend ModelTemplate model_template(const gguf::Metadata& metadata);
  struct Entry {
    text::Template chat_template;
    text::ChatTraits traits;
  };
  const Entry* entry(bool with_tools) const;
  std::optional<Entry> plain_, tool_use_;
  text::ChatTraits chatml_traits_;
  std::string bos_token_, eos_token_, warning_;
};

// Reads tokenizer.chat_template and, for chats with tools, tokenizer.chat_template.tool_use. A template that cannot be
// parsed is an Error (BadInput) naming file and key.
ModelTemplate model_template(const gguf::Metadata& metadata);

}  // namespace tally::app
