// Regular expression terms to automata by derivatives.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "text/grammar/regex_terms.h"
#include "text/grammar/rules.h"

namespace tally::grammar {
namespace {

constexpr size_t kStatesMax = 20'000;

// What an assertion may ask about the text before it.
struct Context {
  bool at_start = true;
  bool after_word = false;
  std::vector<int> behind;  // terms of the look-behinds after the text so far
  bool operator<(const Context& o) const {
    return std::tie(at_start, after_word, behind) < std::tie(o.at_start, o.after_word, o.behind);
  }
};

class Derivation {
 public:
  Derivation(TermPool& pool, Budget& budget) : pool_(pool), budget_(budget) {
    std::vector<CharSet> sets = pool.sets();
    sets.push_back(word_chars());
    parts_ = partition(sets);
    Context first;
    for (int t : pool.behinds()) first.behind.push_back(pool_.cat(pool_.anything(), t));
    context_id(first);
  }

  SymbolDfa run(int root) {
    SymbolDfa out;
    out.starts = parts_.starts;
    out.classes = parts_.classes;
    out.n_classes = parts_.n_classes;
    std::map<std::pair<int, int>, int> ids;
    std::vector<std::pair<int, int>> states;
    auto id_of = [&](int term, int context) {
      if (!pool_[term].asserts) context = 0;  // does not ask any more
      auto [it, fresh] = ids.try_emplace({term, context}, static_cast<int>(states.size()));
      if (fresh) states.push_back(it->first);
      return it->second;
    };
    id_of(root, 0);
    for (size_t s = 0; s < states.size(); ++s) {
      if (states.size() > kStatesMax)
        throw ConstraintError(budget_.path, "the automaton of the regular expression has too many states", kStatesMax,
                              states.size());
      auto [term, context] = states[s];
      out.accepting.push_back(accepts(term, context));
      for (int c = 0; c < parts_.n_classes; ++c) {
        int next = pool_[term].asserts ? next_context(context, c) : 0;
        out.next.push_back(id_of(derivative(term, c, context), next));
      }
    }
    return out;
  }

 private:
  int context_id(const Context& c) {
    auto [it, fresh] = context_ids_.try_emplace(c, static_cast<int>(contexts_.size()));
    if (fresh) {
      contexts_.push_back(c);
      budget_.check_states(contexts_.size());
    }
    return it->second;
  }
  bool is_word(int cls) const { return parts_.in_set.back()[cls] != 0; }

  int next_context(int context, int cls) {
    Context next;
    next.at_start = false;
    next.after_word = is_word(cls);
    const std::vector<int> behind = contexts_[context].behind;
    for (int t : behind) next.behind.push_back(derivative(t, cls, 0));
    return context_id(next);
  }

  // The condition under which t matches the empty text here: a term of assertions.
  int empty_condition(int t) {
    if (!pool_[t].asserts) return pool_[t].nullable ? pool_.empty() : pool_.nothing();
    budget_.spend(1);
    const Term term = pool_[t];
    if (term.kind == TermKind::Cat) {
      std::vector<int> parts;
      int at = t;
      for (; pool_[at].kind == TermKind::Cat; at = pool_[at].b) {
        parts.push_back(empty_condition(pool_[at].a));
        if (parts.back() == pool_.nothing()) return pool_.nothing();
      }
      int out = empty_condition(at);
      for (auto it = parts.rbegin(); it != parts.rend(); ++it) out = pool_.cat(*it, out);
      return out;
    }
    if (term.kind == TermKind::Alt) {
      std::vector<int> kids;
      for (uint32_t i = 0; i < term.n_kids; ++i) kids.push_back(empty_condition(pool_.kid(pool_[t], i)));
      if (std::find(kids.begin(), kids.end(), pool_.empty()) != kids.end()) return pool_.empty();
      return pool_.alt(kids);
    }
    if (term.kind == TermKind::Repeat) return term.min == 0 ? pool_.empty() : empty_condition(term.a);
    return t;
  }

  // Assertions without reading a character: 1 holds, 0 does not, −1 depends on what follows.
  int known(const Term& t, int context, int cls) const {
    const Context& c = contexts_[context];
    switch (t.kind) {
      case TermKind::Start:
        return c.at_start;
      case TermKind::End:
        return cls < 0;
      case TermKind::Word:
        return (c.after_word != (cls >= 0 && is_word(cls))) != (t.min == 1);
      case TermKind::Behind:
        return pool_[c.behind[t.a]].nullable != (t.min == 1);
      default:
        return -1;
    }
  }

  bool accepts(int t, int context) {
    const Term term = pool_[t];
    if (!term.asserts) return term.nullable;
    budget_.spend(1);
    switch (term.kind) {
      case TermKind::Cat: {
        int at = t;
        for (; pool_[at].kind == TermKind::Cat; at = pool_[at].b)
          if (!accepts(pool_[at].a, context)) return false;
        return accepts(at, context);
      }
      case TermKind::Alt:
      case TermKind::And:
        for (uint32_t i = 0; i < term.n_kids; ++i)
          if (accepts(pool_.kid(pool_[t], i), context) == (term.kind == TermKind::Alt))
            return term.kind == TermKind::Alt;
        return term.kind == TermKind::And;
      case TermKind::Not:
        return !accepts(term.a, context);
      case TermKind::Repeat:
        return term.min == 0 || accepts(term.a, context);
      case TermKind::Look:
        return accepts(term.a, context) != (term.min == 1);
      default:
        return known(term, context, -1) == 1;
    }
  }

