// What tests of several folders share: where the shared data lies, and reading whole files.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tally::test {

// The folder with data/ and spec/: the environment variable TALLY_SHARED, or ../shared beside the source tree.
// Absent → null; tests that need it then say so: GTEST_SKIP() << kNoSharedData.
inline std::optional<std::filesystem::path> shared_data() {
  const char* set = std::getenv("TALLY_SHARED");
  const std::filesystem::path folder =
      set != nullptr ? std::filesystem::path(set) : std::filesystem::path(TALLY_SOURCE_DIR) / ".." / "shared";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder / "data", ignored)) return std::nullopt;
  return std::filesystem::canonical(folder);
}

inline constexpr const char* kNoSharedData =
    "shared test data not found (looked in the environment variable TALLY_SHARED and in ../shared)";

inline std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return std::vector<uint8_t>((std::istreambuf_iterator<char>(in)), {});
}

// A folder of its own for one test, removed at its end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tally-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tally::test
