#include "text/constrain/call_form.h"

namespace tally::constrain {
namespace {

#define HERMES(family)                                                                                                \
  {                                                                                                                   \
    family, "<tool_call>\x03", "{\x01\"name\":\x02\"", "\"\x01,\x02\"arguments\"\x01:\x02", Arguments::Json, "\x01}", \
        "", "\x03</tool_call>"                                                                                        \
  }
#define FUNCTION(family)                                                                                               \
  {                                                                                                                    \
    family, "<tool_call>\n", "<function=", ">\x03", Arguments::Function, "</function>", "", "\x03</tool_call>", false, \
        true                                                                                                           \
  }
#define DEEPSEEK(family)                                                                                \
  {                                                                                                     \
    family, "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\x03```json\x03", \
        Arguments::Json, "\x03```<｜tool▁call▁end｜>", "\x03", "<｜tool▁calls▁end｜>", false, true      \
  }

constexpr CallForm kForms[] = {
    HERMES("qwen3"),
    HERMES("hermes"),
    HERMES("smollm3"),
    HERMES("ling"),
    HERMES("granite4"),
    FUNCTION("qwen3.5"),
    FUNCTION("qwen3-coder"),
    DEEPSEEK("deepseek-v3"),
    DEEPSEEK("deepseek-r1"),
    {"deepseek-v3.1", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", Arguments::Json,
     "<｜tool▁call▁end｜>", "\x01", "<｜tool▁calls▁end｜>", false, true},
    {"llama3", "", "{\x01\"name\"\x01:\x02\"", "\"\x01,\x02\"parameters\"\x01:\x02", Arguments::Json, "\x01}", "", "",
     true},
    {"mistral-old", "[TOOL_CALLS]\x01[\x01", "{\x01\"name\"\x01:\x02\"", "\"\x01,\x02\"arguments\"\x01:\x02",
     Arguments::Json, "\x01}", "\x01,\x02", "\x01]"},
    {"mistral-new", "", "[TOOL_CALLS]", "[ARGS]", Arguments::Json, "", "", ""},
    {"lfm2", "<|tool_call_start|>\x01[\x01", "", "(", Arguments::Python, ")", ",\x02", "\x01]\x01<|tool_call_end|>"},
    {"gpt-oss", "", "<|channel|>commentary to=functions.", "\x02<|constrain|>json<|message|>\x01", Arguments::Json, "",
     "<|call|><|start|>assistant", ""},
    {"gpt-oss", "", "<|channel|>commentary to=functions.", "<|message|>\x01", Arguments::Json, "",
     "<|call|><|start|>assistant", ""},
    {"glm4.5", "", "<tool_call>", "\n", Arguments::Keys, "</tool_call>", "", ""},
    {"gemma3", "```tool_code\x03", "", "(", Arguments::Python, ")", "", "\x03```"},
    {"gemma4", "", "<|tool_call>call:", "{", Arguments::Gemma, "}<tool_call|>", "", ""},
    {"phi4-mini", "<|tool_call|>\x01[\x01",
     "{\x01\"type\"\x01:\x02\"function\"\x01,\x02\"function\"\x01:\x02{\x01\"name\"\x01:\x02\"",
     "\"\x01,\x02\"arguments\"\x01:\x02", Arguments::Json, "\x01}\x01}", "\x01,\x02", "\x01]\x01<|/tool_call|>"},
    {"phi4-mini", "<|tool_call|>\x01[\x01", "{\x01\"name\"\x01:\x02\"", "\"\x01,\x02\"arguments\"\x01:\x02",
     Arguments::Json, "\x01}", "\x01,\x02", "\x01]\x01<|/tool_call|>"},
    {"command-r", "<|START_ACTION|>\x01[\x03    ",
     "{\x01\"tool_call_id\"\x01:\x02\"\x04\"\x01,\x02\"tool_name\"\x01:\x02\"", "\"\x01,\x02\"parameters\"\x01:\x02",
     Arguments::Json, "\x01}", "\x01,\x03    ", "\x03]\x01<|END_ACTION|>"},
    {"granite3", "<|tool_call|>\x01[\x01", "{\x01\"name\"\x01:\x02\"", "\"\x01,\x02\"arguments\"\x01:\x02",
     Arguments::Json, "\x01}", "\x01,\x02", "\x01]"},
    {"generic", "{\x01\"tool_call\"\x01:\x02", "{\x01\"name\"\x01:\x02\"", "\"\x01,\x02\"arguments\"\x01:\x02",
     Arguments::Json, "\x01}", "", "\x01}", true},
};
#undef HERMES
#undef FUNCTION
#undef DEEPSEEK

}  // namespace

std::span<const CallForm> call_forms() { return kForms; }

std::string call_example(std::string_view family) {
  std::string out;
  auto write = [&](std::string_view text) {
    for (char c : text)
      out += c == '\x01' ? "" : c == '\x02' ? " " : c == '\x03' ? "\n" : c == '\x04' ? "0" : std::string(1, c);
  };
  for (const CallForm& form : kForms) {
    if (form.family != family) continue;
    static constexpr std::string_view kArguments[] = {
        "{\"ARGUMENT\": VALUE}", "<parameter=ARGUMENT>\nVALUE\n</parameter>\n",
        "<arg_key>ARGUMENT</arg_key>\n<arg_value>VALUE</arg_value>\n", "ARGUMENT=VALUE", "ARGUMENT:VALUE"};
    for (std::string_view text : {form.open, form.before, std::string_view("NAME"), form.after,
                                  kArguments[int(form.arguments)], form.behind, form.close})
      write(text);
    break;
  }
  return out;
}

}  // namespace tally::constrain
