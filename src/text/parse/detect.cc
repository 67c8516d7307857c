// Which family a model is of, by the marks of its chat template.
#include <algorithm>

#include "text/parse/parser.h"

namespace tally::parse {
namespace {

struct Rule {
  std::string_view family;
  std::string_view marks[3];   // all of them stand in the template
  std::string_view none = {};  // this one does not
};

// The first that fits. Marks that are part of other families' templates too come last.
constexpr Rule kRules[] = {
    {"gpt-oss", {"<|channel|>", "<|message|>"}},
    {"gemma4", {"<|tool_call>"}},
    {"command-r", {"<|START_ACTION|>"}},
    {"lfm2", {"<|tool_call_start|>"}},
    {"lfm2", {"<|tool_list_start|>"}},
    {"lfm2", {"List of tools: ["}},
    {"mistral-new", {"[TOOL_CALLS]", "[ARGS]"}},
    {"mistral-new", {"[TOOL_CALLS]", "[CALL_ID]"}},
    {"mistral-old", {"[TOOL_CALLS]"}},
    {"glm4.5", {"<arg_key>", "<arg_value>"}},
    {"qwen3.5", {"<function=", "<parameter=", "<think>"}, "<seed:tool_call>"},
    {"qwen3-coder", {"<function=", "<parameter="}, "<seed:tool_call>"},
    {"deepseek-v3.1", {"<｜tool▁sep｜>", "</think>", "'<｜tool▁call▁begin｜>'+ tool['function']['name']"}},
    {"deepseek-r1", {"<｜tool▁sep｜>", "<think>"}},
    {"deepseek-v3", {"<｜tool▁sep｜>"}},
    {"phi4-mini", {"<|/tool_call|>"}},
    {"phi4-mini", {"<|/tool|>"}},
    {"granite3", {"<|tool_call|>", "<|start_of_role|>"}},
    {"granite4", {"<tool_call>", "<|start_of_role|>"}},
    {"smollm3", {"Reasoning Mode: ", "/no_think"}},
    {"ling", {"<tool_call>", "<role>"}},
    {"qwen3", {"<tool_call>", "<think>"}},
    {"hermes", {"<tool_call>"}, "<invoke name="},
    {"llama3", {"<|start_header_id|>", "ipython"}, "<function="},
    {"llama3", {"<|python_tag|>"}, "<function="},
    {"gemma3", {"<start_of_turn>", "<end_of_turn>"}},
};

// Where the template tells nothing.
struct Hint {
  std::string_view architecture, name;  // the name holds this, whatever the case; empty: any
  std::string_view family;
};
constexpr Hint kHints[] = {
    {"gpt-oss", "", "gpt-oss"},     {"gemma3", "", "gemma3"},     {"gemma4", "", "gemma4"},
    {"smollm3", "", "smollm3"},     {"lfm2", "", "lfm2"},         {"lfm2moe", "", "lfm2"},
    {"phi3", "phi-4", "phi4-mini"}, {"qwen35moe", "", "qwen3.5"}, {"qwen35", "", "qwen3.5"},
};

bool holds(std::string_view text, std::string_view lower) {
  auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return lower.empty() || std::search(text.begin(), text.end(), lower.begin(), lower.end(), same) != text.end();
}

bool has(std::string_view text, std::string_view mark) { return text.find(mark) != text.npos; }

}  // namespace

std::string_view detect_family(std::string_view chat_template, std::string_view architecture,
                               std::string_view model_name) {
  for (const Rule& rule : kRules) {
    bool fits = rule.none.empty() || !has(chat_template, rule.none);
    for (std::string_view mark : rule.marks) fits = fits && has(chat_template, mark);
    if (fits) return rule.family;
  }
  for (const Hint& hint : kHints)
    if (chat_template.empty() && hint.architecture == architecture && holds(model_name, hint.name)) return hint.family;
  return "generic";
}

}  // namespace tally::parse
