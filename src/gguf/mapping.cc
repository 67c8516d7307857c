#include "gguf/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

}  // namespace tally::gguf
