#include "text/grammar/schema_expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "text/grammar/regex_terms.h"
#include "text/grammar/spelling.h"

namespace tally::grammar {
namespace {

uint64_t length_of(std::string_view s) {
  uint64_t n = 0;
  for (char c : s) n += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  return n;
}

}  // namespace

int ExprPool::add(Expr e) {
  if (e.kind == ExprKind::Length && e.min > e.max) return kBottom;
  if (e.kind == ExprKind::Length && e.min == 0 && e.max == kUnbounded) return kTop;
  if (e.kind == ExprKind::Words) {
    std::sort(e.words.begin(), e.words.end());
    e.words.erase(std::unique(e.words.begin(), e.words.end()), e.words.end());
    if (e.words.empty()) return kBottom;
  }
  if (e.kind == ExprKind::Numbers) {
    std::sort(e.numbers.begin(), e.numbers.end());
    e.numbers.erase(std::unique(e.numbers.begin(), e.numbers.end()), e.numbers.end());
    if (e.numbers.empty()) return kBottom;
  }
  budget_.spend(1);
  nodes_.push_back(std::move(e));
  return static_cast<int>(nodes_.size()) - 1;
}

int ExprPool::negate(int a) {
  if (a == kTop) return kBottom;
  if (a == kBottom) return kTop;
  if (nodes_[a].kind == ExprKind::Not) return nodes_[a].kids[0];
  Expr e;
  e.kind = ExprKind::Not;
  e.kids = {a};
  return add(std::move(e));
}

int ExprPool::either(const std::vector<int>& kids) {
  Expr words, numbers, out;
  words.kind = ExprKind::Words;
  numbers.kind = ExprKind::Numbers;
  out.kind = ExprKind::Or;
  std::vector<int> todo(kids);
  for (size_t i = 0; i < todo.size(); ++i) {
    const Expr& e = nodes_[todo[i]];
    if (e.kind == ExprKind::Top) return kTop;
    if (e.kind == ExprKind::Bottom) continue;
    if (e.kind == ExprKind::Or) {
      todo.insert(todo.end(), e.kids.begin(), e.kids.end());
    } else if (e.kind == ExprKind::Words) {
      words.words.insert(words.words.end(), e.words.begin(), e.words.end());
    } else if (e.kind == ExprKind::Numbers) {
      numbers.numbers.insert(numbers.numbers.end(), e.numbers.begin(), e.numbers.end());
    } else {
      out.kids.push_back(todo[i]);
    }
  }
  if (!words.words.empty()) out.kids.push_back(add(std::move(words)));
  if (!numbers.numbers.empty()) out.kids.push_back(add(std::move(numbers)));
  std::sort(out.kids.begin(), out.kids.end());
  out.kids.erase(std::unique(out.kids.begin(), out.kids.end()), out.kids.end());
  if (out.kids.empty()) return kBottom;
  return out.kids.size() == 1 ? out.kids[0] : add(std::move(out));
}

int ExprPool::filtered(int values, const std::vector<int>& others) {
  Expr kept;
  kept.kind = nodes_[values].kind;
  auto all_have = [&](const auto& v) {
    return std::all_of(others.begin(), others.end(), [&](int o) { return o == values || has(o, v); });
  };
  const std::vector<std::string> words = nodes_[values].words;
  const std::vector<Decimal> numbers = nodes_[values].numbers;
  budget_.spend((words.size() + numbers.size()) * others.size());
  std::copy_if(words.begin(), words.end(), std::back_inserter(kept.words), all_have);
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(kept.numbers), all_have);
  if (kept.words.size() == words.size() && kept.numbers.size() == numbers.size()) return values;
  return add(std::move(kept));
}

int ExprPool::both(int a, int b) {
  if (a == b || b == kTop) return a;
  if (a == kTop) return b;
  if (a == kBottom || b == kBottom) return kBottom;
  for (auto [u, other] : {std::pair(a, b), std::pair(b, a)}) {  // unions stay outside, each part is written as it is
    if (nodes_[u].kind != ExprKind::Or || nodes_[u].kids.size() > 64 || nodes_[other].kind == ExprKind::Or) continue;
    const std::vector<int> parts = nodes_[u].kids;
    std::vector<int> kids;
    for (int k : parts) kids.push_back(both(k, other));
    return either(kids);
  }
  std::vector<int> kids;
  for (int e : {a, b}) {
    if (nodes_[e].kind == ExprKind::And) {
      kids.insert(kids.end(), nodes_[e].kids.begin(), nodes_[e].kids.end());
    } else {
      kids.push_back(e);
    }
  }
  return both_of(std::move(kids));
}

