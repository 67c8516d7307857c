// Reads a file front to back; every read is checked against its end.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tally::gguf {

// For messages: control and non-ASCII bytes become '?', long text is cut.
inline std::string printable(std::string_view text) {
  std::string shown;
  for (char c : text.substr(0, 80)) shown += c >= 0x20 && c < 0x7F ? c : '?';
  if (text.size() > 80) shown += "…";
  return shown;
}

class Cursor {
 public:
  Cursor(std::span<const uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }
  uint64_t size() const { return bytes_.size(); }
  const std::string& name() const { return name_; }

  // The next n bytes; `what` they are goes into the message when they are not there.
  const uint8_t* take(uint64_t n, std::string_view what) {
    if (n > remaining()) {
      fail(ErrorCode::BadInput, "{}: truncated: {} needs {} bytes at byte {}, the file has {} bytes; fetch it again",
           name_, what, n, position_, bytes_.size());
    }
    const uint8_t* p = bytes_.data() + position_;
    position_ += n;
    return p;
  }

  template <typename T>
  T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what), sizeof value);
    return value;
  }

  // A string of at most `bytes_max` bytes.
  std::string_view read_text(uint64_t bytes_max, std::string_view what) {
    const uint64_t start = position_;
    const uint64_t length = read<uint64_t>(what);
    if (length > bytes_max) {
      fail(ErrorCode::BadInput, "{}: {} at byte {} claims a length of {} bytes, the limit is {}; the file is damaged",
           name_, what, start, length, bytes_max);
    }
    return {reinterpret_cast<const char*>(take(length, what)), static_cast<size_t>(length)};
  }

 private:
  std::span<const uint8_t> bytes_;
  const std::string& name_;
  uint64_t position_ = 0;
};

}  // namespace tally::gguf
