// Which keywords there are and what their values must be (JSON Schema, core and validation, draft 2020-12).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/grammar/constraint_error.h"
#include "text/grammar/rules.h"
#include "text/grammar/schema_decimal.h"
#include "text/grammar/schema_document.h"

namespace tally::grammar {
namespace {

enum class Form : uint8_t {
  Any,
  Schema,
  Schemas,
  SchemaMap,
  String,
  Strings,
  StringsMap,
  Number,
  Step,
  Count,
  Bool,
  Type,
  Array
};

struct Row {
  std::string_view name;
  Keyword keyword;
  Form form;
};

constexpr std::array<Row, 45> kRows{{
    {"$ref", Keyword::Ref, Form::String},
    {"$dynamicRef", Keyword::DynamicRef, Form::String},
    {"$id", Keyword::Id, Form::String},
    {"$anchor", Keyword::Anchor, Form::String},
    {"$dynamicAnchor", Keyword::DynamicAnchor, Form::String},
    {"$defs", Keyword::Defs, Form::SchemaMap},
    {"definitions", Keyword::Defs, Form::SchemaMap},
    {"type", Keyword::Type, Form::Type},
    {"enum", Keyword::Enum, Form::Array},
    {"const", Keyword::Const, Form::Any},
    {"allOf", Keyword::AllOf, Form::Schemas},
    {"anyOf", Keyword::AnyOf, Form::Schemas},
    {"oneOf", Keyword::OneOf, Form::Schemas},
    {"not", Keyword::Not, Form::Schema},
    {"if", Keyword::If, Form::Schema},
    {"then", Keyword::Then, Form::Schema},
    {"else", Keyword::Else, Form::Schema},
    {"multipleOf", Keyword::MultipleOf, Form::Step},
    {"maximum", Keyword::Maximum, Form::Number},
    {"exclusiveMaximum", Keyword::ExclusiveMaximum, Form::Number},
    {"minimum", Keyword::Minimum, Form::Number},
    {"exclusiveMinimum", Keyword::ExclusiveMinimum, Form::Number},
    {"maxLength", Keyword::MaxLength, Form::Count},
    {"minLength", Keyword::MinLength, Form::Count},
    {"pattern", Keyword::Pattern, Form::String},
    {"format", Keyword::Format, Form::String},
    {"items", Keyword::Items, Form::Schema},
    {"prefixItems", Keyword::PrefixItems, Form::Schemas},
    {"contains", Keyword::Contains, Form::Schema},
    {"minContains", Keyword::MinContains, Form::Count},
    {"maxContains", Keyword::MaxContains, Form::Count},
    {"maxItems", Keyword::MaxItems, Form::Count},
    {"minItems", Keyword::MinItems, Form::Count},
    {"uniqueItems", Keyword::UniqueItems, Form::Bool},
    {"unevaluatedItems", Keyword::UnevaluatedItems, Form::Schema},
    {"properties", Keyword::Properties, Form::SchemaMap},
    {"patternProperties", Keyword::PatternProperties, Form::SchemaMap},
    {"additionalProperties", Keyword::AdditionalProperties, Form::Schema},
    {"propertyNames", Keyword::PropertyNames, Form::Schema},
    {"required", Keyword::Required, Form::Strings},
    {"maxProperties", Keyword::MaxProperties, Form::Count},
    {"minProperties", Keyword::MinProperties, Form::Count},
    {"dependentRequired", Keyword::DependentRequired, Form::StringsMap},
    {"dependentSchemas", Keyword::DependentSchemas, Form::SchemaMap},
    {"unevaluatedProperties", Keyword::UnevaluatedProperties, Form::Schema},
}};

const Row* row_of(std::string_view name) {
  static const std::unordered_map<std::string_view, const Row*> table = [] {
    std::unordered_map<std::string_view, const Row*> t;
    for (const Row& r : kRows) t.emplace(r.name, &r);
    return t;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

// Of older drafts and other dialects: they look as if they said something.
constexpr std::string_view kForeign[] = {"dependencies",  "additionalItems", "nullable", "discriminator",
                                         "$recursiveRef", "divisibleBy",     "disallow", "extends"};
constexpr std::string_view kTypes[] = {"null", "boolean", "object", "array", "number", "string", "integer"};

}  // namespace

Keyword keyword_of(std::string_view name) {
  const Row* row = row_of(name);
  return row == nullptr ? Keyword::Unknown : row->keyword;
}

uint64_t count_value(const JsonDocument& json, int value) {
  Decimal d = parse_decimal(json.text(value), json.pointer(value));
  uint64_t n = 0;
  for (char c : plain_digits(d).integer) {
    if (n > (kUnbounded - 9) / 10) return kUnbounded;
    n = n * 10 + static_cast<uint64_t>(c - '0');
  }
  return n;
}

void SchemaDocument::warn(int value, const std::string& message) const {
  if (warnings_ != nullptr && warnings_->size() < 50) warnings_->push_back(json_.pointer(value) + ": " + message);
}

void SchemaDocument::add_subschema(int schema, int resource) {
  if (!json_.is(schema, JsonKind::Object) && !json_.is(schema, JsonKind::True) && !json_.is(schema, JsonKind::False)) {
    throw ConstraintError(
        "invalid_schema", json_.pointer(schema),
        fmt::format("a schema is an object or a boolean; here stands {}", name_of(json_.kind(schema))));
  }
  if (resource_[schema] < 0) to_check_.emplace_back(schema, resource);
}

void SchemaDocument::check_keyword(int v, Keyword k, int resource) {
  const Row& row = *std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.keyword == k; });
  auto require = [&](bool good, std::string_view expected) {
    if (good) return;
    throw ConstraintError("invalid_schema", json_.pointer(v),
                          fmt::format("{} must be {}; here stands {}", row.name, expected, name_of(json_.kind(v))));
  };
  auto all_strings = [&](int list) {
    if (!json_.is(list, JsonKind::Array)) return false;
    for (int i = 0; i < json_.size(list); ++i)
      if (!json_.is(json_.child(list, i), JsonKind::String)) return false;
    return true;
  };
  const bool number = json_.is(v, JsonKind::Number);
  switch (row.form) {
    case Form::Any:
      break;
    case Form::Schema:
      require(!(k == Keyword::Items && json_.is(v, JsonKind::Array)), "one schema (lists stand in prefixItems)");
      add_subschema(v, resource);
      break;
    case Form::Schemas:
      require(json_.is(v, JsonKind::Array) && (json_.size(v) > 0 || k == Keyword::PrefixItems), "a list of schemas");
      for (int i = 0; i < json_.size(v); ++i) add_subschema(json_.child(v, i), resource);
      break;
    case Form::SchemaMap:
      require(json_.is(v, JsonKind::Object), "an object of schemas");
      for (int i = 0; i < json_.size(v); ++i) add_subschema(json_.child(v, i), resource);
      break;
    case Form::String:
      require(json_.is(v, JsonKind::String), "a string");
      break;
    case Form::Strings:
      require(all_strings(v), "a list of strings");
      break;
    case Form::StringsMap:
      require(json_.is(v, JsonKind::Object), "an object of lists of strings");
      for (int i = 0; i < json_.size(v); ++i) require(all_strings(json_.child(v, i)), "an object of lists of strings");
      break;
    case Form::Number:
      require(number, "a number");
      break;
    case Form::Step: {
      Decimal d = number ? parse_decimal(json_.text(v), json_.pointer(v)) : Decimal{};
      require(number && !d.is_zero() && !d.negative, "a number above 0");
      break;
    }
    case Form::Count: {
      Decimal d = number ? parse_decimal(json_.text(v), json_.pointer(v)) : Decimal{};
      require(number && d.is_integer() && !d.negative, "a whole number, 0 or above");
      break;
    }
    case Form::Bool:
      require(json_.is(v, JsonKind::True) || json_.is(v, JsonKind::False), "true or false");
      break;
    case Form::Type: {
      auto known = [&](int t) {
        return json_.is(t, JsonKind::String) &&
               std::find(std::begin(kTypes), std::end(kTypes), json_.text(t)) != std::end(kTypes);
      };
      bool good = known(v) || (json_.is(v, JsonKind::Array) && json_.size(v) > 0);
      for (int i = 0; good && json_.is(v, JsonKind::Array) && i < json_.size(v); ++i) good = known(json_.child(v, i));
      require(good, "one of null, boolean, object, array, number, string, integer, or a list of these");
      break;
    }
    case Form::Array:
      require(json_.is(v, JsonKind::Array), "a list of values");
      break;
  }
}

void SchemaDocument::check_schema(int schema, int resource) {
  if (!json_.is(schema, JsonKind::Object)) return;
  for (int i = 0; i < json_.size(schema); ++i) {
    const std::string_view name = json_.key(schema, i);
    const int v = json_.child(schema, i);
    const Keyword k = keyword_of(name);
    if (k == Keyword::Defs && name == "definitions" && !json_.is(v, JsonKind::Object)) continue;  // of older drafts
    if (k != Keyword::Unknown) {
      check_keyword(v, k, resource);
    } else if (std::find(std::begin(kForeign), std::end(kForeign), name) != std::end(kForeign)) {
      warn(v, fmt::format("\"{}\" is no keyword of draft 2020-12 and has no effect", name));
    }
    has_unevaluated_ |= k == Keyword::UnevaluatedItems || k == Keyword::UnevaluatedProperties;
  }
}

bool SchemaDocument::restricts(int schema) const {
  if (!json_.is(schema, JsonKind::Object)) return json_.is(schema, JsonKind::False);
  for (int i = 0; i < json_.size(schema); ++i) {
    const Keyword k = keyword_of(json_.key(schema, i));
    if (k != Keyword::Unknown && k != Keyword::Id && k != Keyword::Anchor && k != Keyword::DynamicAnchor &&
        k != Keyword::Defs)
      return true;
  }
  return false;
}

}  // namespace tally::grammar
