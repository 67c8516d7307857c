// Why a schema or grammar is refused: an Error with a code for scripts and the place in the schema.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace tally::grammar {

// code: invalid_schema, unsupported, limit, unsatisfiable, reference, not_json (for schemas), invalid_grammar.
class ConstraintError : public Error {
 public:
  ConstraintError(std::string code, std::string path, const std::string& message)
      : Error(ErrorCode::BadInput, message), code_(std::move(code)), path_(std::move(path)) {}
  // A limit that was passed: the message names both numbers too.
  ConstraintError(std::string path, const std::string& message, uint64_t limit, uint64_t found)
      : Error(ErrorCode::BadInput, message), code_("limit"), path_(std::move(path)), limit_(limit), found_(found) {}

  const std::string& constraint_code() const { return code_; }
  const std::string& path() const { return path_; }  // JSON pointer; for a grammar "line:column"
  std::optional<uint64_t> limit() const { return limit_; }
  std::optional<uint64_t> found() const { return found_; }

 private:
  std::string code_, path_;
  std::optional<uint64_t> limit_, found_;
};

}  // namespace tally::grammar
