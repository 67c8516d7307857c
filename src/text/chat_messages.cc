// Messages and tools brought into the form that a template understands.
#include <array>

#include "text/chat.h"

namespace tally::text {
namespace {

[[noreturn]] void bad(size_t index, std::string_view what) { fail(ErrorCode::BadInput, "messages[{}]{}", index, what); }

// The texts of a list of parts, joined by newlines.
std::string joined_parts(const Json& parts, size_t index) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    const bool is_text = part.is_object() && part.contains("text") && part["text"].is_string();
    const bool plain = part.is_string();
    if (!is_text && !plain) {
      const std::string type = part.is_object() && part.contains("type") ? part["type"].dump() : part.type_name();
      bad(index, fmt::format(".content has a part of type {}; this model's template takes only text", type));
    }
    if (!first) text += '\n';
    first = false;
    text += plain ? part.get_ref<const std::string&>() : part["text"].get_ref<const std::string&>();
  }
  return text;
}

// Null, missing and empty content are the same.
void normalize_content(Json* message, size_t index, const ChatTraits& traits) {
  Json& content = (*message)["content"];
  if (content.is_null()) content = "";
  if (content.is_array() && !traits.part_content) content = joined_parts(content, index);
  if (content.is_string() && !traits.text_content) {
    std::string text = content.get<std::string>();
    content = Json::array();
    if (!text.empty()) content.push_back({{"type", "text"}, {"text", std::move(text)}});
  }
}

// Arguments travel as JSON text; some templates walk over them and need the object.
void normalize_arguments(Json* message, const ChatTraits& traits) {
  const auto calls = message->find("tool_calls");
  if (calls == message->end() || !calls->is_array()) return;
  for (auto& call : *calls) {
    if (!call.is_object()) continue;
    Json& owner = call.contains("function") && call["function"].is_object() ? call["function"] : call;
    const auto arguments = owner.find("arguments");
    if (arguments == owner.end()) continue;
    if (arguments->is_string() && traits.object_arguments && !traits.text_arguments) {
      // Text that is no JSON stays as it is: the model wrote it, and it should see it.
      Json parsed = Json::parse(arguments->get_ref<const std::string&>(), nullptr, /*allow_exceptions=*/false);
      if (parsed.is_object()) *arguments = std::move(parsed);
    } else if (arguments->is_object() && traits.text_arguments && !traits.object_arguments) {
      *arguments = arguments->dump();
    }
  }
}

// The field's name differs from client to client and from template to template.
void normalize_reasoning(Json* message) {
  for (const char* key : {"reasoning_content", "thinking", "reasoning"}) {
    const auto found = message->find(key);
    if (found == message->end() || !found->is_string()) continue;
    const std::string text = found->get<std::string>();
    (*message)["reasoning_content"] = text;
    (*message)["thinking"] = text;
    return;
  }
}

std::string text_of_content(const Json& content, size_t index) {
  return content.is_array() ? joined_parts(content, index) : content.is_string() ? content.get<std::string>() : "";
}

// Where a template never prints system messages their text goes in front of the first user message.
Json fold_system(const Json& messages) {
  std::string text;
  Json out = Json::array();
  bool pending = false;
  for (size_t i = 0; i < messages.size(); ++i) {
    Json message = messages[i];
    if (message["role"] == "system") {
      const std::string more = text_of_content(message["content"], i);
      text += text.empty() || more.empty() ? more : "\n" + more;
      pending = pending || !more.empty();
      continue;
    }
    if (pending && message["role"] == "user") {
      Json& content = message["content"];
      if (content.is_array())
        content.insert(content.begin(), Json{{"type", "text"}, {"text", text + "\n"}});
      else
        content = text + "\n" + text_of_content(content, i);
      pending = false;
      text.clear();
    }
    out.push_back(std::move(message));
  }
  if (pending) out.push_back({{"role", "user"}, {"content", text}});
  return out;
}

}  // namespace

Json normalize_messages(const Json& messages, const ChatTraits& traits) {
  if (!messages.is_array()) fail(ErrorCode::BadInput, "messages is a JSON {}, expected an array", messages.type_name());
  Json out = Json::array();
  bool has_system = false;
  for (size_t i = 0; i < messages.size(); ++i) {
    Json message = messages[i];
    if (!message.is_object()) bad(i, fmt::format(" is a JSON {}, expected an object", message.type_name()));
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string()) bad(i, ".role is missing or no text");
    const auto content = message.find("content");
    if (content != message.end() && !content->is_null() && !content->is_string() && !content->is_array())
      bad(i, fmt::format(".content is a JSON {}, expected a text or an array of parts", content->type_name()));
    if (*role == "developer" && !traits.developer_role) *role = "system";
    has_system = has_system || *role == "system";
    normalize_reasoning(&message);
    normalize_arguments(&message, traits);
    out.push_back(std::move(message));
  }
  if (has_system && !traits.system_role) out = fold_system(out);
  for (size_t i = 0; i < out.size(); ++i) normalize_content(&out[i], i, traits);
  return out;
}

Json normalize_tools(const Json& tools) {
  if (tools.is_null() || (tools.is_array() && tools.empty())) return nullptr;
  if (!tools.is_array()) fail(ErrorCode::BadInput, "tools is a JSON {}, expected an array", tools.type_name());
  Json out = Json::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json& tool = tools[i];
    if (!tool.is_object()) fail(ErrorCode::BadInput, "tools[{}] is a JSON {}, expected an object", i, tool.type_name());
    const Json& function = tool.contains("function") ? tool["function"] : tool;
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
      fail(ErrorCode::BadInput, "tools[{}].function.name is missing or no text", i);
    // The order in which models saw these keys in training.
    Json ordered = Json::object();
    for (const char* key : {"name", "description", "parameters"})
      if (const auto found = function.find(key); found != function.end()) ordered[key] = *found;
    out.push_back({{"type", "function"}, {"function", std::move(ordered)}});
  }
  return out;
}

}  // namespace tally::text
