#include "app/cache.h"

#include <algorithm>
#include <system_error>

#include "base/env.h"
#include "base/error.h"

namespace tally::app {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPartial = ".partial";
constexpr const char* kWheels = ".partial.d";

bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// Bytes of a file, or of all files below a folder; 0 when it vanished meanwhile.
uint64_t bytes_of(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return fs::file_size(path, ignored);
  uint64_t sum = 0;
  for (fs::recursive_directory_iterator it(path, ignored), end; !ignored && it != end; it.increment(ignored)) {
    std::error_code gone;
    const uint64_t size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) sum += size;
  }
  return sum;
}

}  // namespace

fs::path cache_folder() {
  if (const auto base = env("XDG_CACHE_HOME")) return fs::path(*base) / "tally";
  if (const auto home = env("HOME")) return fs::path(*home) / ".cache" / "tally";
  fail(ErrorCode::Usage, "no folder for models: neither HOME nor XDG_CACHE_HOME is set; set one of them");
}

std::vector<CachedModel> cached_models(const fs::path& folder) {
  std::vector<CachedModel> models;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    const bool partial = ends_with(name, kPartial) || ends_with(name, kWheels);
    if (partial) name.resize(name.rfind(kPartial));
    if (!ends_with(name, ".gguf")) continue;
    models.push_back({name, it->path(), bytes_of(it->path()), partial});
  }
  std::sort(models.begin(), models.end(), [](const CachedModel& a, const CachedModel& b) {
    return std::pair(a.name, a.path) < std::pair(b.name, b.path);
  });
  return models;
}

void check_model_file_name(const std::string& name, const std::string& origin) {
  const bool has_bad =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/'; });
  if (has_bad || name.empty() || name[0] == '.' || name.size() > 200 || !ends_with(name, ".gguf")) {
    fail(ErrorCode::Usage, "{}: names the file \"{}\", expected a plain file name that ends in .gguf", origin, name);
  }
}

fs::path partial_path(const fs::path& model) { return model.string() + kPartial; }
fs::path validator_path(const fs::path& model) { return model.string() + ".partial.from"; }
fs::path wheels_path(const fs::path& model) { return model.string() + kWheels; }

uint64_t remove_model(const fs::path& model) {
  uint64_t freed = 0;
  for (const fs::path& path : {model, partial_path(model), validator_path(model), wheels_path(model)}) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) continue;
    freed += bytes_of(path);
    fs::remove_all(path, error);
    if (error) fail(ErrorCode::BadInput, "{}: cannot be removed: {}", path.string(), error.message());
  }
  return freed;
}

}  // namespace tally::app
