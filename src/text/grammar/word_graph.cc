// Minimal acyclic automata from sorted words (Daciuk, Mihov, Watson and Watson, "Incremental construction of minimal
// acyclic finite-state automata", 2000).
#include <algorithm>
#include <map>

#include "text/grammar/symbol_dfa.h"
#include "text/grammar/utf8_text.h"

namespace tally::grammar {
namespace {

size_t hash_of(const WordGraph::State& s) {
  uint64_t h = s.accepting ? 0x9E3779B97F4A7C15u : 0x51ED270B27B4C3E1u;
  for (auto [symbol, to] : s.edges) {
    h = (h ^ symbol) * 0x100000001B3u;
    h = (h ^ static_cast<uint32_t>(to)) * 0xC2B2AE3D27D4EB4Fu;
    h ^= h >> 29;
  }
  return h;
}

}  // namespace

int WordGraph::intern(State s) {
  if (table_.size() < 2 * (used_ + 1)) {
    table_.assign(std::max<size_t>(64, table_.size() * 2), -1);
    for (size_t i = 0; i < states_.size(); ++i) {
      size_t at = hash_of(states_[i]) & (table_.size() - 1);
      while (table_[at] >= 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = static_cast<int>(i);
    }
  }
  size_t at = hash_of(s) & (table_.size() - 1);
  for (; table_[at] >= 0; at = (at + 1) & (table_.size() - 1)) {
    const State& other = states_[table_[at]];
    if (other.accepting == s.accepting && other.edges == s.edges) return table_[at];
  }
  states_.push_back(std::move(s));
  ++used_;
  return table_[at] = static_cast<int>(states_.size()) - 1;
}

void WordGraph::replace_from(size_t depth) {
  while (path_.size() > depth + 1) {
    int id = intern(std::move(path_.back().state));
    path_.pop_back();
    path_.back().state.edges.emplace_back(path_.back().symbol, id);
  }
}

void WordGraph::add(const std::vector<uint32_t>& word) {
  size_t same = 0;
  while (same < word.size() && same < last_.size() && word[same] == last_[same]) ++same;
  replace_from(same);
  for (size_t i = same; i < word.size(); ++i) {
    path_.back().symbol = word[i];
    path_.emplace_back();
  }
  path_.back().state.accepting = true;
  last_ = word;
}

void WordGraph::finish() {
  replace_from(0);
  root_ = intern(std::move(path_[0].state));
  path_.clear();
}

SymbolDfa words_dfa(const std::vector<std::string>& sorted_utf8, Budget& budget) {
  WordGraph graph;
  std::vector<uint32_t> word;
  for (const std::string& s : sorted_utf8) {  // UTF-8 sorts as code points do
    budget.spend(s.size() + 1);
    word.clear();
    for (size_t at = 0, n = 0; at < s.size(); at += n) word.push_back(*decode_utf8(std::string_view(s).substr(at), &n));
    graph.add(word);
  }
  graph.finish();
  std::map<uint32_t, int> symbols;
  for (const auto& state : graph.states())
    for (auto [c, to] : state.edges) symbols.emplace(c, 0);
  SymbolDfa out;
  out.n_classes = 1;  // class 0: any other character
  out.starts = {0};
  out.classes = {0};
  for (auto& [c, cls] : symbols) {
    cls = out.n_classes++;
    if (out.starts.back() == c) {
      out.classes.back() = cls;
    } else {
      out.starts.push_back(c);
      out.classes.push_back(cls);
    }
    if (c < kLastChar) {
      out.starts.push_back(c + 1);
      out.classes.push_back(0);
    }
  }
  const size_t n = graph.states().size();
  budget.check_states(n + 1);
  budget.spend(n * static_cast<size_t>(out.n_classes) / 4);
  const int dead = static_cast<int>(n);
  out.next.assign((n + 1) * static_cast<size_t>(out.n_classes), dead);
  for (size_t q = 0; q < n; ++q) {
    out.accepting.push_back(graph.states()[q].accepting);
    for (auto [c, to] : graph.states()[q].edges) out.next[q * static_cast<size_t>(out.n_classes) + symbols[c]] = to;
  }
  out.accepting.push_back(0);
  out.start = graph.root();
  return out;
}

}  // namespace tally::grammar
