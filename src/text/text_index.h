// Distinct byte strings numbered 0, 1, 2, … with look-up by content: one arena and one open-addressing table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tally::text {

class TextIndex {
 public:
  // Room for `n` strings of `bytes` bytes in total; more may be added.
  void reserve(size_t n, size_t bytes);

  // The number of `text`, adding it when it is new (then *added is true).
  uint32_t add(std::string_view text, bool* added = nullptr);
  // The number of `text`, or -1.
  int32_t find(std::string_view text) const;

  std::string_view text(uint32_t number) const {
    return {arena_.data() + begin_[number], static_cast<size_t>(begin_[number + 1] - begin_[number])};
  }
  uint32_t size() const { return static_cast<uint32_t>(hashes_.size()); }

 private:
  // The slot that holds `text`, or the empty one where it belongs.
  size_t slot_of(std::string_view text, uint64_t hash) const;
  void grow(size_t n_slots);

  std::vector<char> arena_;
  std::vector<uint64_t> begin_ = {0};  // size() + 1 offsets into the arena
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> slots_;  // number + 1; 0 is empty; a power of two, at most half full
};

}  // namespace tally::text
