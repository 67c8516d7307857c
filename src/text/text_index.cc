#include "text/text_index.h"

#include <bit>

#include "base/hash.h"

namespace tally::text {

void TextIndex::reserve(size_t n, size_t bytes) {
  arena_.reserve(bytes);
  begin_.reserve(n + 1);
  hashes_.reserve(n);
  grow(std::bit_ceil(2 * n + 16));
}

size_t TextIndex::slot_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const uint32_t entry = slots_[slot];
    if (entry == 0 || (hashes_[entry - 1] == hash && this->text(entry - 1) == text)) return slot;
  }
}

void TextIndex::grow(size_t n_slots) {
  if (n_slots <= slots_.size()) return;
  slots_.assign(n_slots, 0);
  const size_t mask = n_slots - 1;
  for (uint32_t i = 0; i < size(); ++i) {
    size_t slot = hashes_[i] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

uint32_t TextIndex::add(std::string_view text, bool* added) {
  if (2 * (hashes_.size() + 1) > slots_.size()) grow(slots_.empty() ? 16 : 2 * slots_.size());
  const uint64_t hash = hash_bytes(text.data(), text.size());
  const size_t slot = slot_of(text, hash);
  if (added) *added = slots_[slot] == 0;
  if (slots_[slot] != 0) return slots_[slot] - 1;
  arena_.insert(arena_.end(), text.begin(), text.end());
  begin_.push_back(arena_.size());
  hashes_.push_back(hash);
  slots_[slot] = size();
  return size() - 1;
}

int32_t TextIndex::find(std::string_view text) const {
  if (slots_.empty()) return -1;
  const uint32_t entry = slots_[slot_of(text, hash_bytes(text.data(), text.size()))];
  return static_cast<int32_t>(entry) - 1;
}

}  // namespace tally::text
