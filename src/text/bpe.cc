#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "text/utf8.h"

namespace tally::text {
namespace {

bool maps_to_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr uint32_t kAlphabetEnd = 0x144;  // 68 bytes map to U+0100…U+0143

// Byte of each code point below kAlphabetEnd, or -1.
std::array<int, kAlphabetEnd> build_inverse_alphabet() {
  std::array<int, kAlphabetEnd> inverse;
  inverse.fill(-1);
  int next = 0x100;
  for (int b = 0; b < 256; ++b) inverse[static_cast<size_t>(maps_to_itself(b) ? b : next++)] = b;
  return inverse;
}

uint64_t pair_key(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }

}  // namespace

const std::array<std::string, 256>& byte_alphabet() {
  static const auto alphabet = [] {
    std::array<std::string, 256> texts;
    uint32_t next = 0x100;
    for (int b = 0; b < 256; ++b)
      append_utf8(texts[static_cast<size_t>(b)], maps_to_itself(b) ? static_cast<uint32_t>(b) : next++);
    return texts;
  }();
  return alphabet;
}

std::string bytes_of_alphabet_text(std::string_view text) {
  static const auto inverse = build_inverse_alphabet();
  std::string out;
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Utf8Char c = decode_utf8(p, end);
    if (c.valid && c.code < kAlphabetEnd && inverse[c.code] >= 0)
      out += static_cast<char>(inverse[c.code]);
    else
      out.append(p, c.length);
    p += c.length;
  }
  return out;
}

Bpe::Bpe(const Vocabulary& vocabulary, const std::vector<std::string_view>& merges, BpeRules rules,
         const std::string& file)
    : vocabulary_(&vocabulary), rules_(rules) {
  if (merges.empty())
    fail(ErrorCode::BadInput, "{}: \"tokenizer.ggml.merges\" is missing or empty; this kind of vocabulary needs it",
         file);
  if (merges.size() >= size_t{1} << 24)
    fail(ErrorCode::BadInput, "{}: \"tokenizer.ggml.merges\" has {} entries, expected fewer than 2^24", file,
         merges.size());
  merges_.resize(merges.size());
  pairs_.resize(std::bit_ceil(2 * merges.size() + 16));
  std::string whole;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view entry = merges[rank];
    const size_t space = entry.find(' ', 1);  // a piece may begin with a space
    if (space == std::string_view::npos) continue;
    whole.assign(entry.substr(0, space)).append(entry.substr(space + 1));
    if (rules.raw_utf8) breaks_.add(whole);
    const Merge merge{symbol(entry.substr(0, space)), symbol(entry.substr(space + 1)), symbol(whole)};
    merges_[rank] = merge;
    add_pair(pair_key(merge.left, merge.right), static_cast<uint32_t>(rank));
  }
  for (int b = 0; b < 256; ++b) {
    const auto i = static_cast<size_t>(b);
    if (!rules.raw_utf8) bytes_[i] = symbol(byte_alphabet()[i]);
    const char c = static_cast<char>(b);
    fallback_[i] = rules.raw_utf8 ? vocabulary.find_byte(static_cast<uint8_t>(b)) : vocabulary.find({&c, 1});
  }
}

uint32_t Bpe::symbol(std::string_view text) {
  const int32_t token = vocabulary_->find(text);
  return token >= 0 ? static_cast<uint32_t>(token) : static_cast<uint32_t>(vocabulary_->size()) + extra_.add(text);
}

uint32_t Bpe::find_symbol(std::string_view text) const {
  const int32_t token = vocabulary_->find(text);
  if (token >= 0) return static_cast<uint32_t>(token);
  const int32_t extra = extra_.find(text);
  return extra >= 0 ? static_cast<uint32_t>(vocabulary_->size() + extra) : kNone;
}

void Bpe::add_pair(uint64_t pair, uint32_t rank) {
  const size_t mask = pairs_.size() - 1;
  size_t slot = mix64(pair) & mask;
  while (pairs_[slot].pair != UINT64_MAX && pairs_[slot].pair != pair) slot = (slot + 1) & mask;
  if (pairs_[slot].pair != pair) pairs_[slot] = {pair, rank};  // a pair listed twice keeps its first rank
}

