#include "text/grammar/matcher.h"

#include "base/check.h"
#include "text/grammar/constraint_error.h"

namespace tally::grammar {

Matcher::Matcher(std::shared_ptr<const Automaton> automaton, StateLimits limits)
    : table_(std::move(automaton), limits), history_{table_.start()} {}

bool Matcher::accept(std::string_view token) {
  if (table_.full()) make_room();
  const StateId to = table_.run(state(), token);
  if (to == 0) return false;
  history_.push_back(to);
  return true;
}

void Matcher::rollback(size_t n) {
  CHECK(n <= max_rollback(), "{} of {} tokens", n, max_rollback());
  history_.resize(history_.size() - n);
}

void Matcher::reset() {
  history_.assign(1, table_.start());
  if (table_.full()) make_room();
}

void Matcher::make_room() {
  if (history_.size() > kKept + 1) history_.erase(history_.begin(), history_.end() - (kKept + 1));
  table_.keep_only(history_);
  ++generation_;
  if (table_.full())
    throw ConstraintError("", "the text is nested too deeply to be followed within the memory allowed",
                          table_.byte_limit(), table_.bytes());
}

}  // namespace tally::grammar
