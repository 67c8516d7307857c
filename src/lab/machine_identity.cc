// Fingerprint of the machine and hash of the weights.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/cache.h"
#include "app/sha256.h"
#include "base/error.h"
#include "base/processor.h"
#include "base/thread_team.h"
#include "lab/machine.h"

namespace tally::lab {

namespace fs = std::filesystem;

namespace {

std::string cpuinfo_field(const std::string& name) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(name, 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "";
}

Json known_hashes(const fs::path& file) {
  std::ifstream in(file);
  Json known = in ? Json::parse(in, nullptr, false) : Json::object();
  return known.is_object() ? known : Json::object();
}

}  // namespace

Json fingerprint() {
  utsname u{};
  uname(&u);
  Json j{{"processor", processor_name()},
         {"cores", available_cores()},
         {"microcode", cpuinfo_field("microcode")},
         {"kernel", fmt::format("{} {}", u.sysname, u.release)},
         {"machine", u.machine},
         {"virtual", cpuinfo_field("flags").find(" hypervisor") != std::string::npos}};
  j["tally"] = {{"version", TALLY_VERSION}, {"compiler", __VERSION__}};
#ifdef __OPTIMIZE__
  j["tally"]["optimised"] = true;
#else
  j["tally"]["optimised"] = false;
#endif
#ifdef TALLY_COMMIT
  j["tally"]["commit"] = TALLY_COMMIT;
#else
  j["tally"]["commit"] = nullptr;
#endif
  return j;
}

std::string weights_sha256(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::canonical(path, error);
  uint64_t size = error ? 0 : fs::file_size(whole, error);
  if (error) fail(ErrorCode::BadInput, "{}: cannot be read: {}", path.string(), error.message());
  int64_t mtime = fs::last_write_time(whole, error).time_since_epoch().count();
  std::string key = fmt::format("{}|{}|{}", whole.string(), size, mtime);
  fs::path file;
  Json known = Json::object();
  try {
    file = app::cache_folder() / "weights_sha256.json";
    known = known_hashes(file);
  } catch (const Error&) {
    file.clear();  // no cache folder: hash each time
  }
  auto found = known.find(key);
  if (found != known.end() && found->is_string() && app::is_sha256(*found)) return *found;
  std::string hash = app::sha256_of_file(whole);
  if (!file.empty()) {
    known[key] = hash;
    fs::create_directories(file.parent_path(), error);
    fs::path fresh = file.string() + fmt::format(".{}", uint64_t(size) ^ uint64_t(mtime));
    std::ofstream(fresh) << known.dump(1) << '\n';
    fs::rename(fresh, file, error);  // whole or not at all: several programs may write
  }
  return hash;
}

}  // namespace tally::lab
