#include "app/chat_template.h"

#include "base/error.h"

namespace tally::app {
namespace {

// The text of the token whose id is under `key`; empty when the file has none.
std::string token_text(const gguf::Metadata& metadata, const char* key) {
  const auto id = metadata.find_int(key);
  const gguf::Value* tokens = metadata.find("tokenizer.ggml.tokens");
  if (!id || !tokens || *id < 0 || static_cast<uint64_t>(*id) >= tokens->strings.size()) return "";
  return std::string(tokens->strings[static_cast<size_t>(*id)]);
}

}  // namespace

const ModelTemplate::Entry* ModelTemplate::entry(bool with_tools) const {
  if (with_tools && tool_use_) return &*tool_use_;
  return plain_ ? &*plain_ : nullptr;
}

const text::Template* ModelTemplate::get(bool with_tools) const {
  const Entry* e = entry(with_tools);
  return e ? &e->chat_template : nullptr;
}

const text::ChatTraits& ModelTemplate::traits(bool with_tools) const {
  const Entry* e = entry(with_tools);
  return e ? e->traits : chatml_traits_;
}

std::string ModelTemplate::render(text::ChatInput input, const text::RenderOptions& options) const {
  const bool tools = input.tools.is_array() && !input.tools.empty();
  input.bos_token = bos_token_;
  input.eos_token = eos_token_;
  return text::render_chat(get(tools), traits(tools), input, options);
}

text::ChatPrompt ModelTemplate::prompt(text::ChatInput input, bool continue_final,
                                       const text::RenderOptions& options) const {
  const bool tools = input.tools.is_array() && !input.tools.empty();
  input.bos_token = bos_token_;
  input.eos_token = eos_token_;
  return text::render_prompt(get(tools), traits(tools), std::move(input), continue_final, options);
}

ModelTemplate model_template(const gguf::Metadata& metadata) {
  ModelTemplate m;
  m.bos_token_ = token_text(metadata, "tokenizer.ggml.bos_token_id");
  m.eos_token_ = token_text(metadata, "tokenizer.ggml.eos_token_id");
  auto read = [&](const char* key) -> std::optional<ModelTemplate::Entry> {
    const auto source = metadata.find_text(key);
    if (!source) return std::nullopt;
    try {
      text::Template t = text::Template::parse(*source);
      const text::ChatTraits traits = text::probe_template(t);
      return ModelTemplate::Entry{std::move(t), traits};
    } catch (const text::TemplateError& e) {
      fail(ErrorCode::BadInput, "{}: \"{}\": {}", metadata.file(), key, e.what());
    }
  };
  m.plain_ = read("tokenizer.chat_template");
  m.tool_use_ = read("tokenizer.chat_template.tool_use");
  if (!m.plain_) m.warning_ = "the file has no chat template (\"tokenizer.chat_template\"); ChatML is used";
  return m;
}

}  // namespace tally::app
