#include "gguf/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"

namespace tally::gguf {

File::Mapping::Mapping(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(ErrorCode::BadInput, "{}: cannot open: {}", path, std::strerror(errno));
  struct stat status;
  std::string problem;
  if (::fstat(descriptor, &status) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "not an ordinary file";
  } else if (status.st_size <= 0) {
    problem = "the file is empty; fetch it again";
  } else {
    size_ = static_cast<size_t>(status.st_size);
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data_ == MAP_FAILED) problem = std::string("cannot map: ") + std::strerror(errno);
  }
  ::close(descriptor);
  if (!problem.empty()) fail(ErrorCode::BadInput, "{}: {}", path, problem);
}

File::Mapping::~Mapping() { ::munmap(data_, size_); }

void File::Mapping::release(uint64_t offset, uint64_t size) const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t first = round_up(offset, page), end = (offset + size) / page * page;
  if (first < end) ::madvise(static_cast<uint8_t*>(data_) + first, end - first, MADV_DONTNEED);
}

}  // namespace tally::gguf