int ExprPool::both_of(std::vector<int> kids) {
  std::sort(kids.begin(), kids.end());
  kids.erase(std::unique(kids.begin(), kids.end()), kids.end());
  for (int k : kids)
    if (nodes_[k].kind == ExprKind::Words || nodes_[k].kind == ExprKind::Numbers) return filtered(k, kids);
  Expr length, out;
  length.kind = ExprKind::Length;
  out.kind = ExprKind::And;
  for (int k : kids) {
    const Expr& e = nodes_[k];
    if (e.kind == ExprKind::Not && std::binary_search(kids.begin(), kids.end(), e.kids[0])) return kBottom;
    if (e.kind == ExprKind::Length) {
      length.min = std::max(length.min, e.min);
      length.max = std::min(length.max, e.max);
      length.path = e.path;
    } else {
      out.kids.push_back(k);
    }
  }
  int l = add(std::move(length));
  if (l == kBottom) return kBottom;
  if (l != kTop) out.kids.push_back(l);
  return out.kids.size() == 1 ? out.kids[0] : add(std::move(out));
}

template <class Value>
bool ExprPool::holds(int e, const Value& value) {
  const Expr& x = nodes_[e];
  switch (x.kind) {
    case ExprKind::Top:
      return true;
    case ExprKind::And:
    case ExprKind::Or: {
      const bool any = x.kind == ExprKind::Or;
      const std::vector<int> kids = x.kids;
      for (int k : kids)
        if (holds(k, value) == any) return any;
      return !any;
    }
    case ExprKind::Not:
      return !holds(x.kids[0], value);
    default:
      return atom_has(e, value);
  }
}

bool ExprPool::has(int e, std::string_view s) { return holds(e, s); }
bool ExprPool::has(int e, const Decimal& d) { return holds(e, d); }

bool ExprPool::atom_has(int e, std::string_view s) {
  const Expr& x = nodes_[e];
  switch (x.kind) {
    case ExprKind::Length: {
      const uint64_t n = length_of(s);
      return n >= x.min && n <= x.max;
    }
    case ExprKind::Words:
      return std::binary_search(x.words.begin(), x.words.end(), s);
    case ExprKind::Pattern:
    case ExprKind::Format:
      budget_.spend(s.size());
      return strings(e)->matches(s);
    default:
      return false;
  }
}

bool ExprPool::atom_has(int e, const Decimal& d) {
  const Expr& x = nodes_[e];
  switch (x.kind) {
    case ExprKind::Integer:
      return d.is_integer();
    case ExprKind::AtLeast:
      return compare(d, x.bound) >= static_cast<int>(x.min);
    case ExprKind::AtMost:
      return compare(d, x.bound) <= -static_cast<int>(x.min);
    case ExprKind::Multiple:
      return is_multiple(d, x.bound);
    case ExprKind::Numbers:
      return std::binary_search(x.numbers.begin(), x.numbers.end(), d);
    default:
      return false;
  }
}

bool ExprPool::empty_strings(int e) {
  const ExprKind k = nodes_[e].kind;
  if (k == ExprKind::Bottom) return true;
  if (k == ExprKind::Top || k == ExprKind::Words || k == ExprKind::Length) return false;
  return strings(e)->empty();
}

bool ExprPool::empty_numbers(int e) {
  const ExprKind k = nodes_[e].kind;
  if (k == ExprKind::Bottom) return true;
  if (k == ExprKind::Top || k == ExprKind::Numbers || k == ExprKind::Integer || k == ExprKind::AtLeast ||
      k == ExprKind::AtMost || k == ExprKind::Multiple)
    return false;
  return product(*numbers(e), plain_numbers_dfa(), SetOp::And, budget_).empty();
}

std::string ExprPool::key(int e, size_t depth) const {
  const Expr& x = nodes_[e];
  if (depth > 8) return "";
  std::string out = std::to_string(static_cast<int>(x.kind));
  for (int k : x.kids) {
    std::string inner = key(k, depth + 1);
    if (inner.empty() || out.size() + inner.size() > 3000) return "";
    out += '(' + inner + ')';
  }
  if (x.words.size() > 200 || x.numbers.size() > 200 || x.text.size() > 2000) return "";
  for (const std::string& w : x.words) out += fmt::format(" {}:{}", w.size(), w);
  for (const Decimal& d : x.numbers) out += ' ' + to_text(d);
  if (x.kind == ExprKind::Length || x.kind == ExprKind::AtLeast || x.kind == ExprKind::AtMost ||
      x.kind == ExprKind::Multiple)
    out += fmt::format(" {} {} {}", x.min, x.max, to_text(x.bound));
  if (!x.text.empty()) out += fmt::format(" {}:{}", x.text.size(), x.text);
  return out.size() > 3000 ? "" : out;
}

