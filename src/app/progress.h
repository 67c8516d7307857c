// A progress line on standard error: amount, share, rate and remaining time.
#pragma once

#include <cstdint>
#include <string>

namespace tally::app {

enum class ProgressMode { Auto, On, Off };  // Auto: only when standard error is a terminal

bool is_shown(ProgressMode mode);

// "98.4 MB", in powers of 1000 as storage is sold and rates are given.
std::string human_bytes(uint64_t bytes);

// "12 s", "3 min 20 s", "2 h 5 min".
std::string human_seconds(double seconds);

class Progress {
 public:
  Progress(std::string label, ProgressMode mode);
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `start`: bytes that were there before (they do not count for the rate); `total` 0 when it is not known.
  void begin(uint64_t start, uint64_t total);
  void update(uint64_t done);

 private:
  std::string text(uint64_t done, double elapsed) const;

  std::string label_;
  bool on_ = false;
  bool terminal_ = false;
  bool open_line_ = false;
  uint64_t start_ = 0;
  uint64_t total_ = 0;
  uint64_t begin_ns_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace tally::app
