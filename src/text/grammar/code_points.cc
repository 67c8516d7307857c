#include "text/grammar/code_points.h"

#include <algorithm>
#include <array>
#include <map>

namespace tally::grammar {

namespace {

struct ByteRange {
  uint8_t first, last;
  auto operator<=>(const ByteRange&) const = default;
};
using Bytes = std::vector<ByteRange>;

// The UTF-8 forms of [first, last] as products of byte ranges (as utf8-ranges by A. Gallant splits them).
void split(uint32_t first, uint32_t last, std::vector<Bytes>& out) {
  std::vector<CodeRange> work{{first, last}};
  while (!work.empty()) {
    const CodeRange r = work.back();
    work.pop_back();
    const auto cut = [&](uint32_t at) { work.push_back({at + 1, r.last}), work.push_back({r.first, at}); };
    bool was_cut = false;
    for (uint32_t end : {0x7Fu, 0x7FFu, 0xFFFFu})
      if (!was_cut && r.first <= end && end < r.last) cut(end), was_cut = true;
    for (int i = 1; i < 4 && !was_cut && r.last > 0x7F; ++i) {
      const uint32_t mask = (1u << (6 * i)) - 1;
      if ((r.first & ~mask) == (r.last & ~mask)) continue;
      if ((r.first & mask) != 0)
        cut(r.first | mask), was_cut = true;
      else if ((r.last & mask) != mask)
        cut((r.last & ~mask) - 1), was_cut = true;
    }
    if (was_cut) continue;
    std::string a, b;
    append_code_point(a, r.first), append_code_point(b, r.last);
    Bytes bytes;
    for (size_t i = 0; i < a.size(); ++i) bytes.push_back({static_cast<uint8_t>(a[i]), static_cast<uint8_t>(b[i])});
    out.push_back(std::move(bytes));
  }
}

// Rows of 256 entries to classes of bytes that no state tells apart.
void compress(Dfa& dfa, const std::vector<std::array<int32_t, 256>>& rows) {
  std::map<std::vector<int32_t>, int> classes;
  std::vector<const std::vector<int32_t>*> columns;
  for (int b = 0; b < 256; ++b) {
    std::vector<int32_t> column;
    for (const auto& row : rows) column.push_back(row[b]);
    auto [at, fresh] = classes.try_emplace(std::move(column), static_cast<int>(classes.size()));
    if (fresh) columns.push_back(&at->first);
    dfa.class_of[b] = static_cast<uint8_t>(at->second);
  }
  dfa.n_classes = static_cast<int>(classes.size());
  dfa.next.resize(rows.size() * classes.size());
  for (size_t s = 0; s < rows.size(); ++s)
    for (size_t c = 0; c < columns.size(); ++c) dfa.next[s * columns.size() + c] = (*columns[c])[s];
}

}  // namespace

void append_code_point(std::string& to, uint32_t code) {
  const auto put = [&](uint32_t byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  if (code < 0x10000) return put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
}

uint32_t code_point_at(std::string_view text, size_t at, uint32_t& code) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint32_t(uint8_t(text[i])) : 0; };
  const uint32_t lead = byte(at);
  if (lead < 0x80) {
    code = lead;
    return at < text.size() ? 1 : 0;
  }
  const uint32_t n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  code = lead & (0x7Fu >> n);
  for (uint32_t i = 1; i < n; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  const uint32_t least = n == 2 ? 0x80 : n == 3 ? 0x800 : 0x10000;
  return code < least || code > kLastCodePoint || (code >= 0xD800 && code <= 0xDFFF) ? 0 : n;
}

std::vector<CodeRange> normal_ranges(std::vector<CodeRange> ranges) {
  std::vector<CodeRange> cut;
  for (CodeRange r : ranges) {
    r.last = std::min(r.last, kLastCodePoint);
    if (r.first > r.last) continue;
    if (r.first < 0xD800) cut.push_back({r.first, std::min(r.last, 0xD7FFu)});
    if (r.last > 0xDFFF) cut.push_back({std::max(r.first, 0xE000u), r.last});
  }
  std::sort(cut.begin(), cut.end(), [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
  std::vector<CodeRange> out;
  for (const CodeRange& r : cut) {
    if (!out.empty() && r.first <= out.back().last + 1)
      out.back().last = std::max(out.back().last, r.last);
    else
      out.push_back(r);
  }
  return out;
}

std::vector<CodeRange> complement(const std::vector<CodeRange>& ranges) {
  std::vector<CodeRange> out;
  uint32_t at = 0;
  for (const CodeRange& r : ranges) {
    if (r.first > at) out.push_back({at, r.first - 1});
    at = r.last + 1;
  }
  out.push_back({at, kLastCodePoint});
  return normal_ranges(std::move(out));
}

std::shared_ptr<const Dfa> dfa_of_code_points(const std::vector<CodeRange>& ranges) {
  std::vector<Bytes> all;
  for (const CodeRange& r : ranges) split(r.first, r.last, all);
  std::sort(all.begin(), all.end());
  // A state is what may still follow; equal ones are one state. All characters of a state have the same length but for
  // the first state, so the empty rest stands alone.
  std::map<std::vector<Bytes>, int> numbers;
  std::vector<std::vector<Bytes>> states;
  auto dfa = std::make_shared<Dfa>();
  const auto number = [&](std::vector<Bytes> rests) {
    auto [at, fresh] = numbers.try_emplace(rests, static_cast<int>(states.size()));
    if (fresh) {
      dfa->accepting.push_back(rests.size() == 1 && rests[0].empty());
      states.push_back(std::move(rests));
    }
    return at->second;
  };
  number(all);
  std::vector<std::array<int32_t, 256>> rows;
  for (size_t s = 0; s < states.size(); ++s) {
    rows.emplace_back().fill(-1);
    std::vector<std::vector<Bytes>> rests(256);
    for (const Bytes& b : states[s])
      if (!b.empty())
        for (int x = b[0].first; x <= b[0].last; ++x) rests[x].emplace_back(b.begin() + 1, b.end());
    for (int x = 0; x < 256; ++x) {
      if (rests[x].empty()) continue;
      std::sort(rests[x].begin(), rests[x].end());
      rests[x].erase(std::unique(rests[x].begin(), rests[x].end()), rests[x].end());
      rows[s][x] = number(std::move(rests[x]));
    }
  }
  compress(*dfa, rows);
  return dfa;
}

}  // namespace tally::grammar
