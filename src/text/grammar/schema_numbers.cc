// Automata over the digits of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "text/grammar/schema_expr.h"

namespace tally::grammar {
namespace {

constexpr int kOther = 0, kMinus = 1, kPoint = 2, kDigit = 3, kClasses = 13;

struct NumberState {
  int sign = 1;
  int phase = 0;  // the meaning is each automaton's own
  int64_t i = 0;  // position, or remainder
  int order = 0;  // comparison so far
  bool operator<(const NumberState& o) const {
    return std::tie(sign, phase, i, order) < std::tie(o.sign, o.phase, o.i, o.order);
  }
};

// Explores `step(state, class) → state` (phase −1: refused) from the initial state.
template <typename Step, typename Accept>
SymbolDfa explore(Step step, Accept accept, Budget* budget) {
  SymbolDfa d;
  d.n_classes = kClasses;
  d.starts = {0, '-', '.', '/'};
  d.classes = {kOther, kMinus, kPoint, kOther};
  for (int k = 0; k < 10; ++k) {
    d.starts.push_back(static_cast<uint32_t>('0' + k));
    d.classes.push_back(kDigit + k);
  }
  d.starts.push_back('9' + 1);
  d.classes.push_back(kOther);
  std::map<NumberState, int> ids;
  std::vector<NumberState> states;
  auto id_of = [&](const NumberState& s) {
    auto [it, fresh] = ids.try_emplace(s, static_cast<int>(states.size()));
    if (fresh) states.push_back(s);
    return it->second;
  };
  const NumberState dead{0, -1, 0, 0};
  id_of({});
  for (size_t q = 0; q < states.size(); ++q) {
    const NumberState s = states[q];
    if (budget != nullptr) {
      budget->check_states(states.size());
      budget->spend(kClasses);
    }
    d.accepting.push_back(s.phase >= 0 && accept(s));
    for (int c = 0; c < kClasses; ++c) {
      NumberState to = s.phase < 0 || c == kOther ? dead : step(s, c);
      d.next.push_back(id_of(to.phase < 0 ? dead : to));
    }
  }
  return d;
}

NumberState refused() { return {0, -1, 0, 0}; }

// Phases of a number's form.
enum Form { kBegin, kSigned, kZero, kInteger, kPointSeen, kFraction };

// `i` counts whether a digit other than 0 has been seen.
NumberState form_step(NumberState s, int c, bool fractions) {
  if (c == kMinus) return s.phase == kBegin ? NumberState{-1, kSigned, 0, 0} : refused();
  if (c == kPoint)
    return fractions && (s.phase == kZero || s.phase == kInteger) ? NumberState{s.sign, kPointSeen, s.i, 0} : refused();
  const bool zero = c == kDigit;
  if (s.phase == kZero) return refused();
  NumberState to = s;
  if (!zero) to.i = 1;
  to.phase = s.phase == kPointSeen || s.phase == kFraction ? kFraction
             : s.phase == kInteger                         ? kInteger
             : zero                                        ? kZero
                                                           : kInteger;
  return to;
}

SymbolDfa form_dfa(bool fractions) {
  return explore([&](const NumberState& s, int c) { return form_step(s, c, fractions); },
                 [](const NumberState& s) {
                   bool complete = s.phase == kZero || s.phase == kInteger || s.phase == kFraction;
                   return complete && (s.sign > 0 || s.i == 1);
                 },
                 nullptr);
}

}  // namespace

SymbolDfa plain_numbers_dfa() {
  static const SymbolDfa d = form_dfa(true);
  return d;
}

SymbolDfa plain_integers_dfa() {
  static const SymbolDfa d = form_dfa(false);
  return d;
}

SymbolDfa integers_dfa() {
  static const SymbolDfa d = explore(  // phases: 0 before the point, 1 zeros behind it
      [](const NumberState& s, int c) {
        if (c == kPoint) return s.phase == 0 ? NumberState{1, 1, 0, 0} : refused();
        return s.phase == 1 && c != kDigit ? refused() : s;
      },
      [](const NumberState&) { return true; }, nullptr);
  return d;
}

SymbolDfa bound_dfa(const Decimal& bound, bool at_least, bool exclusive, bool at_most, Budget& budget) {
  const PlainDigits digits = plain_digits(bound);
  const int64_t n_int = static_cast<int64_t>(digits.integer.size());
  const int64_t n_frac = static_cast<int64_t>(digits.fraction.size());
  enum { Start, Int, Frac, Decided };  // Int: i digits read (n_int + 1: more); Frac: i digits equal so far
  auto step = [&](const NumberState& s, int c) {
    NumberState to = s;
    if (c == kMinus) {
      to.sign = -1;
      return s.phase == Start ? to : refused();
    }
    if (c == kPoint) {
      if (s.phase != Int) return refused();
      const int order = s.i > n_int ? 1 : s.i < n_int ? -1 : s.order;
      return order == 0 ? NumberState{s.sign, Frac, 0, 0} : NumberState{s.sign, Decided, 0, order};
    }
    const int digit = c - kDigit;
    if (s.phase == Start || s.phase == Int) {
      to.phase = Int;
      if (s.i < n_int && s.order == 0) {
        const int d = digits.integer[static_cast<size_t>(s.i)] - '0';
        to.order = digit < d ? -1 : digit > d ? 1 : 0;
      }
      to.i = std::min(s.i + 1, n_int + 1);
      if (to.i > n_int) to.order = 1;
    } else if (s.phase == Frac) {
      const int d = s.i < n_frac ? digits.fraction[static_cast<size_t>(s.i)] - '0' : 0;
      if (digit == d) {
        to.i = std::min(s.i + 1, n_frac);
      } else {
        to = {s.sign, Decided, 0, digit < d ? -1 : 1};
      }
    }
    return to;
  };
  auto accept = [&](const NumberState& s) {
    int order = s.order;  // of the magnitudes
    if (s.phase == Start) return false;
    if (s.phase == Int) {
      order = s.i > n_int ? 1 : s.i < n_int ? -1 : s.order;
      if (order == 0 && n_frac > 0) order = -1;
    }
    if (s.phase == Frac) order = s.i < n_frac ? -1 : 0;
    if (bound.is_zero() || (s.sign < 0) == bound.negative) {
      if (s.sign < 0) order = -order;
    } else {
      order = s.sign;  // of other signs; the text is never a negative zero
    }
    return (at_least && order > 0 && !(at_most && at_least)) || (at_most && order < 0 && !(at_most && at_least)) ||
           (!exclusive && order == 0);
  };
  return explore(step, accept, &budget);
}

SymbolDfa multiple_dfa(const Decimal& step_size, Budget& budget) {
  int64_t modulus = 0;
  const int64_t places = std::max<int64_t>(0, -step_size.exponent);
  for (char c : step_size.digits + std::string(static_cast<size_t>(std::max<int64_t>(0, step_size.exponent)), '0')) {
    modulus = modulus * 10 + (c - '0');
    budget.check_states(static_cast<uint64_t>(modulus));
  }
  auto step = [&](const NumberState& s, int c) {  // phase: 0 before the point, k + 1 after k digits behind it
    NumberState to = s;
    if (c == kMinus) return to;
    if (c == kPoint) {
      to.phase = 1;
      return s.phase == 0 ? to : refused();
    }
    const int digit = c - kDigit;
    if (s.phase > places) return digit == 0 ? to : refused();
    to.i = (s.i * 10 + digit) % modulus;
    if (s.phase > 0) ++to.phase;
    return to;
  };
  auto accept = [&](const NumberState& s) {
    int64_t rest = s.i;
    for (int64_t k = std::max(0, s.phase - 1); k < places; ++k) rest = rest * 10 % modulus;
    return rest == 0;
  };
  return explore(step, accept, &budget);
}

}  // namespace tally::grammar
