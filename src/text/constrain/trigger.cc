#include "text/constrain/trigger.h"

#include <algorithm>
#include <map>

#include "text/grammar/constraint_error.h"

namespace tally::constrain {
namespace {

using grammar::Dfa;

bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

// A position in a trigger: which one, and how much of it is read.
struct Position {
  uint32_t trigger, read;
  auto operator<=>(const Position&) const = default;
};
using Positions = std::vector<Position>;  // sorted

// Subset construction over all triggers at once.
class Builder {
 public:
  Builder(std::span<const Trigger> triggers, bool anchored) : anchored_(anchored) {
    for (const Trigger& t : triggers) {
      patterns_.push_back(t.stem + t.name);
      stems_.push_back(t.stem.size());
    }
    make_classes();
    Positions start;
    for (uint32_t p = 0; p < patterns_.size(); ++p) add(start, {p, 0});
    number(std::move(start));
    for (size_t s = 0; s < sets_.size(); ++s) expand(s);
  }

  // The states for which `accept` holds, and those that lead to them; a state in which a call has begun leads nowhere.
  template <typename F>
  std::shared_ptr<const Dfa> dfa(const F& accept) const {
    const size_t n = sets_.size(), k = representative_.size();
    std::vector<uint8_t> accepting(n), useful(n);
    for (size_t s = 0; s < n; ++s) useful[s] = accepting[s] = !begun(s) && accept(sets_[s]);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t s = n; s-- > 0;) {
        if (useful[s] || begun(s)) continue;
        for (size_t c = 0; c < k && !useful[s]; ++c) useful[s] = next_[s * k + c] >= 0 && useful[next_[s * k + c]];
        changed = changed || useful[s];
      }
    }
    if (!useful[0]) return nullptr;
    auto out = std::make_shared<Dfa>();
    out->class_of = class_of_;
    out->n_classes = int(k);
    std::vector<int32_t> renumbered(n, -1);
    int32_t count = 0;
    for (size_t s = 0; s < n; ++s)
      if (useful[s]) renumbered[s] = count++, out->accepting.push_back(accepting[s]);
    for (size_t s = 0; s < n; ++s)
      for (size_t c = 0; useful[s] && c < k; ++c) {
        const int32_t to = next_[s * k + c];
        out->next.push_back(to < 0 ? -1 : renumbered[to]);
      }
    out->start = renumbered[0];
    return out;
  }

  bool at_stem(const Positions& set, std::string_view stem) const {
    for (const Position& p : set)
      if (p.read == stems_[p.trigger] && std::string_view(patterns_[p.trigger]).substr(0, p.read) == stem) return true;
    return false;
  }

 private:
  void make_classes() {
    bool seen[256] = {};
    for (const std::string& p : patterns_)
      for (char c : p) seen[uint8_t(c)] = true;
    std::map<uint8_t, uint8_t> others;  // by white space, digit or neither
    for (int b = 0; b < 256; ++b) {
      const uint8_t kind = is_space(uint8_t(b)) ? 1 : is_digit(uint8_t(b)) ? 2 : 0;
      const bool own = seen[b] && b != kSpace && b != kDigits;
      if (!own && others.count(kind)) {
        class_of_[b] = others[kind];
        continue;
      }
      class_of_[b] = uint8_t(representative_.size());
      if (!own) others[kind] = class_of_[b];
      representative_.push_back(uint8_t(b));
    }
  }

  // A position, and those reached from it by leaving out white space or digits.
  void add(Positions& set, Position p) const {
    const std::string& pattern = patterns_[p.trigger];
    set.push_back(p);
    while (p.read < pattern.size() && (pattern[p.read] == kSpace || pattern[p.read] == kDigits)) {
      ++p.read;
      set.push_back(p);
    }
  }

