// Automata for text that is free until a call begins in it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/rules.h"

namespace tally::constrain {

// One way in which a call begins, as bytes where kSpace stands for any white space and kDigits for any digits.
struct Trigger {
  std::string stem;  // up to the name
  std::string name;  // the name and what must follow it
};
inline constexpr char kSpace = '\x01', kDigits = '\x02';

class TriggerText {
 public:
  // anchored: calls begin only where the text does. All triggers with one stem stand together. Throws ConstraintError
  // ("limit") when the automaton passes kMaxStates.
  TriggerText(std::span<const Trigger> triggers, bool anchored);

  // Text in which no call begins.
  std::shared_ptr<const grammar::Dfa> without() const { return without_; }
  // Text that ends with the stem of triggers[first] (and those behind it that share it) and in which no call begins;
  // null: there is none.
  std::shared_ptr<const grammar::Dfa> up_to(std::string_view stem) const;

  static constexpr size_t kMaxStates = 65'536;

 private:
  std::shared_ptr<const grammar::Dfa> without_;
  std::vector<std::pair<std::string, std::shared_ptr<const grammar::Dfa>>> up_to_;
};

// Text that ends with the first occurrence of `tag`, and text in which it does not occur.
std::shared_ptr<const grammar::Dfa> text_up_to(std::string_view tag);
std::shared_ptr<const grammar::Dfa> text_without(std::string_view tag);

}  // namespace tally::constrain
