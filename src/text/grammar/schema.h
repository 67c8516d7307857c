// JSON Schema (draft 2020-12) to Rules: the texts that the rules take are JSON documents that the schema accepts. A
// schema is obeyed in full or refused with a ConstraintError; no keyword that restricts is left out silently.
//
// Form of the output. White space: none, or one space after each ':' and ',', nowhere else. Properties come in declared
// order (then in the order of "required"), undeclared ones last. Where "properties" or "prefixItems" are given and
// nothing is said about further properties or items, there are none: the standard would allow any, a reader of the
// output seldom wants them, and additionalProperties or items say it. Strings: characters raw; \" \\ \b \f \n \r \t by
// these escapes, other controls as \u00xx (hexadecimal digits of either case); \/ and \u for what needs none are
// refused. Integers have neither fraction nor exponent; numbers under a range, multipleOf, enum or const have no
// exponent and no negative zero, those of an enum or const not even zeros at the end. `format` is enforced; a 60th
// second and a 29 February of other than leap years are refused. A key twice in one object of the schema is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/constraint_error.h"
#include "text/grammar/rules.h"

namespace tally::grammar {

struct SchemaOptions {
  bool formats = true;                     // enforce `format`; false: read it as an annotation
  uint64_t max_bytes = 8u << 20;           // of the schema's text
  uint64_t max_depth = 512;                // nesting of the schema's text
  uint64_t max_nodes = 400'000;            // of the rules that one schema makes
  uint64_t max_automaton_states = 65'536;  // of one automaton for a string or number
  uint64_t max_work = 10'000'000;          // steps of all automata and merges of one schema
};

// The rules of a schema, with its root. Throws ConstraintError (codes invalid_schema, unsupported, limit,
// unsatisfiable, reference, not_json) with a JSON pointer. `warnings` (may be null) receives what was read but has no
// effect, such as unknown formats.
Rules compile_schema(std::string_view json_text, const SchemaOptions& options = {},
                     std::vector<std::string>* warnings = nullptr);

// The same inside other rules: returns the node of a whole value. The root of `rules` stays as it is.
NodeId add_schema(Rules& rules, std::string_view json_text, const SchemaOptions& options = {},
                  std::vector<std::string>* warnings = nullptr);

// A declared property of an object schema, for call formats that do not write objects as JSON.
struct SchemaProperty {
  std::string name;
  bool required = false;
  NodeId value;                      // the value as JSON
  bool is_string = false;            // only strings are valid (value is a JSON string)
  bool any_string = false;           // is_string, and every string is valid
  std::vector<std::string> strings;  // is_string and finitely many (enum, const): the strings themselves
};
struct SchemaObject {
  std::vector<SchemaProperty> properties;  // in declared order
  bool more = false;                       // properties that are not declared are allowed, with more_value
  NodeId more_value;
  bool exact =
      true;  // false: the schema says more about the object than this list does (then only add_schema is exact)
};

// The properties of a schema whose value must be an object (a tool's parameters). Throws as compile_schema does, and
// "unsupported" when the value need not be an object.
SchemaObject add_object_properties(Rules& rules, std::string_view json_text, const SchemaOptions& options = {},
                                   std::vector<std::string>* warnings = nullptr);

}  // namespace tally::grammar
