// Rules for outputs with tool calls: from the moment a call's name is complete, its arguments obey the tool's schema.
//
// A whole output is described, free text included: reasoning and text are free, except that the beginning of a call of
// a declared tool cannot be passed without what its schema asks for. The runtime can so walk and roll back a draft
// like under any other grammar. Calls in other spellings than the format's own (keys in another order, for instance)
// are text to these rules and not bound.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/rules.h"

namespace tally::constrain {

struct ToolSchema {
  std::string name;
  std::string parameters;  // JSON Schema of the arguments; empty: any object
};

struct CallRequest {
  std::string_view family;        // parse::family_names()
  std::vector<ToolSchema> tools;  // those that may be called; not empty
  bool required = false;          // nothing but reasoning and calls: at least one
  bool parallel = true;           // required: there may be more than one
  std::string_view prompt_opens;  // what the prompt ended with
};

struct CallRules {
  grammar::Rules rules;
  // Tools whose arguments could not be bound to their schema, or not in every respect, and why.
  std::vector<std::string> warnings;
  // Texts of the format's markers: where a vocabulary has them as control tokens, these must be among the choices.
  std::vector<std::string> markers;
};

// Throws Error (BadInput) for an unknown family or a tool's name that the format cannot write, and ConstraintError
// ("limit") when the tools are too many.
CallRules call_rules(const CallRequest& request);

}  // namespace tally::constrain
