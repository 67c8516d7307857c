#include "lab/energy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support.h"

namespace tally::lab {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(Energy, counts_packages_and_follows_a_wrap) {
  test::TemporaryFolder folder;
  fs::path base = folder.path() / "sys/class/powercap";
  write(base / "intel-rapl:0/name", "package-0\n");
  write(base / "intel-rapl:0/energy_uj", "9000000\n");
  write(base / "intel-rapl:0/max_energy_range_uj", "10000000\n");
  write(base / "intel-rapl:0:0/name", "core\n");  // part of the package
  write(base / "intel-rapl:0:0/energy_uj", "1\n");
  write(base / "intel-rapl:1/name", "package-1\n");
  write(base / "intel-rapl:1/energy_uj", "500000\n");
  EnergyMeter meter(folder.path().string());
  EXPECT_EQ(meter.sources(), (std::vector<std::string>{"package-0 (RAPL)", "package-1 (RAPL)"}));
  EXPECT_EQ(meter.why_not(), "");
  meter.start();
  write(base / "intel-rapl:0/energy_uj", "2000000\n");  // 1 J to the end of its range, 2 J after it
  write(base / "intel-rapl:1/energy_uj", "1500000\n");
  EnergyMeter::Reading r = meter.stop();
  ASSERT_EQ(r.joules_of.size(), 2u);
  EXPECT_DOUBLE_EQ(r.joules_of[0], 3);
  EXPECT_DOUBLE_EQ(r.joules_of[1], 1);
  EXPECT_DOUBLE_EQ(r.joules, 4);
  EXPECT_GT(r.seconds, 0);
  EXPECT_FALSE(r.samples.empty());
}

TEST(Energy, says_why_there_is_none) {
  test::TemporaryFolder folder;
  EnergyMeter meter(folder.path().string());
  EXPECT_TRUE(meter.sources().empty());
  EXPECT_NE(meter.why_not().find("powercap"), std::string::npos);
  meter.start();
  EXPECT_EQ(meter.stop().joules, 0);
}

}  // namespace
}  // namespace tally::lab
