#include "app/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/clock.h"

namespace tally::app {

bool is_shown(ProgressMode mode) {
  return mode == ProgressMode::On || (mode == ProgressMode::Auto && isatty(STDERR_FILENO) == 1);
}

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB"}) {
    if (value < 999.95) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string human_seconds(double seconds) {
  const auto s = static_cast<uint64_t>(seconds < 0 ? 0 : seconds + 0.5);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

Progress::Progress(std::string label, ProgressMode mode) : label_(std::move(label)) {
  terminal_ = isatty(STDERR_FILENO) == 1;
  on_ = is_shown(mode);
}

Progress::~Progress() {
  if (open_line_) std::fputc('\n', stderr);
}

void Progress::begin(uint64_t start, uint64_t total) {
  start_ = start;
  total_ = total;
  begin_ns_ = now_ns();
  last_ns_ = 0;
}

std::string Progress::text(uint64_t done, double elapsed) const {
  std::string line = fmt::format("{}: {}", label_, human_bytes(done));
  if (total_ > 0) {
    line += fmt::format(" of {}, {:.0f} %", human_bytes(total_),
                        100.0 * static_cast<double>(done) / static_cast<double>(total_));
  }
  const double rate = elapsed > 0 && done > start_ ? static_cast<double>(done - start_) / elapsed : 0;
  if (rate > 0) line += fmt::format(", {}/s", human_bytes(static_cast<uint64_t>(rate)));
  if (rate > 0 && total_ > done)
    line += fmt::format(", {} left", human_seconds(static_cast<double>(total_ - done) / rate));
  return line;
}

void Progress::update(uint64_t done) {
  if (!on_) return;
  // Ten times a second on a terminal, once a second into a log; the last one always.
  const uint64_t now = now_ns();
  const uint64_t pause = terminal_ ? 100'000'000 : 1'000'000'000;
  if (last_ns_ != 0 && now - last_ns_ < pause && done != total_) return;
  last_ns_ = now;
  const std::string line = text(done, static_cast<double>(now - begin_ns_) * 1e-9);
  std::fprintf(stderr, terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
  open_line_ = terminal_;
}

}  // namespace tally::app
