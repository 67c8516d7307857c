// SHA-256 of files, in lower-case hex.
#pragma once

#include <filesystem>
#include <string>

namespace tally::app {

// Throws BadInput when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

// True for 64 hexadecimal digits.
bool is_sha256(const std::string& text);

}  // namespace tally::app
