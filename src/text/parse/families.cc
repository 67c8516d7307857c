#include <array>

#include "text/parse/reader.h"

namespace tally::parse {
namespace {

constexpr std::string_view kThink = "<think>", kEndThink = "</think>";
constexpr CallMarker kHermes[] = {{"<tool_call>", read_hermes}};
constexpr CallMarker kXml[] = {{"<tool_call>", read_tagged_xml}, {"<function=", read_function_xml}};
constexpr CallMarker kLlama[] = {{"<|python_tag|>", read_python_tag}};
constexpr CallMarker kMistral[] = {{"[TOOL_CALLS]", read_mistral}};
constexpr CallMarker kLfm2[] = {{"<|tool_call_start|>", read_lfm2}};
constexpr CallMarker kDeepseek[] = {{"<｜tool▁calls▁begin｜>", read_deepseek},
                                    {"<｜tool▁call▁begin｜>", read_deepseek_call}};
constexpr CallMarker kGlm[] = {{"<tool_call>", read_glm}};
constexpr CallMarker kGemma3[] = {{"```tool_code", read_tool_code, CallMarker::AtLineStart},
                                  {"```json", read_json_fence, CallMarker::AtLineStart}};
constexpr CallMarker kGemma4[] = {{"<|tool_call>", read_gemma4}};
constexpr CallMarker kPhi[] = {{"<|tool_call|>", read_phi}, {"functools[", read_functools, CallMarker::AtStart}};
constexpr CallMarker kAction[] = {{"<|START_ACTION|>", read_action}};
constexpr CallMarker kGranite3[] = {{"<|tool_call|>", read_granite3}};
constexpr Wrapper kResponse[] = {{"<|START_RESPONSE|>", "<|END_RESPONSE|>"}, {"<|START_TEXT|>", "<|END_TEXT|>"}};
constexpr Wrapper kAnswer[] = {{"<response>", "</response>"}};

constexpr Family thinking(std::string_view name, std::span<const CallMarker> calls) {
  return {.name = name, .think_open = kThink, .think_close = kEndThink, .calls = calls, .wrappers = {}};
}
constexpr Family plain(std::string_view name, std::span<const CallMarker> calls) {
  return {.name = name, .think_open = {}, .think_close = {}, .calls = calls, .wrappers = {}};
}

constexpr auto make_families() {
  std::array all = {
      thinking("qwen3", kHermes),
      thinking("hermes", kHermes),
      thinking("smollm3", kHermes),
      thinking("ling", kHermes),
      thinking("granite4", kHermes),
      thinking("qwen3.5", kXml),
      plain("qwen3-coder", kXml),
      plain("llama3", kLlama),
      plain("mistral-old", kMistral),
      plain("mistral-new", kMistral),
      thinking("lfm2", kLfm2),
      plain("gpt-oss", {}),
      plain("deepseek-v3", kDeepseek),
      thinking("deepseek-r1", kDeepseek),
      thinking("deepseek-v3.1", kDeepseek),
      thinking("glm4.5", kGlm),
      plain("gemma3", kGemma3),
      plain("gemma4", kGemma4),
      plain("phi4-mini", kPhi),
      plain("command-r", kAction),
      thinking("granite3", kGranite3),
      plain("generic", {}),
  };
  for (Family& f : all) {
    if (f.name == "qwen3.5") f.implicit_close = true;
    if (f.name == "llama3") f.bare = read_bare_object;
    if (f.name == "gemma3") f.bare = read_bare_gemma;
    if (f.name == "generic") f.bare = read_bare_generic;
    if (f.name == "gpt-oss") f.whole = read_channels;
    if (f.name == "mistral-old" || f.name == "mistral-new") f.own_ids = true;
    if (f.name == "mistral-new") f.think_open = "[THINK]", f.think_close = "[/THINK]";
    if (f.name == "gemma4") f.think_open = "<|channel>thought\n", f.think_close = "<channel|>";
    if (f.name == "command-r")
      f.think_open = "<|START_THINKING|>", f.think_close = "<|END_THINKING|>", f.wrappers = kResponse;
    if (f.name == "granite3") f.wrappers = kAnswer;
  }
  return all;
}

constexpr auto kFamilies = make_families();

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view name) {
  for (const Family& f : kFamilies)
    if (f.name == name) return &f;
  return nullptr;
}

}  // namespace tally::parse
