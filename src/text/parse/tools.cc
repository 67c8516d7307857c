#include "text/parse/tools.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/parse/json_reader.h"

namespace tally::parse {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxSteps = 256;  // schemas looked at for one parameter; more: nothing is known

Kinds kind_named(std::string_view name) {
  static constexpr std::pair<std::string_view, Kinds> kNames[] = {
      {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", Kinds(kNumber | kInteger)},
      {"string", kString}, {"array", kArray},     {"object", kObject}};
  for (auto [n, kind] : kNames)
    if (n == name) return kind;
  return 0;
}

Kinds kind_of(const Json& value) {
  if (value.is_number()) return value.is_number_integer() ? kInteger : Kinds(kNumber | kInteger);
  return kind_named(value.type_name());
}

// Kinds of values that a schema allows; references are followed inside `root`. 0: not known.
class KindFinder {
 public:
  explicit KindFinder(const Json& root) : root_(root) {}

  // One level is looked at per call; unions and references nest as deep as kMaxDepth.
  Kinds find(const Json& schema, int depth = 0) {
    if (depth > kMaxDepth || ++steps_ > kMaxSteps || !schema.is_object()) return 0;
    Kinds kinds = own(schema);
    if (kinds == 0) kinds = unite(schema, depth);
    if (kinds == 0) kinds = reference(schema, depth);
    if (kinds == 0) kinds = merge(schema, depth);
    if (auto n = schema.find("nullable"); kinds && n != schema.end() && n->is_boolean() && n->get<bool>())
      kinds |= kNull;
    return kinds;
  }

 private:
  static constexpr int kMaxDepth = 16;

  static Kinds own(const Json& schema) {
    Kinds kinds = 0;
    if (auto type = schema.find("type"); type != schema.end()) {
      if (type->is_string()) return kind_named(type->get_ref<const std::string&>());
      if (type->is_array())
        for (const Json& t : *type)
          if (t.is_string()) kinds |= kind_named(t.get_ref<const std::string&>());
      if (kinds) return kinds;
    }
    if (auto value = schema.find("const"); value != schema.end()) return kind_of(*value);
    if (auto values = schema.find("enum"); values != schema.end() && values->is_array())
      for (const Json& value : *values) kinds |= kind_of(value);
    return kinds;
  }

  Kinds unite(const Json& schema, int depth) {
    for (const char* key : {"anyOf", "oneOf"}) {
      auto parts = schema.find(key);
      if (parts == schema.end() || !parts->is_array()) continue;
      Kinds kinds = 0;
      for (const Json& part : *parts) {
        const Kinds k = find(part, depth + 1);
        if (k == 0) return 0;
        kinds |= k;
      }
      return kinds;
    }
    return 0;
  }

  Kinds reference(const Json& schema, int depth) {
    auto ref = schema.find("$ref");
    if (ref == schema.end() || !ref->is_string()) return 0;
    const auto& text = ref->get_ref<const std::string&>();
    if (!text.starts_with('#')) return 0;
    try {
      const Json::json_pointer pointer(text.substr(1));
      return root_.contains(pointer) ? find(root_.at(pointer), depth + 1) : Kinds(0);
    } catch (const Json::exception&) {
      return 0;
    }
  }

  Kinds merge(const Json& schema, int depth) {
    auto parts = schema.find("allOf");
    if (parts == schema.end() || !parts->is_array()) return 0;
    Kinds kinds = 0;
    for (const Json& part : *parts)
      if (const Kinds k = find(part, depth + 1)) kinds = kinds ? Kinds(kinds & k) : k;
    return kinds;
  }

  const Json& root_;
  int steps_ = 0;
};

Tool tool_of(const Json& function, size_t index) {
  if (!function.is_object())
    fail(ErrorCode::BadInput, "tools[{}].function is a JSON {}, expected an object", index, function.type_name());
  auto name = function.find("name");
  if (name == function.end() || !name->is_string() || name->get_ref<const std::string&>().empty())
    fail(ErrorCode::BadInput, "tools[{}].function.name is missing or no text; every tool needs a name", index);
  Tool tool{name->get<std::string>(), {}};
  auto schema = function.find("parameters");
  if (schema == function.end() || !schema->is_object()) return tool;
  const Json* top = &*schema;
  auto properties = top->find("properties");
  if (properties == top->end() || !properties->is_object()) return tool;
  for (const auto& [key, value] : properties->items())
    tool.parameters.push_back({key, KindFinder(*schema).find(value)});
  return tool;
}

Kinds kind_of(char json_kind) {
  switch (json_kind) {
    case 'n':
      return kNull;
    case 'b':
      return kBoolean;
    case 'i':
      return kInteger;
    case 'd':
      return kNumber;
    case 'a':
      return kArray;
    case 'o':
      return kObject;
    default:
      return kString;
  }
}

}  // namespace

Kinds Tool::kinds_of(std::string_view parameter) const {
  for (const Parameter& p : parameters)
    if (p.name == parameter) return p.kinds;
  return 0;
}

ToolSet::ToolSet(const Json& tools) {
  if (tools.is_null()) return;
  if (!tools.is_array()) fail(ErrorCode::BadInput, "\"tools\" is a JSON {}, expected an array", tools.type_name());
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json& tool = tools[i];
    if (!tool.is_object()) fail(ErrorCode::BadInput, "tools[{}] is a JSON {}, expected an object", i, tool.type_name());
    auto type = tool.find("type");
    if (type != tool.end() && type->is_string() && *type != "function") continue;
    auto function = tool.find("function");
    tools_.push_back(tool_of(function == tool.end() ? tool : *function, i));
  }
}

const Tool* ToolSet::find(std::string_view name) const {
  for (const Tool& tool : tools_)
    if (tool.name == name) return &tool;
  return nullptr;
}

std::string json_of_text(std::string_view text, Kinds kinds) {
  if (kinds == kString) return json_quote(text);
  JsonText json = json_text(text);
  if (!json.valid) return json_quote(text);
  if ((kinds & kString) && (json.kind == 's' || !(kinds & kind_of(json.kind)))) return json_quote(text);
  return std::move(json.text);
}

}  // namespace tally::parse
