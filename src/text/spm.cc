#include "text/spm.h"

#include <algorithm>
#include <bit>

#include "text/utf8.h"

namespace tally::text {
namespace {

// Maps scores to integers such that a higher score gives a smaller one.
uint32_t order_of_score(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes +0
  return bits & 0x80000000u ? bits : ~bits & 0x7FFFFFFFu;
}

struct Later {
  bool operator()(const Spm::Scratch::Pair& a, const Spm::Scratch::Pair& b) const { return a.order > b.order; }
};

}  // namespace

Spm::Spm(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) breaks_.add(vocabulary.text(id));
  for (int b = 0; b < 256; ++b) {
    const char c = static_cast<char>(b);
    int32_t& token = fallback_[static_cast<size_t>(b)];
    token = vocabulary.find_byte(static_cast<uint8_t>(b));
    if (token < 0) token = vocabulary.find({&c, 1});
    if (token < 0) token = vocabulary.special().unknown;
  }
}

void Spm::encode(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
  // An ill-formed lead byte may swallow the mark of a word.
  const bool words_apart = is_valid_utf8(text);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = words_apart ? breaks_.next(text, begin) : text.size();
    const std::string_view word = text.substr(begin, end - begin);
    begin = end;
    if (!PieceCache::fits(word)) {
      encode_word(word, scratch, ids);
    } else if (!scratch.cache.find(word, ids)) {
      const size_t before = ids.size();
      encode_word(word, scratch, ids);
      scratch.cache.store(word, {ids.data() + before, ids.size() - before});
    }
  }
}

bool Spm::find_pair(std::string_view text, uint32_t left, Scratch& scratch) const {
  const auto& symbols = scratch.symbols;
  if (left == kNone || symbols[left].next == kNone) return false;
  const uint32_t length = symbols[left].length + symbols[symbols[left].next].length;
  if (length > vocabulary_->longest()) return false;
  const int32_t token = vocabulary_->find(text.substr(symbols[left].begin, length));
  if (token < 0) return false;
  scratch.heap.push_back({static_cast<uint64_t>(order_of_score(vocabulary_->score(token))) << 32 | left, length});
  return true;
}

void Spm::encode_word(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  symbols.clear();
  heap.clear();
  for (uint32_t at = 0; at < text.size();) {
    const auto length = std::min(utf8_length(text[at]), static_cast<uint32_t>(text.size()) - at);
    const auto i = static_cast<uint32_t>(symbols.size());
    symbols.push_back({at, length, i - 1, i + 1});
    at += length;
  }
  symbols.back().next = kNone;
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) find_pair(text, i, scratch);
  std::make_heap(heap.begin(), heap.end(), Later());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), Later());
    const auto at = static_cast<uint32_t>(heap.back().order);
    const uint32_t length = heap.back().length;
    heap.pop_back();
    auto& left = symbols[at];
    // Either side merged since: the lengths no longer add up (a symbol that was merged away has none).
    if (left.length == 0 || left.next == kNone || left.length + symbols[left.next].length != length) continue;
    auto& right = symbols[left.next];
    left.length = length;
    right.length = 0;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = at;
    for (const uint32_t neighbour : {left.previous, at})
      if (find_pair(text, neighbour, scratch)) std::push_heap(heap.begin(), heap.end(), Later());
  }
  for (uint32_t i = 0; i != kNone; i = symbols[i].next) emit(text.substr(symbols[i].begin, symbols[i].length), ids);
}

void Spm::emit(std::string_view symbol, std::vector<int32_t>& ids) const {
  if (const int32_t token = vocabulary_->find(symbol); token >= 0) {
    ids.push_back(token);
    return;
  }
  for (const char c : symbol)
    if (const int32_t token = fallback_[static_cast<unsigned char>(c)]; token >= 0) ids.push_back(token);
}

}  // namespace tally::text
