// What a template understands, found by trying it.
#include "text/chat.h"

namespace tally::text {
namespace {

constexpr const char* kUser = "tally-probe-user";
constexpr const char* kSystem = "tally-probe-system";
constexpr const char* kKey = "tally_probe_key";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Json content_of(std::string_view text, bool parts) {
  if (!parts) return Json(text);
  return Json::array({Json{{"type", "text"}, {"text", text}}});
}

Json probe_tools() {
  return Json::array(
      {Json{{"type", "function"},
            {"function",
             {{"name", "tally_probe_tool"},
              {"description", "probe"},
              {"parameters",
               {{"type", "object"}, {"properties", {{kKey, {{"type", "string"}, {"description", "probe"}}}}}}}}}}});
}

// Empty when the template refuses.
std::string try_render(const Template& t, const Json& messages, const Json& tools) {
  RenderOptions options;
  options.now = "2026-01-02T03:04:05";
  options.limits.steps = 2'000'000;
  options.limits.output_bytes = 4 << 20;
  options.limits.memory_bytes = 64 << 20;
  const Json variables{{"messages", messages},          {"tools", tools},  {"documents", nullptr},
                       {"add_generation_prompt", true}, {"bos_token", ""}, {"eos_token", ""}};
  try {
    return t.render(variables, options);
  } catch (const TemplateError&) {
    return "";
  }
}

Json user(bool parts) { return {{"role", "user"}, {"content", content_of(kUser, parts)}}; }

// A list that the template only prints shows the keys of its parts.
bool shows_parts(const std::string& text) { return has(text, "'type'") || has(text, "\"type\""); }

void probe_content(const Template& t, ChatTraits* traits) {
  const std::string as_text = try_render(t, Json::array({user(false)}), nullptr);
  const std::string as_parts = try_render(t, Json::array({user(true)}), nullptr);
  const bool text = has(as_text, kUser), parts = has(as_parts, kUser) && !shows_parts(as_parts);
  traits->part_content = parts;
  traits->text_content = text || !parts;  // where neither works, the template's own error speaks
}

void probe_system(const Template& t, ChatTraits* traits) {
  const bool parts = !traits->text_content;
  const Json system{{"role", "system"}, {"content", content_of(kSystem, parts)}};
  traits->system_role = has(try_render(t, Json::array({system, user(parts)}), nullptr), kSystem) ||
                        !has(try_render(t, Json::array({user(parts)}), nullptr), kUser);
}

// Arguments are understood when their key is printed as it is: neither escaped as text within text nor as Python's
// repr.
bool prints_arguments(const std::string& text) {
  return has(text, kKey) && !has(text, std::string("\\\"") + kKey) && !has(text, std::string("'") + kKey + "'");
}

bool probe_arguments(const Template& t, const Json& arguments, bool parts) {
  const Json call{{"id", "probe0001"},
                  {"type", "function"},
                  {"function", {{"name", "tally_probe_tool"}, {"arguments", arguments}}}};
  const Json assistant{{"role", "assistant"}, {"content", content_of("", parts)}, {"tool_calls", Json::array({call})}};
  const Json result{{"role", "tool"},
                    {"tool_call_id", "probe0001"},
                    {"name", "tally_probe_tool"},
                    {"content", content_of("probe", parts)}};
  // Without tools first: a list of tools prints the key itself.
  for (const Json& messages : {Json::array({user(parts), assistant, result}), Json::array({user(parts), assistant})})
    if (prints_arguments(try_render(t, messages, nullptr))) return true;
  // Some print calls only where tools are declared; then the key appears once more than in the declaration.
  auto count = [](const std::string& text) {
    size_t n = 0;
    for (size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) ++n;
    return n;
  };
  const std::string before = try_render(t, Json::array({user(parts)}), probe_tools());
  const std::string after = try_render(t, Json::array({user(parts), assistant, result}), probe_tools());
  return !after.empty() && count(after) > count(before) && prints_arguments(after);
}

}  // namespace

ChatTraits probe_template(const Template& t) {
  ChatTraits traits;
  probe_content(t, &traits);
  probe_system(t, &traits);
  const std::string& source = t.source();
  traits.developer_role = has(source, "developer") && has(source, "<|channel|>");
  const bool parts = !traits.text_content;
  traits.text_arguments = probe_arguments(t, Json{{kKey, "x"}}.dump(), parts);
  traits.object_arguments = probe_arguments(t, Json{{kKey, "x"}}, parts);
  return traits;
}

}  // namespace tally::text
