#include "text/jinja_error.h"

#include <cstring>

#include "text/template.h"

namespace tally::text {
namespace {

std::string compose(const char* kind, int line, const std::string& message) {
  if (!std::strcmp(kind, "TemplateError")) return message;
  if (line > 0) return fmt::format("chat template, line {}: {}: {}", line, kind, message);
  return fmt::format("chat template: {}: {}", kind, message);
}

}  // namespace

TemplateError::TemplateError(const char* kind, int line, const std::string& message)
    : Error(ErrorCode::BadInput, compose(kind, line, message)), kind_(kind), message_(message), line_(line) {}

namespace jinja {

const char* name_of(Err kind) {
  switch (kind) {
    case Err::Template:
      return "TemplateError";
    case Err::Syntax:
      return "TemplateSyntaxError";
    case Err::Assertion:
      return "TemplateAssertionError";
    case Err::Runtime:
      return "TemplateRuntimeError";
    case Err::FilterArgument:
      return "FilterArgumentError";
    case Err::Undefined:
      return "UndefinedError";
    case Err::Security:
      return "SecurityError";
    case Err::Type:
      return "TypeError";
    case Err::Value:
      return "ValueError";
    case Err::ZeroDivision:
      return "ZeroDivisionError";
    case Err::Overflow:
      return "OverflowError";
    case Err::Index:
      return "IndexError";
    case Err::Key:
      return "KeyError";
    case Err::Attribute:
      return "AttributeError";
    case Err::Limit:
      return "LimitError";
  }
  return "TemplateError";
}

void raise(Err kind, int line, const std::string& message) { throw TemplateError(name_of(kind), line, message); }

}  // namespace jinja
}  // namespace tally::text