SymbolDfa ExprPool::build(int e, bool number) {
  const Expr x = nodes_[e];
  if (!x.path.empty()) budget_.path = x.path;
  switch (x.kind) {
    case ExprKind::Top:
    case ExprKind::Bottom: {
      SymbolDfa d;
      d.accepting = {x.kind == ExprKind::Top};
      d.next = {0};
      return d;
    }
    case ExprKind::And:
    case ExprKind::Or: {
      const SetOp op = x.kind == ExprKind::And ? SetOp::And : SetOp::Or;
      SymbolDfa d = *automaton(x.kids[0], number);
      for (size_t i = 1; i < x.kids.size(); ++i) d = product(d, *automaton(x.kids[i], number), op, budget_);
      return d;
    }
    case ExprKind::Not:
      return complement(*automaton(x.kids[0], number));
    case ExprKind::Pattern:
      return regex_dfa(x.text, budget_);
    case ExprKind::Format:
      return regex_dfa(format_pattern(x.text, x.path), budget_);
    case ExprKind::Length:
      return length_dfa(x.min, x.max, budget_);
    case ExprKind::Words:
      return words_dfa(x.words, budget_);
    case ExprKind::Integer:
      return integers_dfa();
    case ExprKind::AtLeast:
      return bound_dfa(x.bound, true, x.min == 1, false, budget_);
    case ExprKind::AtMost:
      return bound_dfa(x.bound, false, x.min == 1, true, budget_);
    case ExprKind::Multiple:
      return multiple_dfa(x.bound, budget_);
    case ExprKind::Numbers: {
      SymbolDfa d = bound_dfa(x.numbers[0], true, false, true, budget_);
      for (size_t i = 1; i < x.numbers.size(); ++i)
        d = product(d, bound_dfa(x.numbers[i], true, false, true, budget_), SetOp::Or, budget_);
      return d;
    }
  }
  return {};
}

std::shared_ptr<const SymbolDfa> ExprPool::automaton(int e, bool number) {
  auto& slot = memo_[{e, number}];
  if (slot) return slot;
  const ExprKind k = nodes_[e].kind;
  const std::string shared =
      k == ExprKind::Pattern || k == ExprKind::Format || k == ExprKind::AtLeast || k == ExprKind::AtMost ? key(e) : "";
  std::shared_ptr<const SymbolDfa> made = shared.empty() ? nullptr : cached_automaton(shared);
  if (!made) {
    made = std::make_shared<const SymbolDfa>(build(e, number));
    if (!shared.empty()) cache_automaton(shared, made);
  }
  memo_[{e, number}] = made;
  return made;
}

std::shared_ptr<const SymbolDfa> ExprPool::strings(int e) { return automaton(e, false); }
std::shared_ptr<const SymbolDfa> ExprPool::numbers(int e) { return automaton(e, true); }

std::shared_ptr<const Dfa> ExprPool::string_terminal(int e) {
  const Expr& x = nodes_[e];
  if (x.kind == ExprKind::Top) return free_string();
  if (x.kind == ExprKind::Bottom) return nullptr;
  std::string shared = key(e);
  if (!shared.empty()) shared = "s" + shared;
  if (auto known = shared.empty() ? nullptr : cached_terminal(shared)) return known;
  std::shared_ptr<const Dfa> made;
  const bool plain = std::all_of(x.words.begin(), x.words.end(), [](const std::string& w) {
    return std::none_of(w.begin(), w.end(), [](char c) { return static_cast<uint8_t>(c) < 0x20; });
  });
  if (x.kind == ExprKind::Words && plain) {
    std::vector<std::string> spelled;
    for (const std::string& w : x.words) spelled.push_back(quoted(w));
    std::sort(spelled.begin(), spelled.end());
    made = spell_words(spelled, budget_);
  } else {
    made = spell_string(*strings(e), true, budget_);
  }
  if (made && !shared.empty()) cache_terminal(shared, made);
  return made;
}

std::shared_ptr<const Dfa> ExprPool::number_terminal(int e) {
  const Expr x = nodes_[e];
  if (x.kind == ExprKind::Top) return free_number();
  if (x.kind == ExprKind::Integer) return free_integer();
  if (x.kind == ExprKind::Bottom) return nullptr;
  std::string shared = key(e);
  if (!shared.empty()) shared = "n" + shared;
  if (auto known = shared.empty() ? nullptr : cached_terminal(shared)) return known;
  std::shared_ptr<const Dfa> made;
  if (x.kind == ExprKind::Numbers) {
    std::vector<std::string> spelled;
    for (const Decimal& d : x.numbers) spelled.push_back(to_text(d));
    std::sort(spelled.begin(), spelled.end());
    made = spell_words(spelled, budget_);
  } else {
    const bool integer = x.kind == ExprKind::And && std::any_of(x.kids.begin(), x.kids.end(), [&](int k) {
                           return nodes_[k].kind == ExprKind::Integer;
                         });
    made = spell_ascii(product(*numbers(e), integer ? plain_integers_dfa() : plain_numbers_dfa(), SetOp::And, budget_),
                       budget_);
  }
  if (made && !shared.empty()) cache_terminal(shared, made);
  return made;
}

}  // namespace tally::grammar
