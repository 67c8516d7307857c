#include "gguf/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"

namespace tally::gguf {

OutputFile::OutputFile(const std::string& path, uint64_t bytes_expected) : path_(path), partial_(path + ".partial") {
  std::error_code error;
  auto folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const auto space = std::filesystem::space(folder, error);
  if (!error && space.available < bytes_expected) {
    fail(ErrorCode::Resources, "{}: the file needs {} bytes, the disk has {} left; make room or choose another place",
         path, bytes_expected, static_cast<uint64_t>(space.available));
  }
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(ErrorCode::BadInput, "{}: cannot create: {}", partial_, std::strerror(errno));
  exists_ = true;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (exists_) ::unlink(partial_.c_str());
}

void OutputFile::append(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    // A single call writes at most 2 GiB.
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fail(ErrorCode::Resources, "{}: cannot write at byte {}: {}", partial_, position_, std::strerror(errno));
    }
    position_ += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::reserve(uint64_t bytes) {
  int error;
  do {
    error = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error != 0) fail(ErrorCode::Resources, "{}: cannot reserve {} bytes: {}", partial_, bytes, std::strerror(error));
}

void OutputFile::write_at(uint64_t offset, std::span<const uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30),
                               static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(ErrorCode::Resources, "{}: cannot write at byte {}: {}", partial_, offset, std::strerror(errno));
    offset += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::append_zeros(uint64_t n) {
  const std::vector<uint8_t> zeros(std::min<uint64_t>(n, 4096));
  for (; n > 0; n -= std::min<uint64_t>(n, zeros.size())) append({zeros.data(), std::min<size_t>(n, zeros.size())});
}

void OutputFile::finish() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) fail(ErrorCode::Resources, "{}: cannot write: {}", partial_, std::strerror(errno));
  if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    fail(ErrorCode::BadInput, "{}: cannot rename to {}: {}", partial_, path_, std::strerror(errno));
  }
  exists_ = false;
}

}  // namespace tally::gguf
