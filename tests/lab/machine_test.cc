#include "lab/machine.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "support.h"

namespace tally::lab {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(Machine, reads_what_the_kernel_tells) {
  test::TemporaryFolder folder;
  const fs::path& root = folder.path();
  write(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
  write(root / "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n");
  write(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  write(root / "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "4\n");
  write(root / "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3\n");
  write(root / "sys/class/thermal/thermal_zone0/temp", "41000\n");
  write(root / "sys/class/hwmon/hwmon0/name", "nvme\n");
  write(root / "sys/class/hwmon/hwmon0/temp1_input", "90000\n");
  write(root / "sys/class/hwmon/hwmon1/name", "coretemp\n");
  write(root / "sys/class/hwmon/hwmon1/temp2_input", "55500\n");
  write(root / "proc/loadavg", "1.25 0.95 1.34 15/143 3331\n");
  write(root / "proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\n");
  write(root / "proc/stat", "cpu  10 20 30 400 5 6 7 8 0 0\ncpu0 1 1 1 1\n");
  MachineState s = look_at_machine(root.string());
  EXPECT_EQ(s.reported_mhz, 2500);
  EXPECT_EQ(s.governor, "powersave");
  EXPECT_EQ(s.throttled, 7u);
  EXPECT_EQ(s.temp_c, 55.5);  // the disk's sensor does not count
  EXPECT_EQ(s.load, 1.25);
  EXPECT_EQ(s.memory_free, 50 * 1024);
  EXPECT_EQ(s.steal_ticks, 8u);
  EXPECT_EQ(s.total_ticks, 486u);
}

TEST(Machine, a_machine_that_tells_nothing) {
  test::TemporaryFolder folder;
  MachineState s = look_at_machine(folder.path().string());
  EXPECT_FALSE(s.reported_mhz || s.temp_c || s.load || s.throttled || s.memory_free);
  EXPECT_EQ(s.governor, "");
}

TEST(Machine, track_compares_three_looks) {
  MachineTrack t;
  t.end();
  for (int i = 0; i < 3; ++i) t.at[i].clock_mhz = 3000 - 100 * i;
  EXPECT_NEAR(*t.clock_moved(), 3000.0 / 2800 - 1, 1e-12);
  t.at[0].throttled = 3, t.at[2].throttled = 5;
  t.at[0].steal_ticks = 10, t.at[2].steal_ticks = 30, t.at[0].total_ticks = 100, t.at[2].total_ticks = 300;
  t.at[0].governor = "powersave";
  EXPECT_EQ(t.throttle_events(), 2u);
  EXPECT_DOUBLE_EQ(t.steal_share(), 0.1);
  EXPECT_EQ(t.warnings().size(), 4u);
  Json j = t.json();
  EXPECT_EQ(j["clock_mhz"], Json::array({3000, 2900, 2800}));
  EXPECT_EQ(j["throttle_events"], 2);
  t.at[1].clock_mhz.reset(), t.at[1].reported_mhz.reset();
  EXPECT_FALSE(t.clock_moved());
}

TEST(Machine, hash_of_the_weights_follows_the_file) {
  test::TemporaryFolder folder;
  setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  std::string file = folder.file("w.gguf");
  write(file, "abc");
  const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(weights_sha256(file), abc);
  EXPECT_EQ(weights_sha256(file), abc);  // from the cache
  EXPECT_TRUE(fs::exists(folder.path() / "tally/weights_sha256.json"));
  write(file, "abcd");
  EXPECT_NE(weights_sha256(file), abc);
  write(folder.path() / "tally/weights_sha256.json", "not JSON");
  write(file, "abc");
  EXPECT_EQ(weights_sha256(file), abc);
  EXPECT_THROW(weights_sha256(folder.file("none")), Error);
  unsetenv("XDG_CACHE_HOME");
}

TEST(Machine, fingerprint_names_the_machine) {
  Json j = fingerprint();
  for (const char* key : {"processor", "cores", "microcode", "kernel", "tally"}) EXPECT_TRUE(j.contains(key)) << key;
  EXPECT_FALSE(j["tally"]["compiler"].get<std::string>().empty());
}

}  // namespace
}  // namespace tally::lab
