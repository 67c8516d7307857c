// One file over HTTP(S): resumed, verified, and under its own name only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "app/progress.h"

namespace tally::app {

struct Download {
  std::string url;               // http:// or https://
  std::filesystem::path target;  // the final file; its folder must exist
  std::string sha256;            // expected, in hex; empty: not known
  int n_retries = 5;             // tries in a row without a new byte before giving up
  int retry_pause_ms = 500;      // before the first repetition; doubled each time
  int stall_seconds = 30;        // a transfer that brings nothing for so long counts as broken
  ProgressMode progress = ProgressMode::Auto;
};

// Fetches into partial_path(target), continues there after an interruption when the server's validator (ETag or
// Last-Modified) is still the same or a checksum is given, checks length, checksum and that it is a GGUF file, and
// renames. The caller holds the FileLock of `target`. Throws BadInput (server's answer, checksum, not a GGUF file; what
// is not usable is removed, what can be resumed stays) and Resources (disk full).
void download(const Download& request);

// Checks a complete file (size when not 0, SHA-256 when not empty, GGUF magic), makes it durable and renames it to
// `target`. A file that fails is removed. Throws BadInput.
void accept_model_file(const std::filesystem::path& complete, const std::filesystem::path& target, uint64_t bytes,
                       const std::string& sha256, const std::string& origin);

}  // namespace tally::app
