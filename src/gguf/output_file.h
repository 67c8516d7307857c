// A file that appears under its name only when it is complete.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tally::gguf {

class OutputFile {
 public:
  // Creates PATH.partial; Error (BadInput) when that is not possible, Error (Resources) when `bytes_expected` do not
  // fit on the disk.
  OutputFile(const std::string& path, uint64_t bytes_expected);
  ~OutputFile();  // removes PATH.partial unless finish() was reached
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void append(std::span<const uint8_t> bytes);
  void append_zeros(uint64_t n);
  // For writers in parallel: room for the whole file at once (Error (Resources) when there is none), then pieces at
  // their places, from any thread.
  void reserve(uint64_t bytes);
  void write_at(uint64_t offset, std::span<const uint8_t> bytes) const;
  uint64_t position() const { return position_; }
  void finish();  // closes and renames

 private:
  std::string path_, partial_;
  int descriptor_ = -1;
  bool exists_ = false;
  uint64_t position_ = 0;
};

}  // namespace tally::gguf