uint32_t Bpe::find_rank(uint32_t left, uint32_t right) const {
  const size_t mask = pairs_.size() - 1;
  const uint64_t pair = pair_key(left, right);
  for (size_t slot = mix64(pair) & mask; pairs_[slot].pair != UINT64_MAX; slot = (slot + 1) & mask)
    if (pairs_[slot].pair == pair) return pairs_[slot].rank;
  return kNone;
}

void Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end = rules_.raw_utf8 ? breaks_.next(piece, begin) : piece.size();
    const std::string_view word = piece.substr(begin, end - begin);
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

bool Bpe::encode_whole(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  const bool newlines = rules_.whole_newlines && piece.find_first_not_of('\n') == std::string_view::npos;
  if (!rules_.ignore_merges && !newlines) return false;
  if (piece.size() > vocabulary_->longest()) return false;
  std::string_view text = piece;
  if (!rules_.raw_utf8) {
    scratch.mapped.clear();
    for (const char c : piece) scratch.mapped += byte_alphabet()[static_cast<unsigned char>(c)];
    text = scratch.mapped;
  }
  const int32_t token = vocabulary_->find(text);
  if (token >= 0) ids.push_back(token);
  return token >= 0;
}

void Bpe::split_symbols(std::string_view piece, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (uint32_t at = 0; at < piece.size();) {
    const uint32_t length = rules_.raw_utf8 ? utf8_length(piece[at]) : 1;
    const uint32_t symbol =
        rules_.raw_utf8 ? find_symbol(piece.substr(at, length)) : bytes_[static_cast<unsigned char>(piece[at])];
    const auto i = static_cast<uint32_t>(symbols.size());
    symbols.push_back({symbol, i - 1, i + 1, at, at + length});
    at += length;
  }
  symbols.back().next = kNone;
}

bool Bpe::find_pair(uint32_t left, Scratch& scratch) const {
  const auto& symbols = scratch.symbols;
  if (left == kNone || symbols[left].next == kNone) return false;
  const uint32_t rank = find_rank(symbols[left].symbol, symbols[symbols[left].next].symbol);
  if (rank == kNone) return false;
  scratch.heap.push_back(static_cast<uint64_t>(rank) << 32 | left);
  return true;
}

// Merges the pair of lowest rank (leftmost first) until none is left. A symbol that was merged away is kNone.
void Bpe::merge(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) find_pair(i, scratch);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto rank = static_cast<uint32_t>(heap.back() >> 32);
    const auto at = static_cast<uint32_t>(heap.back());
    heap.pop_back();
    auto& left = symbols[at];
    const Merge& rule = merges_[rank];
    // Symbols only grow, so equal symbols mean that nothing has changed since the pair was pushed.
    if (left.symbol != rule.left || left.next == kNone || symbols[left.next].symbol != rule.right) continue;
    auto& right = symbols[left.next];
    left.symbol = rule.result;
    left.end = right.end;
    left.next = right.next;
    right.symbol = kNone;
    if (left.next != kNone) symbols[left.next].previous = at;
    for (const uint32_t neighbour : {left.previous, at})
      if (find_pair(neighbour, scratch)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
}

void Bpe::encode_word(std::string_view piece, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (encode_whole(piece, scratch, ids)) return;
  split_symbols(piece, scratch);
  merge(scratch);
  const auto n_tokens = static_cast<uint32_t>(vocabulary_->size());
  for (uint32_t i = 0; i != kNone; i = scratch.symbols[i].next) {
    const auto& s = scratch.symbols[i];
    if (s.symbol < n_tokens)
      ids.push_back(static_cast<int32_t>(s.symbol));
    else
      emit_bytes(s.symbol == kNone ? piece.substr(s.begin, s.end - s.begin) : extra_.text(s.symbol - n_tokens), ids);
  }
}

void Bpe::emit_bytes(std::string_view text, std::vector<int32_t>& ids) const {
  for (const char c : text)
    if (const int32_t token = fallback_[static_cast<unsigned char>(c)]; token >= 0) ids.push_back(token);
}

}  // namespace tally::text
