// Errors of templates by Python's names.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tally::text::jinja {

enum class Err : uint8_t {
  Template,
  Syntax,
  Assertion,
  Runtime,
  FilterArgument,
  Undefined,
  Security,
  Type,
  Value,
  ZeroDivision,
  Overflow,
  Index,
  Key,
  Attribute,
  Limit
};

const char* name_of(Err kind);

// Throws TemplateError; line 0 where it is not known (the interpreter adds it).
[[noreturn]] void raise(Err kind, int line, const std::string& message);

}  // namespace tally::text::jinja
