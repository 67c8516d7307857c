#include "base/hash.h"
#include "text/jinja_objects.h"
#include "text/jinja_ops.h"

namespace tally::text::jinja {
namespace {
constexpr size_t kLinear = 8;
}

void DictObj::clear() {
  // Values may own this dict: they go only when the table is consistent again.
  std::vector<Entry> old;
  old.swap(entries);
  table.clear();
  n_live = 0;
}

int64_t DictObj::find(Interp& in, const Value& key, uint64_t hash) const {
  if (table.empty()) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].live() && entries[i].hash == hash && equal(in, entries[i].key, key))
        return static_cast<int64_t>(i);
    return -1;
  }
  const size_t mask = table.size() - 1;
  for (size_t p = hash & mask; table[p]; p = (p + 1) & mask) {
    const Entry& e = entries[table[p] - 1];
    if (e.live() && e.hash == hash && equal(in, e.key, key)) return table[p] - 1;
  }
  return -1;
}

int64_t DictObj::find(std::string_view key) const {
  auto same = [&](const Entry& e) { return e.key.is_string() && e.key.as<StringObj>()->text == key; };
  if (table.empty()) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (same(entries[i])) return static_cast<int64_t>(i);
    return -1;
  }
  const uint64_t hash = hash_bytes(key.data(), key.size());
  const size_t mask = table.size() - 1;
  for (size_t p = hash & mask; table[p]; p = (p + 1) & mask) {
    const Entry& e = entries[table[p] - 1];
    if (e.hash == hash && same(e)) return table[p] - 1;
  }
  return -1;
}

void DictObj::insert_index(size_t position) {
  const size_t mask = table.size() - 1;
  size_t p = entries[position].hash & mask;
  while (table[p]) p = (p + 1) & mask;
  table[p] = static_cast<uint32_t>(position + 1);
}

void DictObj::rebuild() {
  if (n_live < entries.size()) std::erase_if(entries, [](const Entry& e) { return !e.live(); });
  size_t size = 32;
  while (size < entries.size() * 3) size *= 2;
  table.assign(entries.size() > kLinear ? size : 0, 0);
  if (!table.empty())
    for (size_t i = 0; i < entries.size(); ++i) insert_index(i);
}

void DictObj::set(Interp& in, const Value& key, uint64_t hash, Value value) {
  if (const int64_t at = find(in, key, hash); at >= 0) {
    // The old value is destroyed when the entry is consistent again.
    std::swap(entries[static_cast<size_t>(at)].value, value);
    return;
  }
  if (entries.size() == entries.capacity()) {
    in.heap.charge(this, bytes() * 2 + 256);
    entries.reserve(entries.size() * 2 + 4);
  }
  entries.push_back({key, std::move(value), hash});
  ++n_live;
  const bool full = table.empty() ? entries.size() > kLinear : entries.size() * 3 > table.size() * 2;
  if (full) {
    rebuild();
    in.heap.charge(this, bytes());
  } else if (!table.empty()) {
    insert_index(entries.size() - 1);
  }
}

void DictObj::erase(size_t position) {
  const Value key = std::move(entries[position].key), value = std::move(entries[position].value);
  entries[position].key = Value();
  --n_live;
}

}  // namespace tally::text::jinja
