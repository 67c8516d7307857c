// Chat templates: an interpreter of the Jinja language as model files use it (Jinja 3.1 semantics with trim_blocks,
// lstrip_blocks, loop controls and the `generation` tag), with Python's value model and with limits on steps, depth,
// memory and output. A template reaches nothing but its variables.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tally::text {

using Json = nlohmann::ordered_json;

// A template that could not be parsed or rendered; the code is BadInput. `kind` is Python's name of the error
// (TemplateError for raise_exception, TemplateSyntaxError, UndefinedError, TypeError, …; LimitError is ours). For
// raise_exception what() is the template's message alone, otherwise it adds line and kind.
class TemplateError : public Error {
 public:
  TemplateError(const char* kind, int line, const std::string& message);
  const std::string& kind() const { return kind_; }
  const std::string& message() const { return message_; }
  int line() const { return line_; }  // from 1; 0 where unknown

 private:
  std::string kind_, message_;
  int line_;
};

struct TemplateLimits {
  uint64_t source_bytes = 4ull << 20;  // of the template
  uint64_t steps = 50'000'000;  // expressions and statements evaluated, and items or 64 bytes touched by builtins
  uint64_t depth = 600;         // nesting of evaluation (macro calls, recursive loops, nested values)
  uint64_t memory_bytes = 512ull << 20;  // live values
  uint64_t output_bytes = 64ull << 20;   // written to all buffers together
};

struct RenderOptions {
  std::string now;  // civil time "2026-01-02T03:04:05" for strftime_now; empty: the clock
  TemplateLimits limits;
};

namespace jinja {
struct Program;
}

// A parsed template: immutable, and safe to render from several threads at once.
class Template {
 public:
  // TemplateError (TemplateSyntaxError, TemplateAssertionError, LimitError) when the source is refused.
  static Template parse(std::string_view source, const TemplateLimits& limits = {});

  // `variables` is an object. Throws TemplateError.
  std::string render(const Json& variables, const RenderOptions& options = {}) const;

  const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::shared_ptr<const jinja::Program> program_;
};

}  // namespace tally::text
