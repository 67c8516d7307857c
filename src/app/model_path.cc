#include "app/model_path.h"

#include <system_error>

#include "app/cache.h"
#include "app/known_models.h"
#include "base/error.h"

namespace tally::app {

namespace fs = std::filesystem;

namespace {

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

std::optional<fs::path> bundled_model() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  // build/<preset>/tally and build/<preset>/tests/test_x in a source tree, bin/tally in an installation.
  const fs::path bin = program.parent_path();
  for (const char* up : {"../../models", "../../../models", "../share/tally", "models"}) {
    const fs::path path = (bin / up / "tally-tiny.gguf").lexically_normal();
    if (is_file(path)) return path;
  }
  return std::nullopt;
}

std::string find_model(const std::string& name_or_path) {
  std::error_code ignored;
  if (fs::exists(name_or_path, ignored) && !fs::is_directory(name_or_path, ignored)) return name_or_path;
  if (name_or_path == "tally-tiny" || name_or_path == "tally-tiny.gguf") {
    if (const auto path = bundled_model()) return path->string();
    fail(ErrorCode::BadInput,
         "tally-tiny: the bundled model models/tally-tiny.gguf is not beside this program; give its path");
  }
  if (name_or_path.find('/') != std::string::npos) {
    fail(ErrorCode::BadInput, "{}: no such file", name_or_path);
  }
  const fs::path folder = cache_folder();
  if (const KnownModel* known = find_known_model(name_or_path)) {
    const fs::path path = folder / known->file;
    if (is_file(path)) return path.string();
    fail(ErrorCode::BadInput, "{}: not fetched yet ({} is missing); run: tally pull {}", name_or_path, path.string(),
         known->name);
  }
  for (const char* suffix : {"", ".gguf"}) {
    const fs::path path = folder / (name_or_path + suffix);
    if (path.extension() == ".gguf" && is_file(path)) return path.string();
  }
  fail(ErrorCode::BadInput,
       "{}: no such file, and no model of that name in {}; give a path, or fetch one (tally pull --help lists names; "
       "tally ls "
       "shows what is there)",
       name_or_path, folder.string());
}

}  // namespace tally::app
