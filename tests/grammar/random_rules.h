// Small random grammars over the letters a, b, c for tests.
#pragma once

#include <random>
#include <string>

#include "text/grammar/rules.h"

namespace tally::test {

class RandomRules {
 public:
  explicit RandomRules(uint64_t seed) : random_(seed) {}

  grammar::Rules make() {
    rules_ = {};
    made_.clear();
    const int n_rules = 1 + pick(4);
    for (int i = 0; i < n_rules; ++i) ids_.push_back(rules_.add_rule("r" + std::to_string(i)));
    for (int i = 0; i < n_rules; ++i) rules_.define(ids_[i], node(3));
    rules_.set_root(rules_.ref(ids_[0]));
    ids_.clear();
    return std::move(rules_);
  }
  std::string text(size_t longest) {
    std::string out;
    for (size_t n = static_cast<size_t>(pick(static_cast<int>(longest) + 1)); n > 0; --n) out += letter();
    return out;
  }
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

 private:
  char letter() { return static_cast<char>('a' + pick(3)); }
  grammar::NodeId node(int depth) {
    if (depth > 0 && pick(3) > 0) {
      std::vector<grammar::NodeId> parts;
      for (int n = 1 + pick(3); n > 0; --n)
        parts.push_back(pick(6) == 0 && !made_.empty() ? made_[pick(int(made_.size()))] : node(depth - 1));
      grammar::NodeId out;
      if (const int kind = pick(4); kind < 2) {
        out = rules_.sequence(parts);
      } else if (kind == 2) {
        out = rules_.alternatives(parts);
      } else {
        const auto min = static_cast<uint64_t>(pick(3));
        out = rules_.repeat(parts[0], min, pick(2) ? grammar::kUnbounded : min + static_cast<uint64_t>(pick(3)));
      }
      if (depth < 3) made_.push_back(out);
      return out;
    }
    switch (pick(8)) {
      case 0:
        return rules_.empty();
      case 1:
      case 2:
        return rules_.ref(ids_[pick(static_cast<int>(ids_.size()))]);
      case 3: {
        grammar::ByteSet set;
        set.add(static_cast<uint8_t>(letter())), set.add(static_cast<uint8_t>(letter()));
        return rules_.set(set);
      }
      case 4:
        return rules_.terminal(dfa());
      default:
        return rules_.literal(std::string(1 + static_cast<size_t>(pick(2)), letter()));
    }
  }
  // (a|b)*c? : accepting throughout, with the empty text.
  static std::shared_ptr<const grammar::Dfa> dfa() {
    static const auto made = [] {
      auto d = std::make_shared<grammar::Dfa>();
      d->n_classes = 3;
      d->class_of['a'] = d->class_of['b'] = 1, d->class_of['c'] = 2;
      d->next = {-1, 0, 1, -1, -1, -1};
      d->accepting = {1, 1};
      return d;
    }();
    return made;
  }

  std::mt19937_64 random_;
  grammar::Rules rules_;
  std::vector<grammar::RuleId> ids_;
  std::vector<grammar::NodeId> made_;  // nodes that stand in several places
};

}  // namespace tally::test
