// A read-only mapped file.
#pragma once

#include <span>
#include <string>

#include "gguf/gguf.h"

namespace tally::gguf {

class File::Mapping {
 public:
  // Maps the whole file. Error (BadInput) when it cannot be read, is a folder, or is empty.
  explicit Mapping(const std::string& path);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

  // Lets the whole pages between two bytes leave memory.
  void release(uint64_t offset, uint64_t size) const;

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tally::gguf
