// Tables that give equal things one number: frames, sets of numbers, and steps between states. Open addressing with
// linear probing; nothing is removed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tally::grammar {

struct Frame;

inline uint64_t mix(uint64_t x) {  // the finaliser of MurmurHash3 (Appleby, public domain)
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

// Slots of an open hash table over entries that live elsewhere: values are entry numbers plus 1.
class HashSlots {
 public:
  HashSlots() : slots_(64, 0) {}
  // The entry with equal(entry) among those of this hash, or −1; then `put` may add one there.
  template <typename Equal>
  int64_t find(uint64_t hash, const Equal& equal) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at] != 0) {
      if (equal(slots_[at] - 1)) return slots_[at] - 1;
      at = (at + 1) & mask;
    }
    free_ = at;
    return -1;
  }
  // Adds `entry` where the last find ended. rehash(entry) gives the hash of an entry.
  template <typename Rehash>
  void put(uint32_t entry, const Rehash& rehash) {
    slots_[free_] = entry + 1;
    if (++n_ * 2 <= slots_.size()) return;
    std::vector<uint32_t> old(slots_.size() * 2, 0);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (uint32_t e : old) {
      if (e == 0) continue;
      size_t at = rehash(e - 1) & mask;
      while (slots_[at] != 0) at = (at + 1) & mask;
      slots_[at] = e;
    }
  }
  uint64_t bytes() const { return slots_.capacity() * 4; }

 private:
  std::vector<uint32_t> slots_;
  size_t n_ = 0, free_ = 0;
};

template <typename T>
class InternTable {  // T: trivially copyable, with == and hash_of(T)
 public:
  uint32_t intern(const T& value) {
    const auto found = slots_.find(hash_of(value), [&](uint32_t e) { return entries_[e] == value; });
    if (found >= 0) return static_cast<uint32_t>(found);
    const uint32_t id = static_cast<uint32_t>(entries_.size());
    entries_.push_back(value);
    slots_.put(id, [&](uint32_t e) { return hash_of(entries_[e]); });
    return id;
  }
  const T& get(uint32_t id) const { return entries_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  uint64_t bytes() const { return slots_.bytes() + entries_.capacity() * sizeof(T); }

 private:
  std::vector<T> entries_;
  HashSlots slots_;
};
using FrameTable = InternTable<Frame>;

class SetTable {  // of ascending numbers; the empty set is 0
 public:
  SetTable() { intern({}); }
  uint32_t intern(std::span<const uint32_t> set) {
    const auto same = [&](uint32_t e) {
      const auto other = get(e);
      return other.size() == set.size() && std::equal(set.begin(), set.end(), other.begin());
    };
    const auto found = slots_.find(hash(set), same);
    if (found >= 0) return static_cast<uint32_t>(found);
    const uint32_t id = size();
    data_.insert(data_.end(), set.begin(), set.end());
    ends_.push_back(static_cast<uint32_t>(data_.size()));
    slots_.put(id, [&](uint32_t e) { return hash(get(e)); });
    return id;
  }
  std::span<const uint32_t> get(uint32_t id) const {
    const uint32_t begin = id == 0 ? 0 : ends_[id - 1];
    return std::span(data_).subspan(begin, ends_[id] - begin);
  }
  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }
  uint64_t bytes() const { return slots_.bytes() + (data_.capacity() + ends_.capacity()) * 4; }

 private:
  static uint64_t hash(std::span<const uint32_t> set) {
    uint64_t h = set.size();
    for (uint32_t x : set) h = mix(h ^ x) + 0x9e3779b97f4a7c15ULL;
    return h;
  }
  std::vector<uint32_t> data_, ends_;
  HashSlots slots_;
};

class StepTable {  // keys below 2^64 − 1
 public:
  StepTable() : keys_(128, kFree), values_(128) {}
  const uint32_t* find(uint64_t key) const {
    const size_t mask = keys_.size() - 1;
    for (size_t at = mix(key) & mask; keys_[at] != kFree; at = (at + 1) & mask)
      if (keys_[at] == key) return &values_[at];
    return nullptr;
  }
  void put(uint64_t key, uint32_t value) {  // a new key
    if (++n_ * 2 > keys_.size()) grow();
    insert(key, value);
  }
  uint64_t bytes() const { return keys_.capacity() * 12; }

 private:
  static constexpr uint64_t kFree = ~uint64_t(0);
  void insert(uint64_t key, uint32_t value) {
    const size_t mask = keys_.size() - 1;
    size_t at = mix(key) & mask;
    while (keys_[at] != kFree) at = (at + 1) & mask;
    keys_[at] = key, values_[at] = value;
  }
  void grow() {
    std::vector<uint64_t> keys(keys_.size() * 2, kFree);
    std::vector<uint32_t> values(keys.size());
    keys.swap(keys_), values.swap(values_);
    for (size_t i = 0; i < keys.size(); ++i)
      if (keys[i] != kFree) insert(keys[i], values[i]);
  }
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> values_;
  size_t n_ = 0;
};

}  // namespace tally::grammar
