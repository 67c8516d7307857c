#include "cli/grammar_check.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"

namespace tally::cli {

using grammar::TokenTrie;

TextFeeder::TextFeeder(std::shared_ptr<const grammar::Automaton> automaton,
                       std::shared_ptr<grammar::MaskVocabulary> vocabulary, const text::Tokenizer* tokenizer,
                       Splits splits, uint64_t seed)
    : matcher_(std::move(automaton)),
      masker_(matcher_, std::move(vocabulary)),
      tokenizer_(tokenizer),
      splits_(splits),
      seed_(seed) {}

// The token that `rest` begins with: the longest (Tokens), any (Random), one of one byte (Bytes); −1: none.
int32_t TextFeeder::next_token(std::string_view rest) {
  const TokenTrie& trie = masker_.vocabulary().trie();
  std::vector<int32_t> found;
  uint32_t node = 0;
  for (char c : rest) {
    node = trie.child(node, static_cast<uint8_t>(c));
    if (node == 0) break;
    if (trie.node(node).token >= 0) found.push_back(trie.node(node).token);
    if (splits_ == Splits::Bytes) break;
  }
  if (found.empty()) return -1;
  if (splits_ == Splits::Tokens) return found.back();
  return found[static_cast<size_t>(random_unit(seed_, n_drawn_++) * static_cast<double>(found.size()))];
}

// Ids; −1 stands for one byte that no token spells.
std::vector<int32_t> TextFeeder::split(std::string_view text) {
  const TokenTrie& trie = masker_.vocabulary().trie();
  if (splits_ == Splits::Tokens && tokenizer_ != nullptr) {
    std::vector<int32_t> ids = tokenizer_->encode(text, false, false);
    std::string joined;
    for (int32_t id : ids) joined += trie.bytes(id);
    if (joined == text) return ids;  // some vocabularies put a space first, or change characters
  }
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size();) {
    ids.push_back(next_token(text.substr(at)));
    at += ids.back() < 0 ? 1 : trie.bytes(ids.back()).size();
  }
  return ids;
}

TextVerdict TextFeeder::feed(std::string_view text) {
  matcher_.reset();
  const TokenTrie& trie = masker_.vocabulary().trie();
  size_t at = 0;
  const auto row = [&] {
    const uint64_t begin = now_ns();
    const auto bits = masker_.row();
    mask_us_.push_back(static_cast<double>(now_ns() - begin) * 1e-3);
    return bits;
  };
  for (int32_t id : split(text)) {
    const std::string_view piece = text.substr(at, id < 0 ? 1 : trie.bytes(id).size());
    const auto bits = row();
    const bool taken = matcher_.accept(piece);
    if (id >= 0 && taken != ((bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0))
      fail(ErrorCode::Internal, "token {} at byte {}: the mask says {}, the automaton {}", id, at, !taken, taken);
    if (!taken) {
      grammar::StateId state = matcher_.state();
      for (size_t i = 0;; ++i) {
        state = matcher_.table().step(state, static_cast<uint8_t>(piece[i]));
        if (state == 0) return {false, at + i};
      }
    }
    at += piece.size();
  }
  const auto bits = row();
  for (int32_t id : trie.end_ids())
    if (matcher_.can_end() != ((bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0))
      fail(ErrorCode::Internal, "at the end: the mask and the automaton differ");
  return {matcher_.can_end(), at};
}

}  // namespace tally::cli
