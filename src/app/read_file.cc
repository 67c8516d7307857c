#include "app/read_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace tally::app {

std::string read_file(const std::string& path, const std::string& what, uint64_t most) {
  std::ifstream in(path, std::ios::binary);
  std::error_code not_a_file;  // a pipe has no size; then there is nothing to compare
  const uint64_t size = std::filesystem::file_size(path, not_a_file);
  if (!in || std::filesystem::is_directory(path))
    fail(ErrorCode::BadInput, "{}: cannot be opened; {}", path,
         what.empty() ? "is the path right?" : what + " is expected");
  if (!not_a_file && size > most) fail(ErrorCode::BadInput, "{}: {} bytes; at most {} are read", path, size, most);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tally::app
