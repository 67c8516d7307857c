#include "text/grammar/schema.h"

namespace tally::grammar {

Rules compile_schema(std::string_view json_text, const SchemaOptions& options, std::vector<std::string>* warnings) {
  Rules rules;
  rules.set_root(add_schema(rules, json_text, options, warnings));
  return rules;
}

NodeId add_schema(Rules&, std::string_view, const SchemaOptions&, std::vector<std::string>*) {
  throw ConstraintError("unsupported", "", "JSON Schema is not compiled yet");
}

SchemaObject add_object_properties(Rules&, std::string_view, const SchemaOptions&, std::vector<std::string>*) {
  throw ConstraintError("unsupported", "", "JSON Schema is not compiled yet");
}

}  // namespace tally::grammar
