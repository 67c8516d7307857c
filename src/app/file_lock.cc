#include "app/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace tally::app {

namespace {

// True when `fd` is still the file of that name: its last holder may have removed it while we waited.
bool is_current(int fd, const std::filesystem::path& path) {
  struct stat ours {};
  struct stat named {};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path) : path_(path.string() + ".lock") {
  bool said = false;
  while (true) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd_ < 0) fail(ErrorCode::BadInput, "{}: cannot be made: {}", path_.string(), std::strerror(errno));
    int locked = flock(fd_, LOCK_EX | LOCK_NB);
    if (locked != 0 && errno == EWOULDBLOCK) {
      if (!said)
        std::fprintf(stderr, "tally: another process is fetching %s; waiting for it\n", path.filename().c_str());
      said = true;
      do locked = flock(fd_, LOCK_EX);
      while (locked != 0 && errno == EINTR);
    }
    if (locked != 0) {
      const int error = errno;
      close(fd_);
      fail(ErrorCode::BadInput, "{}: cannot be locked: {}", path_.string(), std::strerror(error));
    }
    if (is_current(fd_, path_)) return;
    close(fd_);
  }
}

FileLock::~FileLock() {
  unlink(path_.c_str());
  close(fd_);
}

}  // namespace tally::app
