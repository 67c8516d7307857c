// The rules of a schema before they are written: nodes that may turn out to take no text are taken out here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/rules.h"
#include "text/grammar/symbol_dfa.h"

namespace tally::grammar {

class Graph {
 public:
  Graph(uint64_t max_nodes, Budget& budget) : max_nodes_(max_nodes), budget_(budget) {}

  int literal(std::string text);
  int terminal(std::shared_ptr<const Dfa> dfa);  // null: nothing
  int sequence(std::vector<int> parts);
  int alternatives(std::vector<int> parts);
  int repeat(int part, uint64_t min, uint64_t max);
  int optional(int part) { return repeat(part, 0, 1); }
  int empty() { return literal(""); }
  int nothing() { return terminal(nullptr); }
  int rule();  // its body is given later
  void define(int rule, int body) { nodes_[rule].kids = {body}; }

  // Writes what `roots` need; the nodes of roots that take no text are Nothing.
  std::vector<NodeId> write(Rules& rules, const std::vector<int>& roots);

 private:
  struct Item {
    NodeKind kind = NodeKind::Nothing;
    std::string text;
    std::shared_ptr<const Dfa> dfa;
    std::vector<int> kids;
    uint64_t min = 0, max = 0;
  };
  int add(Item item);
  bool takes_text(const Item& item, const std::vector<uint8_t>& good) const;
  std::vector<uint8_t> productive();

  uint64_t max_nodes_;
  Budget& budget_;
  std::vector<Item> nodes_;
};

// One rule for each state of a counter, made as the states are met; State is ordered.
template <class State>
class StateRules {
 public:
  StateRules(Graph& graph, Budget& budget) : graph_(graph), budget_(budget) {}

  // The rule of a state; one met for the first time waits for its body.
  int of(const State& s) {
    auto [it, fresh] = rules_.try_emplace(s, -1);
    if (fresh) {
      it->second = graph_.rule();
      todo_.push_back(s);
      budget_.check_states(rules_.size());
    }
    return it->second;
  }
  // A state whose rule waits, if there is one.
  std::optional<State> next() {
    if (todo_.empty()) return std::nullopt;
    State s = todo_.back();
    todo_.pop_back();
    return s;
  }
  void define(const State& s, const std::vector<int>& options) {
    graph_.define(rules_.at(s), options.empty() ? graph_.nothing() : graph_.alternatives(options));
  }

 private:
  Graph& graph_;
  Budget& budget_;
  std::map<State, int> rules_;
  std::vector<State> todo_;
};

}  // namespace tally::grammar
