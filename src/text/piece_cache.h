// Ids of short pieces seen before: direct-mapped, so bounded and almost without bookkeeping. It starts small and grows
// with use, so that short texts do not pay for it. One per thread that encodes.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace tally::text {

class PieceCache {
 public:
  static constexpr size_t kMaxBytes = 22;
  static constexpr size_t kMaxIds = 8;

  static bool fits(std::string_view piece) { return piece.size() <= kMaxBytes; }

  // For pieces that fit: true when known, with the ids appended.
  bool find(std::string_view piece, std::vector<int32_t>& ids) {
    if (entries_.empty()) return false;
    const Entry& e = entry(piece);
    if (e.n_ids == kUnused || e.n_bytes != piece.size() || std::memcmp(e.bytes, piece.data(), piece.size()) != 0)
      return false;
    ids.insert(ids.end(), e.ids, e.ids + e.n_ids);
    return true;
  }

  void store(std::string_view piece, std::span<const int32_t> ids) {
    if (ids.size() > kMaxIds) return;
    if (++n_stores_ > entries_.size() / 2 && entries_.size() < kMaxEntries) {
      entries_.assign(entries_.empty() ? kMinEntries : 4 * entries_.size(), Entry());
      n_stores_ = 0;
    }
    Entry& e = entry(piece);
    e.n_bytes = static_cast<uint8_t>(piece.size());
    e.n_ids = static_cast<uint8_t>(ids.size());
    std::memcpy(e.bytes, piece.data(), piece.size());
    if (!ids.empty()) std::memcpy(e.ids, ids.data(), ids.size_bytes());
  }

 private:
  static constexpr uint8_t kUnused = 255;
  static constexpr size_t kMinEntries = size_t{1} << 9;
  static constexpr size_t kMaxEntries = size_t{1} << 15;
  struct Entry {
    int32_t ids[kMaxIds];
    uint8_t n_bytes = 0;
    uint8_t n_ids = kUnused;
    char bytes[kMaxBytes];
  };

  Entry& entry(std::string_view piece) { return entries_[hash_bytes(piece.data(), piece.size()) % entries_.size()]; }

  std::vector<Entry> entries_;  // empty until the first store
  size_t n_stores_ = 0;         // since the last growth
};

}  // namespace tally::text
