#include "app/chat_prompt.h"

namespace tally::app {

ChatModel::ChatModel(const gguf::Metadata& metadata, const text::Tokenizer& tokenizer)
    : template_(model_template(metadata)), tokenizer_(&tokenizer) {}

std::string ChatModel::render(const ChatRequest& r) const {
  text::ChatInput input;
  input.messages = r.messages;
  input.tools = r.tools;
  input.extra_vars = r.vars;
  input.add_generation_prompt = r.add_generation_prompt;
  input.tokenizer_adds_bos = tokenizer_->add_bos();
  input.tokenizer_adds_eos = tokenizer_->add_eos();
  return template_.render(std::move(input));
}

std::vector<int32_t> ChatModel::encode(const ChatRequest& r) const { return tokenizer_->encode(render(r), true, true); }

}  // namespace tally::app
