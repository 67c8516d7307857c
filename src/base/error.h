// Errors caused by somebody's input (a file, a request, a flag): thrown on cold paths only, caught in main, in the
// server's handler and at the top of the engine thread. A message says what, where, found, expected, what to do.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tally {

// The values are the process's exit statuses.
enum class ErrorCode : int {
  Failed = 1,     // the work itself found a failure
  Usage = 2,      // wrong usage
  BadInput = 3,   // bad input file or unreadable data
  Resources = 4,  // not enough memory, or a device is missing
  Internal = 5,   // our own mistake
  Interrupted = 130
};

constexpr const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::Failed:
      return "failed";
    case ErrorCode::Usage:
      return "usage";
    case ErrorCode::BadInput:
      return "bad_input";
    case ErrorCode::Resources:
      return "resources";
    case ErrorCode::Internal:
      return "internal";
    case ErrorCode::Interrupted:
      return "interrupted";
  }
  return "internal";
}

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// fail(ErrorCode::BadInput, "{}: truncated at {}", path, offset) throws an Error.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tally
