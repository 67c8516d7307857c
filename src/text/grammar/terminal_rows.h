// What a vocabulary's tokens do inside a terminal, apart from everything around it: computed once for an automaton and
// shared by all schemas, grammars and requests that have it (the text of a JSON string above all). A mask is then the
// tokens that stay inside, plus a look at the few that leave. (XGrammar, arXiv 2411.15100, splits tokens alike.)
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/grammar/plain_sets.h"
#include "text/grammar/rules.h"
#include "text/grammar/token_trie.h"

namespace tally::grammar {

struct TerminalExit {
  uint32_t node;   // of the trie: with its bytes the terminal's text may end, and tokens go on
  uint32_t count;  // texts of a counted terminal that are complete there; else 0
};

// From one state of an automaton.
class TerminalRow {
 public:
  TerminalRow(const TokenTrie& trie, std::span<const PlainSet> plain, const Dfa& dfa, int state, bool counted);
  TerminalRow(const TerminalRow&) = delete;

  // Adds the tokens that end inside the terminal, with at most `room` texts begun or continued (counted terminals).
  void add_inside(uint64_t room, uint64_t* row) const;
  // Calls f(exit) for the exits below which a token goes on with one of `bytes`. Those without a child of such a byte
  // may be among them.
  template <typename F>
  void for_exits(const ByteSet& bytes, const F& f) const {
    if (counts_at_.empty()) {
      for (const TerminalExit& e : exits_) f(e);
      return;
    }
    for (int word = 0; word < 4; ++word)
      for (uint64_t bits = bytes.bits[word]; bits != 0; bits &= bits - 1)
        for_exits_before(static_cast<uint8_t>(word * 64 + __builtin_ctzll(bits)), f);
  }
  // Whether for_exits gives an exit once for each byte; then only children of that byte are meant.
  bool by_byte() const { return !counts_at_.empty(); }
  uint64_t bytes() const;

 private:
  static constexpr uint32_t kRows = PlainSet::kRows, kFewExits = 1024, kFewTokens = 256;
  static constexpr uint16_t kNoExit = PlainSet::kNone;
  struct Need {
    uint32_t texts;
    int32_t id;
  };

  template <typename F>
  void for_exits_before(uint8_t byte, const F& f) const {
    for (const TokenTrie::Step& s : trie_->by_byte(byte))
      if (counts_at_[s.parent] != kNoExit) f(TerminalExit{s.node, counts_at_[s.parent]});
  }
  template <bool counted, typename Entry>
  void walk(const Dfa& dfa, int state, std::span<const Entry> entries);
  void pack();
  void add_exit(uint32_t node, uint32_t count);
  void add_token(const TrieNode& node, uint32_t texts);
  void many_tokens();

  const TokenTrie* trie_;
  std::vector<uint64_t> all_;                 // all tokens inside, as bits …
  std::vector<Need> few_;                     // … or, when they are few, by texts
  std::vector<std::vector<uint64_t>> up_to_;  // counted, not few: [k − 1]: tokens with at most k texts
  std::vector<Need> beyond_;                  // counted, not few: by texts, those with more than kRows
  uint32_t most_ = 0;                         // texts of any token
  std::vector<TerminalExit> exits_;           // when few
  std::vector<uint16_t> counts_at_;           // else by node: texts complete there, or kNoExit
};

// The rows of one automaton.
class TerminalRows {
 public:
  TerminalRows(const TokenTrie& trie, std::span<const PlainSet> plain, std::shared_ptr<const Dfa> dfa)
      : trie_(trie), plain_(plain), dfa_(std::move(dfa)) {}
  // Safe from several threads; the row lives as long as this.
  const TerminalRow& row(int state, bool counted);
  const Dfa& dfa() const { return *dfa_; }
  uint64_t bytes() const;

 private:
  const TokenTrie& trie_;
  std::span<const PlainSet> plain_;
  std::shared_ptr<const Dfa> dfa_;
  mutable std::mutex mutex_;
  std::unordered_map<int64_t, std::unique_ptr<const TerminalRow>> rows_;
  uint64_t bytes_ = 0;
};

// A vocabulary with what is known about it. Safe from several threads.
class MaskVocabulary {
 public:
  explicit MaskVocabulary(TokenTrie trie, uint64_t byte_limit = 128u << 20)
      : trie_(std::move(trie)), plain_(plain_sets(trie_)), byte_limit_(byte_limit) {}
  MaskVocabulary(const MaskVocabulary&) = delete;

  const TokenTrie& trie() const { return trie_; }
  // The rows of an automaton, found by its content. Those not asked for lately are forgotten beyond the byte limit
  // (whoever holds them keeps them).
  std::shared_ptr<TerminalRows> rows_of(const std::shared_ptr<const Dfa>& dfa);

 private:
  void make_room();

  TokenTrie trie_;
  std::vector<PlainSet> plain_;
  uint64_t byte_limit_;
  std::mutex mutex_;
  std::list<std::pair<uint64_t, std::shared_ptr<TerminalRows>>> recent_;  // hash of the automaton; the last used first
  std::unordered_multimap<uint64_t, decltype(recent_)::iterator> by_hash_;
  int n_since_count_ = 0;
};

}  // namespace tally::grammar
