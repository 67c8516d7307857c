// Assertions for our own mistakes (never for input): CHECK is always on, DCHECK only in debug builds.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace tally {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s %s\n", file, line, condition, message.c_str());
  std::abort();
}

}  // namespace tally

// CHECK(n == m, "rows {} of {}", n, m): prints condition and message, then ends the process.
#define CHECK(condition, ...)                                                               \
  do {                                                                                      \
    if (!(condition)) [[unlikely]]                                                          \
      ::tally::check_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (0)

#ifdef NDEBUG
#define DCHECK(condition, ...) \
  do {                         \
  } while (0)
#else
#define DCHECK(condition, ...) CHECK(condition, __VA_ARGS__)
#endif
