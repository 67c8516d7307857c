#include "text/chat.h"

#include <algorithm>

namespace tally::text {
namespace {

constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const Template& chatml() {
  static const Template t = Template::parse(kChatMl);
  return t;
}

// A request must not replace what the template relies on.
void check_extra(const Json& extra) {
  if (extra.is_null()) return;
  if (!extra.is_object())
    fail(ErrorCode::BadInput, "the template's variables are a JSON {}, expected an object", extra.type_name());
  for (const auto& [name, value] : extra.items())
    for (const char* own : {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "raise_exception",
                            "strftime_now", "namespace", "range", "dict", "cycler", "joiner", "loop"})
      if (name == own)
        fail(ErrorCode::BadInput, "the variable \"{}\" belongs to the template and cannot be given", name);
}

std::string render_normalized(const Template& t, const Json& messages, const ChatInput& input,
                              bool add_generation_prompt, const RenderOptions& options) {
  Json variables{{"messages", messages},         {"tools", normalize_tools(input.tools)},
                 {"documents", nullptr},         {"add_generation_prompt", add_generation_prompt},
                 {"bos_token", input.bos_token}, {"eos_token", input.eos_token}};
  if (input.extra_vars.is_object())
    for (const auto& [name, value] : input.extra_vars.items()) variables[name] = value;
  std::string text = t.render(variables, options);
  if (input.tokenizer_adds_bos && !input.bos_token.empty() && text.starts_with(input.bos_token))
    text.erase(0, input.bos_token.size());
  if (input.tokenizer_adds_eos && !input.eos_token.empty() && text.ends_with(input.eos_token))
    text.resize(text.size() - input.eos_token.size());
  return text;
}

std::string text_of(const Json& message, const char* key) {
  const auto found = message.find(key);
  if (found == message.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  std::string text;
  if (found->is_array())
    for (const auto& part : *found)
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        text += (text.empty() ? "" : "\n") + part["text"].get<std::string>();
  return text;
}

// What stands behind the assistant's header when its message is to be continued. A generation prompt may have opened a
// think block (or opened and closed one).
std::string open_turn(std::string header, const Json& message) {
  const std::string content = text_of(message, "content"), reasoning = text_of(message, "reasoning_content");
  const size_t think = header.rfind("<think>");
  if (content.find("<think>") != std::string::npos) {  // brings its own block
    if (think != std::string::npos) header.resize(think);
    return header + content;
  }
  const bool open = think != std::string::npos && header.find("</think>", think) == std::string::npos;
  if (!reasoning.empty()) {
    if (think != std::string::npos) header.resize(think);
    header += "<think>\n" + reasoning;
    if (content.empty()) return header;
    return header + "\n</think>\n\n" + content;
  }
  if (open && !content.empty()) header += "\n</think>\n\n";
  return header + content;
}

}  // namespace

std::string render_chat(const Template* chat_template, const ChatInput& input, const RenderOptions& options) {
  return render_chat(chat_template, chat_template ? probe_template(*chat_template) : ChatTraits{}, input, options);
}

std::string render_chat(const Template* chat_template, const ChatTraits& traits, const ChatInput& input,
                        const RenderOptions& options) {
  check_extra(input.extra_vars);
  const Json messages = normalize_messages(input.messages, chat_template ? traits : ChatTraits{});
  return render_normalized(chat_template ? *chat_template : chatml(), messages, input, input.add_generation_prompt,
                           options);
}

ChatPrompt render_prompt(const Template* chat_template, const ChatTraits& traits, ChatInput input, bool continue_final,
                         const RenderOptions& options) {
  check_extra(input.extra_vars);
  const Template& t = chat_template ? *chat_template : chatml();
  Json messages = normalize_messages(input.messages, chat_template ? traits : ChatTraits{});
  Json last;
  if (continue_final) {
    if (messages.empty() || messages.back()["role"] != "assistant")
      fail(ErrorCode::BadInput, "only an assistant's message can be continued, and the last one is not");
    last = messages.back();
    messages.erase(messages.end() - 1);
  }
  ChatPrompt prompt;
  prompt.text = render_normalized(t, messages, input, true, options);
  const std::string closed = render_normalized(t, messages, input, false, options);
  // The suffix behind the common beginning; whole characters.
  size_t common = static_cast<size_t>(
      std::mismatch(prompt.text.begin(), prompt.text.end(), closed.begin(), closed.end()).first - prompt.text.begin());
  while (common > 0 && common < prompt.text.size() && (static_cast<unsigned char>(prompt.text[common]) & 0xC0) == 0x80)
    --common;
  prompt.generation_prompt = prompt.text.substr(common);
  if (continue_final) {
    prompt.text.resize(common);
    prompt.generation_prompt = open_turn(std::move(prompt.generation_prompt), last);
    prompt.text += prompt.generation_prompt;
  }
  return prompt;
}

}  // namespace tally::text
