#include "lab/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/clock.h"

namespace tally::lab {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<double> number_in(const fs::path& path) {
  std::istringstream in(first_line(path));
  double value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

namespace {

template <typename F>
void for_each_in(const fs::path& folder, const std::string& prefix, F f) {
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    if (it->path().filename().string().rfind(prefix, 0) == 0) f(it->path());
}

void look_at_processors(MachineState& s, const std::string& root) {
  double sum = 0;
  int n = 0;
  for_each_in(root + "/sys/devices/system/cpu", "cpu", [&](const fs::path& cpu) {
    if (auto khz = number_in(cpu / "cpufreq/scaling_cur_freq")) sum += *khz / 1e3, ++n;
    if (s.governor.empty()) s.governor = first_line(cpu / "cpufreq/scaling_governor");
    if (auto count = number_in(cpu / "thermal_throttle/core_throttle_count"))
      s.throttled = s.throttled.value_or(0) + uint64_t(*count);
  });
  if (n == 0) {
    std::ifstream in(root + "/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
      if (line.rfind("cpu MHz", 0) == 0) sum += std::atof(line.c_str() + line.find(':') + 1), ++n;
  }
  if (n > 0) s.reported_mhz = sum / n;
}

void look_at_sensors(MachineState& s, const std::string& root) {
  auto hotter = [&](std::optional<double> milli) {
    if (milli && *milli > 0) s.temp_c = std::max(s.temp_c.value_or(0), *milli / 1e3);
  };
  for_each_in(root + "/sys/class/thermal", "thermal_zone",
              [&](const fs::path& zone) { hotter(number_in(zone / "temp")); });
  for_each_in(root + "/sys/class/hwmon", "hwmon", [&](const fs::path& chip) {
    std::string name = first_line(chip / "name");  // disks and batteries have sensors too
    if (name != "coretemp" && name != "k10temp" && name != "zenpower") return;
    for_each_in(chip, "temp", [&](const fs::path& file) {
      if (file.filename().string().find("_input") != std::string::npos) hotter(number_in(file));
    });
  });
}

void look_at_kernel(MachineState& s, const std::string& root) {
  s.load = number_in(root + "/proc/loadavg");
  std::ifstream meminfo(root + "/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);)
    if (line.rfind("MemAvailable:", 0) == 0) s.memory_free = std::atof(line.c_str() + 13) * 1024;
  std::istringstream stat(first_line(root + "/proc/stat"));
  std::string cpu;
  stat >> cpu;
  uint64_t ticks = 0;
  for (int i = 0; i < 8 && stat >> ticks; ++i) {  // user nice system idle iowait irq softirq steal
    s.total_ticks += ticks;
    if (i == 7) s.steal_ticks = ticks;
  }
}

}  // namespace

std::optional<double> measured_clock_mhz() {
#if defined(__x86_64__)
  // Many short tries, some after a pause: the best of them was not interrupted, neither by this system nor by the host.
  constexpr uint64_t kSteps = 20'000, kCyclesPerStep = 3;  // latency of imul on Intel since 2008 and AMD since Zen
  uint64_t x = 3, best = UINT64_MAX;
  for (int round = 0; round < 48; ++round) {
    uint64_t begin = now_ns();
    for (uint64_t i = 0; i < kSteps / 4; ++i)
      asm volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(x));
    best = std::min(best, now_ns() - begin);
    if (round % 12 == 11) std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  return double(kSteps * kCyclesPerStep) / double(best) * 1e3;
#else
  return std::nullopt;
#endif
}

MachineState look_at_machine(const std::string& root) {
  MachineState s;
  look_at_processors(s, root);
  look_at_sensors(s, root);
  look_at_kernel(s, root);
  s.clock_mhz = measured_clock_mhz();
  return s;
}

std::optional<double> MachineTrack::clock_moved() const {
  double low = 1e30, high = 0;
  for (const MachineState& s : at) {
    std::optional<double> mhz = s.clock_mhz ? s.clock_mhz : s.reported_mhz;
    if (!mhz || *mhz <= 0) return std::nullopt;
    low = std::min(low, *mhz), high = std::max(high, *mhz);
  }
  return high / low - 1;
}

double MachineTrack::steal_share() const {
  uint64_t total = at[2].total_ticks - at[0].total_ticks;
  return at[2].total_ticks > at[0].total_ticks ? double(at[2].steal_ticks - at[0].steal_ticks) / double(total) : 0;
}

uint64_t MachineTrack::throttle_events() const {
  uint64_t before = at[0].throttled.value_or(0), after = at[2].throttled.value_or(0);
  return after > before ? after - before : 0;
}

Json MachineTrack::json() const {
  Json j = Json::object();
  auto three = [&](const char* key, auto get) {
    j[key] = Json::array({or_null(get(at[0])), or_null(get(at[1])), or_null(get(at[2]))});
  };
  three("clock_mhz", [](const MachineState& s) { return s.clock_mhz ? s.clock_mhz : s.reported_mhz; });
  j["clock_source"] = at[0].clock_mhz ? "measured (chain of multiplications)" : "reported by the kernel";
  three("reported_mhz", [](const MachineState& s) { return s.reported_mhz; });
  three("temp_c", [](const MachineState& s) { return s.temp_c; });
  three("load", [](const MachineState& s) { return s.load; });
  three("memory_free", [](const MachineState& s) { return s.memory_free; });
  j["governor"] = at[0].governor.empty() ? Json(nullptr) : Json(at[0].governor);
  j["throttle_events"] = at[0].throttled ? Json(throttle_events()) : Json(nullptr);
  j["steal_share"] = steal_share();
  j["clock_moved"] = or_null(clock_moved());
  return j;
}

std::vector<std::string> MachineTrack::warnings() const {
  std::vector<std::string> out;
  if (auto moved = clock_moved(); moved && *moved > 0.02)
    out.push_back(fmt::format("the clock moved by {:.1f} % during the measurement", *moved * 100));
  if (throttle_events() > 0) out.push_back(fmt::format("the processor throttled {} times", throttle_events()));
  if (steal_share() > 0.01)
    out.push_back(fmt::format("{:.1f} % of the processor time went to other guests of this host", steal_share() * 100));
  if (!at[0].governor.empty() && at[0].governor != "performance")
    out.push_back(fmt::format("the governor is \"{}\"; \"performance\" keeps the clock steadier", at[0].governor));
  return out;
}

}  // namespace tally::lab