  int32_t number(Positions set) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    const auto [at, fresh] = ids_.try_emplace(set, int32_t(sets_.size()));
    if (fresh) {
      if (sets_.size() >= TriggerText::kMaxStates)
        throw grammar::ConstraintError("", "the names of the tools are too many or too long to watch for",
                                       TriggerText::kMaxStates, sets_.size() + 1);
      sets_.push_back(std::move(set));
    }
    return at->second;
  }

  bool begun(size_t s) const {
    for (const Position& p : sets_[s])
      if (p.read == patterns_[p.trigger].size()) return true;
    return false;
  }

  void expand(size_t s) {
    const Positions from = sets_[s];
    const bool stop = begun(s);
    for (uint8_t byte : representative_) {
      Positions to;
      for (const Position& p : from) {
        if (stop) break;
        const char wanted = patterns_[p.trigger][p.read];
        if (wanted == kSpace || wanted == kDigits) {
          if (wanted == kSpace ? is_space(byte) : is_digit(byte)) add(to, p);
        } else if (uint8_t(wanted) == byte) {
          add(to, {p.trigger, p.read + 1});
        }
      }
      if (!anchored_ && !stop)
        for (uint32_t p = 0; p < patterns_.size(); ++p) add(to, {p, 0});
      next_.push_back(stop ? -1 : number(std::move(to)));
    }
  }

  bool anchored_;
  std::vector<std::string> patterns_;
  std::vector<size_t> stems_;
  std::array<uint8_t, 256> class_of_{};
  std::vector<uint8_t> representative_;  // a byte of each class
  std::map<Positions, int32_t> ids_;
  std::vector<Positions> sets_;
  std::vector<int32_t> next_;
};

}  // namespace

TriggerText::TriggerText(std::span<const Trigger> triggers, bool anchored) {
  const Builder builder(triggers, anchored);
  without_ = builder.dfa([](const Positions&) { return true; });
  for (const Trigger& t : triggers) {
    if (!up_to_.empty() && up_to_.back().first == t.stem) continue;
    up_to_.emplace_back(t.stem, builder.dfa([&](const Positions& set) { return builder.at_stem(set, t.stem); }));
  }
}

std::shared_ptr<const Dfa> TriggerText::up_to(std::string_view stem) const {
  for (const auto& [s, dfa] : up_to_)
    if (s == stem) return dfa;
  return nullptr;
}

namespace {

// Knuth, Morris and Pratt's automaton: a state is how much of the tag the text ends with.
std::shared_ptr<Dfa> tag_dfa(std::string_view tag, bool complete) {
  auto dfa = std::make_shared<Dfa>();
  std::string bytes;
  for (char c : tag)
    if (bytes.find(c) == bytes.npos) bytes += c;
  for (size_t i = 0; i < bytes.size(); ++i) dfa->class_of[uint8_t(bytes[i])] = uint8_t(i + 1);
  dfa->n_classes = int(bytes.size()) + 1;
  const int n = int(tag.size());
  std::vector<int> next(size_t(n) * bytes.size());
  for (int state = 0, border = 0; state < n; ++state) {  // border: the longest one of what is matched
    dfa->next.push_back(0);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const bool goes_on = tag[size_t(state)] == bytes[i];
      const int to = goes_on ? state + 1 : state == 0 ? 0 : next[size_t(border) * bytes.size() + i];
      next[size_t(state) * bytes.size() + i] = to;
      dfa->next.push_back(to < n ? to : complete ? n : -1);
    }
    const size_t own = bytes.find(tag[size_t(state)]);
    if (state > 0) border = next[size_t(border) * bytes.size() + own];
    dfa->accepting.push_back(!complete);
  }
  if (complete) {
    dfa->accepting.push_back(1);
    dfa->next.resize(dfa->next.size() + size_t(dfa->n_classes), -1);
  }
  return dfa;
}

}  // namespace

std::shared_ptr<const Dfa> text_without(std::string_view tag) { return tag_dfa(tag, false); }
std::shared_ptr<const Dfa> text_up_to(std::string_view tag) { return tag_dfa(tag, true); }

}  // namespace tally::constrain
