#include "app/chat_prompt.h"

#include "base/error.h"

namespace tally::app {

namespace {

std::string text_of(const text::Tokenizer& t, int32_t id) { return id >= 0 ? std::string(t.token_text(id)) : ""; }

// What a model without a template is given.
std::string chatml(const ChatRequest& r) {
  std::string out;
  for (const auto& m : r.messages)
    out += fmt::format("<|im_start|>{}\n{}<|im_end|>\n", m.value("role", "user"), m.value("content", ""));
  return r.add_generation_prompt ? out + "<|im_start|>assistant\n" : out;
}

}  // namespace

ChatModel::ChatModel(const gguf::Metadata& metadata, const text::Tokenizer& tokenizer)
    : file_(metadata.file()),
      source_(metadata.find_text("tokenizer.chat_template").value_or("")),
      tools_source_(metadata.find_text("tokenizer.chat_template.tool_use").value_or("")),
      bos_(text_of(tokenizer, tokenizer.bos())),
      eos_(text_of(tokenizer, tokenizer.eos())),
      tokenizer_(&tokenizer) {}

std::string ChatModel::render(const ChatRequest& r) const {
  const std::string& source = !r.tools.is_null() && !tools_source_.empty() ? tools_source_ : source_;
  if (source.empty()) return chatml(r);
  nlohmann::ordered_json vars = r.vars;
  vars["messages"] = r.messages;
  vars["tools"] = r.tools;
  vars["add_generation_prompt"] = r.add_generation_prompt;
  vars["bos_token"] = bos_;
  vars["eos_token"] = eos_;
  return text::Template::parse(source).render(vars);
}

std::vector<int32_t> ChatModel::encode(const ChatRequest& r) const {
  std::string text = render(r);
  if (tokenizer_->add_bos() && !bos_.empty() && text.compare(0, bos_.size(), bos_) == 0) text.erase(0, bos_.size());
  return tokenizer_->encode(text, true, true);
}

}  // namespace tally::app