  // A condition (of empty_condition) as the term that what follows the character must match.
  int after(int condition, int cls, int context) {
    const Term t = pool_[condition];
    std::vector<int> kids;
    switch (t.kind) {
      case TermKind::Empty:
        return pool_.anything();
      case TermKind::Nothing:
        return condition;
      case TermKind::Cat:
        for (; pool_[condition].kind == TermKind::Cat; condition = pool_[condition].b)
          kids.push_back(after(pool_[condition].a, cls, context));
        kids.push_back(after(condition, cls, context));
        return pool_.both(kids);
      case TermKind::Alt:
        for (uint32_t i = 0; i < t.n_kids; ++i) kids.push_back(after(pool_.kid(pool_[condition], i), cls, context));
        return pool_.alt(kids);
      case TermKind::Look: {
        int d = derivative(pool_.cat(t.a, pool_.anything()), cls, context);
        return t.min == 1 ? pool_.negate(d) : d;
      }
      default:
        return known(t, context, cls) == 1 ? pool_.anything() : pool_.nothing();
    }
  }

  // What may follow the character when it is the first one that t reads and `tail` comes after t.
  int consuming(int t, int tail, int cls, int context) {
    budget_.spend(1);
    const Term term = pool_[t];
    std::vector<int> out;
    switch (term.kind) {
      case TermKind::Chars:
        return parts_.in_set[term.a][cls] ? tail : pool_.nothing();
      case TermKind::Cat: {
        int condition = pool_.empty();
        for (int at = t;;) {
          const bool more = pool_[at].kind == TermKind::Cat;
          const int head = more ? pool_[at].a : at;
          const int rest = more ? pool_[at].b : pool_.empty();
          int d = consuming(head, pool_.cat(rest, tail), cls, context);
          if (condition != pool_.empty()) d = pool_.both({after(condition, cls, context), d});
          out.push_back(d);
          if (!more) break;
          condition = pool_.cat(condition, empty_condition(head));
          if (condition == pool_.nothing()) break;
          at = rest;
        }
        return pool_.alt(out);
      }
      case TermKind::Alt:
        for (uint32_t i = 0; i < term.n_kids; ++i) out.push_back(consuming(pool_.kid(pool_[t], i), tail, cls, context));
        return pool_.alt(out);
      case TermKind::Repeat: {
        const uint64_t max = term.max == kUnbounded ? kUnbounded : term.max - 1;
        const uint64_t min = term.min == 0 ? 0 : term.min - 1;
        out.push_back(consuming(term.a, pool_.cat(pool_.repeat(term.a, min, max), tail), cls, context));
        int condition = min > 0 ? empty_condition(term.a) : pool_.nothing();
        if (condition != pool_.nothing()) {  // the other rounds may match the empty text here
          int d = consuming(term.a, pool_.cat(pool_.repeat(term.a, 0, max), tail), cls, context);
          out.push_back(pool_.both({after(condition, cls, context), d}));
        }
        return pool_.alt(out);
      }
      default:
        return pool_.nothing();
    }
  }

  int derivative(int t, int cls, int context) {
    const Term term = pool_[t];
    const uint64_t key = (static_cast<uint64_t>(t) * parts_.n_classes + cls) << 24 | (term.asserts ? context : 0);
    if (auto it = memo_.find(key); it != memo_.end()) return it->second;
    budget_.spend(4);
    int out = pool_.nothing();
    std::vector<int> kids;
    if (t == pool_.anything()) {
      out = t;
    } else if (term.kind == TermKind::Alt || term.kind == TermKind::And) {
      for (uint32_t i = 0; i < term.n_kids; ++i) kids.push_back(derivative(pool_.kid(pool_[t], i), cls, context));
      out = term.kind == TermKind::Alt ? pool_.alt(kids) : pool_.both(kids);
    } else if (term.kind == TermKind::Not) {
      out = pool_.negate(derivative(term.a, cls, context));
    } else {
      out = consuming(t, pool_.empty(), cls, context);
    }
    budget_.spend(pool_.work() - spent_);
    spent_ = pool_.work();
    memo_.emplace(key, out);
    return out;
  }

  TermPool& pool_;
  Budget& budget_;
  Partition parts_;
  std::map<Context, int> context_ids_;
  std::vector<Context> contexts_;
  std::unordered_map<uint64_t, int> memo_;
  uint64_t spent_ = 0;
};

// The term of a whole text in which `t` matches somewhere; anchors at its ends need no search.
int searching(TermPool& pool, int t) {
  int start = pool.assertion(TermKind::Start), end = pool.assertion(TermKind::End);
  bool from_start = false, to_end = false;
  if (pool[t].kind == TermKind::Cat && pool[t].a == start) {
    from_start = true;
    t = pool[t].b;
  } else if (t == start) {
    return pool.anything();
  }
  std::vector<int> parts;
  int at = t;
  for (; pool[at].kind == TermKind::Cat; at = pool[at].b) parts.push_back(pool[at].a);
  if (at == end) {
    to_end = true;
    at = pool.empty();
  }
  t = to_end ? at : pool.cat(at, pool.anything());
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) t = pool.cat(*it, t);
  return from_start ? t : pool.cat(pool.anything(), t);
}

}  // namespace

SymbolDfa regex_dfa(std::string_view pattern, Budget& budget) {
  TermPool pool;
  budget.spend(pattern.size());
  int t = parse_regex(pool, pattern, budget.path);
  SymbolDfa dfa = Derivation(pool, budget).run(searching(pool, t));
  return dfa.n_states() <= 300 ? minimized(dfa) : dfa;
}

}  // namespace tally::grammar
