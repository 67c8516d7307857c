// One writer at a time, between processes: an exclusive flock on a lock file beside what is written.
#pragma once

#include <filesystem>

namespace tally::app {

// Takes PATH.lock, waiting (with one line on standard error) while another process holds it; released, and the lock
// file removed, at the end of its life or of the process. Throws BadInput when the lock file cannot be made.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace tally::app
