// A schema's text, checked: every keyword has the type that draft 2020-12 asks for, wherever a schema may stand; names
// of resources and anchors are known, and references are followed inside the document only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/grammar/schema_json.h"

namespace tally::grammar {

enum class Keyword : uint8_t {
  Unknown,
  Ref,
  DynamicRef,
  Id,
  Anchor,
  DynamicAnchor,
  Defs,
  Type,
  Enum,
  Const,
  AllOf,
  AnyOf,
  OneOf,
  Not,
  If,
  Then,
  Else,
  MultipleOf,
  Maximum,
  ExclusiveMaximum,
  Minimum,
  ExclusiveMinimum,
  MaxLength,
  MinLength,
  Pattern,
  Format,
  Items,
  PrefixItems,
  Contains,
  MinContains,
  MaxContains,
  MaxItems,
  MinItems,
  UniqueItems,
  UnevaluatedItems,
  Properties,
  PatternProperties,
  AdditionalProperties,
  PropertyNames,
  Required,
  MaxProperties,
  MinProperties,
  DependentRequired,
  DependentSchemas,
  UnevaluatedProperties
};
Keyword keyword_of(std::string_view name);

class SchemaDocument {
 public:
  // Checks everything. Throws ConstraintError. `warnings` may be null.
  SchemaDocument(JsonDocument json, std::vector<std::string>* warnings);

  const JsonDocument& json() const { return json_; }
  int root() const { return json_.root(); }
  bool restricts(int schema) const;  // false: no keyword of it says anything about values
  bool has_unevaluated() const { return has_unevaluated_; }

  // The schema that the string `reference` (value of $ref or $dynamicRef) of the schema leads to. Throws "reference".
  int target(int reference);
  // Whether the anchor that a $dynamicRef names is one of several, so that its target depends on the way to it.
  bool is_ambiguous(int reference) const;
  // The end of a chain of schemas that consist of a reference. Throws "reference" for a cycle.
  int follow(int schema);

 private:
  struct Resource {
    int root;
    std::string uri;
  };
  void check_from(int schema, int resource);
  void check_schema(int schema, int resource);
  void check_keyword(int value, Keyword k, int resource);
  void name_resource(int schema, int& resource);
  void add_subschema(int schema, int resource);
  int resource_of(int value) const;
  int at_pointer(int from, std::string_view pointer, int reference) const;
  void warn(int value, const std::string& message) const;

  JsonDocument json_;
  std::vector<std::string>* warnings_;
  std::vector<Resource> resources_;
  std::unordered_map<std::string, int> by_uri_;
  std::map<std::pair<int, std::string>, int> anchors_;
  std::map<std::string, int> dynamic_anchors_;  // how many there are of a name
  std::vector<int> resource_;                   // of checked schemas; −1: not checked
  std::vector<std::pair<int, int>> to_check_;
  std::unordered_map<int, int> targets_;
  bool has_unevaluated_ = false;
};

// A count such as maxItems; larger ones than 64 bits hold are kUnbounded.
uint64_t count_value(const JsonDocument& json, int value);

}  // namespace tally::grammar
