// Messages as templates get them, and the prompts that come out.
#include <gtest/gtest.h>

#include "support.h"
#include "text/chat.h"

namespace tally::text {
namespace {

Template file(const std::string& name) {
  const auto bytes =
      test::read_file(std::filesystem::path(TALLY_SOURCE_DIR) / "tests/data/templates/templates" / (name + ".jinja"));
  return Template::parse(std::string(bytes.begin(), bytes.end()));
}

Json user(const Json& content) { return {{"role", "user"}, {"content", content}}; }

ChatInput chat(Json messages) {
  ChatInput input;
  input.messages = std::move(messages);
  return input;
}

TEST(Chat, FallbackIsChatMl) {
  EXPECT_EQ(render_chat(nullptr, chat({{{"role", "system"}, {"content", "S"}}, user("U")})),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render_chat(nullptr, chat({user({{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}})})),
            "<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Chat, ContentMayBeNullOrMissing) {
  const Json messages = Json::array({user(nullptr), Json{{"role", "assistant"}}});
  EXPECT_EQ(render_chat(nullptr, chat(messages)),
            "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Chat, PartsOnlyTemplatesGetParts) {
  const Template t =
      Template::parse("{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}");
  const ChatTraits traits = probe_template(t);
  EXPECT_TRUE(traits.part_content);
  EXPECT_FALSE(traits.text_content);
  EXPECT_EQ(render_chat(&t, chat({user("hello")})), "[hello]");
}

TEST(Chat, DeveloperBecomesSystem) {
  const Json messages = Json::array({Json{{"role", "developer"}, {"content", "D"}}, user("U")});
  EXPECT_EQ(normalize_messages(messages, {})[0]["role"], "system");
  const Template gpt_oss = file("openai-gpt-oss-120b");
  EXPECT_TRUE(probe_template(gpt_oss).developer_role);
}

TEST(Chat, SystemTextIsFoldedWhereTheTemplateHasNoSuchRole) {
  const Template t = Template::parse(
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{{ m.role }}:{{ "
      "m.content }};{% endfor %}");
  EXPECT_FALSE(probe_template(t).system_role);
  EXPECT_EQ(render_chat(&t, chat({{{"role", "system"}, {"content", "S"}}, user("U")})), "user:S\nU;");
}

TEST(Chat, ArgumentsBecomeAnObjectWhereTheTemplateWalksThem) {
  const Template t = Template::parse(
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{% for k, v in c.function.arguments.items() %}"
      "<{{ k }}>{{ v }}{% endfor %}{% endfor %}{% endfor %}");
  const ChatTraits traits = probe_template(t);
  EXPECT_TRUE(traits.object_arguments);
  EXPECT_FALSE(traits.text_arguments);
  const Json call{
      {"id", "1"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{\"b\": 1, \"a\": true}"}}}};
  const Json assistant{{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}};
  EXPECT_EQ(render_chat(&t, chat({user("U"), assistant})), "U<b>1<a>True");
}

TEST(Chat, RealTemplatesAreProbedRightly) {
  const ChatTraits qwen = probe_template(file("Qwen3.5-4B"));
  EXPECT_TRUE(qwen.text_content && qwen.system_role && qwen.object_arguments && !qwen.text_arguments);
  const ChatTraits qwen3 = probe_template(file("Qwen-Qwen3-0.6B"));
  EXPECT_TRUE(qwen3.text_content && qwen3.system_role && qwen3.text_arguments);
  const ChatTraits smol = probe_template(file("HuggingFaceTB-SmolLM2-135M-Instruct"));
  EXPECT_TRUE(smol.text_content && smol.system_role && !smol.tool_calls());
}

TEST(Chat, ReasoningUnderAllNames) {
  const Json m =
      normalize_messages(Json::array({Json{{"role", "assistant"}, {"content", "a"}, {"reasoning", "r"}}}), {})[0];
  EXPECT_EQ(m["reasoning_content"], "r");
  EXPECT_EQ(m["thinking"], "r");
}

TEST(Chat, ToolsInTheirOrder) {
  const Json tool{
      {"function", {{"parameters", {{"type", "object"}}}, {"strict", true}, {"name", "f"}, {"description", "d"}}}};
  EXPECT_EQ(normalize_tools(Json::array({tool})).dump(),
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}])");
  EXPECT_TRUE(normalize_tools(Json::array()).is_null());
}

TEST(Chat, GenerationPromptAndContinuation) {
  const Template t = file("Qwen3.5-4B");
  const ChatTraits traits = probe_template(t);
  const ChatPrompt open = render_prompt(&t, traits, chat({user("U")}), false);
  EXPECT_EQ(open.generation_prompt, "<|im_start|>assistant\n<think>\n");
  const Json prefill{{"role", "assistant"}, {"content", "Once upon"}};
  const ChatPrompt more = render_prompt(&t, traits, chat({user("U"), prefill}), true);
  EXPECT_EQ(more.text, "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nOnce upon");
  EXPECT_THROW(render_prompt(&t, traits, chat({user("U")}), true), Error);
}

TEST(Chat, BosIsNotDoubled) {
  const Template t = Template::parse("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}");
  ChatInput input = chat({user("U")});
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  EXPECT_EQ(render_chat(&t, input), "<s>U</s>");
  input.tokenizer_adds_bos = input.tokenizer_adds_eos = true;
  EXPECT_EQ(render_chat(&t, input), "U");
}

TEST(Chat, BadRequestsNameTheField) {
  auto message_of = [](const ChatInput& input) -> std::string {
    try {
      return render_chat(nullptr, input);
    } catch (const Error& e) {
      return e.what();
    }
  };
  EXPECT_NE(message_of(chat({{{"content", "x"}}})).find("messages[0].role"), std::string::npos);
  EXPECT_NE(message_of(chat({user(5)})).find("messages[0].content"), std::string::npos);
  EXPECT_NE(message_of(chat({user({{{"type", "image_url"}}})})).find("image_url"), std::string::npos);
  ChatInput input = chat({user("U")});
  input.extra_vars = {{"messages", "mine"}};
  EXPECT_NE(message_of(input).find("\"messages\""), std::string::npos);
}

}  // namespace
}  // namespace tally::text
