// What this machine, and the control groups that hold this process, have.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "app/memory.h"
#include "base/error.h"

namespace tally::app {
namespace {

// A limit of about 2^63 is how version 1 says "none".
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::optional<uint64_t> read_number(const std::string& path) {
  std::ifstream in(path);
  uint64_t value = 0;
  if (!(in >> value)) return std::nullopt;  // "max" too
  return value;
}

// The number after `key` in lines such as "MemTotal:  24689692 kB" or "inactive_file 4096".
std::optional<uint64_t> read_field(const std::string& path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    uint64_t value = 0;
    if (rest >> value) return value;
  }
  return std::nullopt;
}

struct GroupFiles {
  const char *limit, *used, *active, *inactive;
};
constexpr GroupFiles kVersion2{"/memory.max", "/memory.current", "active_file ", "inactive_file "};
constexpr GroupFiles kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_active_file ",
                               "total_inactive_file "};

uint64_t room_of(const MachineMemory& m) { return m.limit ? *m.limit - std::min(*m.limit, m.used) : UINT64_MAX; }

// Takes the group's limit when it leaves less room than what is known.
void add_group(const std::string& folder, const GroupFiles& files, MachineMemory& machine) {
  const auto limit = read_number(folder + files.limit), used = read_number(folder + files.used);
  if (!limit || !used || *limit >= kNoLimit) return;
  const std::string stat = folder + "/memory.stat";
  const uint64_t pages = read_field(stat, files.active).value_or(0) + read_field(stat, files.inactive).value_or(0);
  MachineMemory group{.limit = *limit, .used = *used - std::min(*used, pages)};
  if (room_of(group) < room_of(machine)) machine.limit = group.limit, machine.used = group.used;
}

// The group and all above it; inside a container the path may not exist there, its root is then the group.
void add_groups(const std::string& mount, std::string path, const GroupFiles& files, MachineMemory& machine) {
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    add_group(mount + path, files, machine);
    if (path.empty()) return;
    path.resize(std::min(path.rfind('/'), path.size()));
  }
}

}  // namespace

uint64_t MachineMemory::usable() const { return std::min(available, room_of(*this)); }

MachineMemory read_machine_memory(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  const auto total = read_field(meminfo, "MemTotal:"), available = read_field(meminfo, "MemAvailable:");
  if (!total || !available) fail(ErrorCode::Internal, "{}: cannot read MemTotal and MemAvailable", meminfo);
  MachineMemory machine{.total = *total * 1024, .available = *available * 1024};
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1), mount = root + "/sys/fs/cgroup";
    if (controllers == ",,") add_groups(mount, path, kVersion2, machine);
    if (controllers.find(",memory,") != std::string::npos) add_groups(mount + "/memory", path, kVersion1, machine);
  }
  return machine;
}

}  // namespace tally::app
