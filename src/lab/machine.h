// What machine a measurement ran on, and in what state it was meanwhile.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "lab/output.h"

namespace tally::lab {

// One look at the machine. What it does not report stays empty.
struct MachineState {
  std::optional<double> clock_mhz;            // by a chain of dependent multiplications, best of several; x86-64 only
  std::optional<double> reported_mhz;         // mean over processors as the kernel tells it
  std::optional<double> temp_c;               // the hottest sensor
  std::optional<double> load;                 // load average of one minute
  std::optional<double> memory_free;          // bytes available
  std::optional<uint64_t> throttled;          // times any core was throttled, ever
  uint64_t steal_ticks = 0, total_ticks = 0;  // of /proc/stat, all processors: the share between two looks counts
  std::string governor;                       // "" when there is none
};

// Takes two to four milliseconds. root: "" but for tests.
MachineState look_at_machine(const std::string& root = "");

// Clock in MHz that this thread really runs at now; nothing where there is no way to tell.
std::optional<double> measured_clock_mhz();

// Looks at start, middle and end of a measurement.
struct MachineTrack {
  std::array<MachineState, 3> at;
  MachineTrack() { at[0] = look_at_machine(), at[1] = at[0]; }
  void middle() { at[1] = look_at_machine(); }
  void end() { at[2] = look_at_machine(); }
  // max/min − 1 of the three clocks; nothing when one is not known.
  std::optional<double> clock_moved() const;
  double steal_share() const;  // of all processor time between start and end
  uint64_t throttle_events() const;
  Json json() const;  // "clock_mhz"[3], "temp_c"[3], "load"[3], "governor", "steal_share", "throttle_events", …
  // Warnings for people: clock moved, throttled, time stolen, other load.
  std::vector<std::string> warnings() const;
};

// Processor, cores, microcode, kernel, compiler, version and commit of this program. Two results compare only with the
// same "processor", "cores" and "kernel".
Json fingerprint();

// Lower-case hex; kept in the cache folder by path, size and modification time. Error when it cannot be read.
std::string weights_sha256(const std::filesystem::path& path);

// Of a file of the kernel: its first line, and the number it begins with; empty where it cannot be read.
std::string first_line(const std::filesystem::path& path);
std::optional<double> number_in(const std::filesystem::path& path);

}  // namespace tally::lab
