// Hostile templates over ordinary variables: no crash, no leak, no unbounded work, and errors of the right kind. Input:
// a template; behind a line "---", JSON variables in place of the built-in ones.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "text/chat.h"
#include "text/utf8.h"

namespace {

using namespace tally;
using text::Json;

const Json& built_in_variables() {
  static const Json variables = Json::parse(R"({
    "messages": [{"role": "system", "content": "S é"}, {"role": "user", "content": "U\nx <b>"},
                 {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
                  "function": {"name": "f", "arguments": {"a": 1, "b": [1.5, true, null]}}}]},
                 {"role": "tool", "content": "{\"r\": 1}"}],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "x": 7, "f": 2.5, "xs": [3, 1, 2],
    "m": {"b": 1, "a": [1, 2], "c": {"d": null}}, "s": "abc", "u": 18446744073709551615})");
  return variables;
}

text::RenderOptions small_limits() {
  text::RenderOptions options;
  options.now = "2026-01-02T03:04:05";
  options.limits.steps = 50'000;
  options.limits.memory_bytes = 16 << 20;
  options.limits.output_bytes = 1 << 20;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  static const text::RenderOptions options = small_limits();
  Json variables = built_in_variables();
  if (const size_t line = input.find("\n---\n"); line != std::string_view::npos) {
    Json own = Json::parse(input.substr(line + 5), nullptr, /*allow_exceptions=*/false);
    if (own.is_object()) variables = std::move(own);
    input = input.substr(0, line);
  }
  try {
    const text::Template t = text::Template::parse(input);
    const std::string once = t.render(variables, options);
    CHECK(text::is_valid_utf8(once));
    CHECK(once.size() <= options.limits.output_bytes);
    CHECK(t.render(variables, options) == once, "a template is a function of its variables");
  } catch (const text::TemplateError& e) {
    CHECK(!e.kind().empty());
  }
  return 0;
}
