// Messages of a chat to the text of a prompt: a model's template (or ChatML where it has none) applied to messages that
// were first brought into the form which the template understands.
#pragma once

#include <string>
#include <string_view>

#include "text/template.h"

namespace tally::text {

// What a template can do, found by rendering small conversations with it.
struct ChatTraits {
  bool text_content = true;       // message.content as a text
  bool part_content = false;      // message.content as a list of parts
  bool system_role = true;        // prints system messages
  bool developer_role = false;    // has a developer role of its own (gpt-oss)
  bool text_arguments = false;    // function.arguments of earlier tool calls as JSON text
  bool object_arguments = false;  // … as an object
  bool tool_calls() const { return text_arguments || object_arguments; }
};

struct ChatInput {
  Json messages;  // array of messages as in the Chat Completions API
  Json tools;     // array, or null when there are none
  bool add_generation_prompt = true;
  Json extra_vars;                   // further variables (object or null): enable_thinking, documents, …
  std::string bos_token, eos_token;  // texts
  // The tokenizer adds these itself: dropped from the ends of the rendered text.
  bool tokenizer_adds_bos = false, tokenizer_adds_eos = false;
};

ChatTraits probe_template(const Template& chat_template);

// Null: ChatML. Throws Error (BadInput) for messages or variables that make no sense (the message names the field), and
// TemplateError for whatever the template raises. The first form probes the template each time; keep its traits where
// many chats are rendered.
std::string render_chat(const Template* chat_template, const ChatInput& input, const RenderOptions& options = {});
std::string render_chat(const Template* chat_template, const ChatTraits& traits, const ChatInput& input,
                        const RenderOptions& options = {});

struct ChatPrompt {
  std::string text;               // the whole prompt
  std::string generation_prompt;  // its end that opens the assistant's turn; what the model writes continues this
};
// A prompt with its generation prompt apart. With `continue_final`, the last message must be the assistant's: its turn
// is left open behind its reasoning and content, which the model continues (they are part of generation_prompt too).
ChatPrompt render_prompt(const Template* chat_template, const ChatTraits& traits, ChatInput input, bool continue_final,
                         const RenderOptions& options = {});

// The messages and tools as the template gets them.
Json normalize_messages(const Json& messages, const ChatTraits& traits);
Json normalize_tools(const Json& tools);

}  // namespace tally::text
