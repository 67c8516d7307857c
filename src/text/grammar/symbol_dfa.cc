#include "text/grammar/symbol_dfa.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "text/grammar/rules.h"
#include "text/grammar/utf8_text.h"

namespace tally::grammar {

CharSet normalized(CharSet set) {
  std::sort(set.begin(), set.end(), [](CharRange a, CharRange b) { return a.first < b.first; });
  CharSet out;
  for (CharRange r : set) {
    if (!out.empty() && r.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, r.last);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

CharSet complement(const CharSet& set) {
  CharSet out;
  uint32_t from = 0;
  for (CharRange r : set) {
    if (r.first > from) out.push_back({from, r.first - 1});
    from = r.last + 1;
  }
  if (from <= kLastChar) out.push_back({from, kLastChar});
  return out;
}

bool contains(const CharSet& set, uint32_t c) {
  auto it = std::upper_bound(set.begin(), set.end(), c, [](uint32_t v, CharRange r) { return v < r.first; });
  return it != set.begin() && c <= (it - 1)->last;
}

int SymbolDfa::class_of(uint32_t c) const {
  return classes[static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), c) - starts.begin()) - 1];
}

bool SymbolDfa::matches(std::string_view s) const {
  int q = start;
  while (!s.empty()) {
    size_t n = 1;
    auto c = decode_utf8(s, &n);
    if (!c) return false;
    q = step(q, class_of(*c));
    s.remove_prefix(n);
  }
  return accepting[q] != 0;
}

std::vector<uint8_t> SymbolDfa::useful() const {
  const int n = n_states();
  std::vector<int> n_from(n + 1, 0), from(next.size());
  for (int32_t t : next) ++n_from[t + 1];
  for (int i = 0; i < n; ++i) n_from[i + 1] += n_from[i];
  std::vector<int> fill(n_from.begin(), n_from.end() - 1);
  for (size_t i = 0; i < next.size(); ++i) from[fill[next[i]]++] = static_cast<int>(i / n_classes);
  std::vector<uint8_t> good(accepting);
  std::vector<int> work;
  for (int q = 0; q < n; ++q)
    if (good[q]) work.push_back(q);
  while (!work.empty()) {
    int q = work.back();
    work.pop_back();
    for (int i = n_from[q]; i < n_from[q + 1]; ++i) {
      if (good[from[i]]) continue;
      good[from[i]] = 1;
      work.push_back(from[i]);
    }
  }
  return good;
}

SymbolDfa product(const SymbolDfa& a, const SymbolDfa& b, SetOp op, Budget& budget) {
  SymbolDfa out;
  out.starts.clear();
  out.classes.clear();
  std::map<std::pair<int, int>, int> pair_class;
  std::vector<std::pair<int, int>> pairs;
  for (size_t i = 0, j = 0; i < a.starts.size() && j < b.starts.size();) {
    uint32_t from = std::max(a.starts[i], b.starts[j]);
    auto [it, fresh] = pair_class.try_emplace({a.classes[i], b.classes[j]}, static_cast<int>(pairs.size()));
    if (fresh) pairs.push_back(it->first);
    if (out.classes.empty() || out.classes.back() != it->second) {
      out.starts.push_back(from);
      out.classes.push_back(it->second);
    }
    uint32_t end_a = i + 1 < a.starts.size() ? a.starts[i + 1] : kLastChar + 1;
    uint32_t end_b = j + 1 < b.starts.size() ? b.starts[j + 1] : kLastChar + 1;
    if (end_a <= end_b) ++i;
    if (end_b <= end_a) ++j;
  }
  out.n_classes = static_cast<int>(pairs.size());
  // States that cannot accept are one state each, or products of dead parts would be counted against the limit.
  const std::vector<uint8_t> good_a = a.useful(), good_b = b.useful();
  std::unordered_map<uint64_t, int> ids;
  std::vector<std::pair<int, int>> states;
  auto id_of = [&](int p, int q) {
    if (op != SetOp::Or && !good_a[p]) p = q = -1;
    if (op == SetOp::And && q >= 0 && !good_b[q]) p = q = -1;
    auto [it, fresh] = ids.try_emplace(uint64_t(uint32_t(p)) << 32 | uint32_t(q), static_cast<int>(states.size()));
    if (fresh) states.push_back({p, q});
    return it->second;
  };
  out.start = id_of(a.start, b.start);
  for (size_t s = 0; s < states.size(); ++s) {
    budget.check_states(states.size());
    budget.spend(pairs.size() + 1);
    auto [p, q] = states[s];
    if (p < 0) {
      out.accepting.push_back(0);
      for (size_t c = 0; c < pairs.size(); ++c) out.next.push_back(static_cast<int>(s));
      continue;
    }
    bool in_a = a.accepting[p] != 0, in_b = b.accepting[q] != 0;
    out.accepting.push_back(op == SetOp::And ? in_a && in_b : op == SetOp::Or ? in_a || in_b : in_a && !in_b);
    for (auto [ca, cb] : pairs) out.next.push_back(id_of(a.step(p, ca), b.step(q, cb)));
  }
  return out;
}

SymbolDfa complement(SymbolDfa a) {
  for (uint8_t& x : a.accepting) x = !x;
  return a;
}

SymbolDfa minimized(const SymbolDfa& a) {
  const int n = a.n_states();
  std::vector<int> part(a.accepting.begin(), a.accepting.end()), fresh(n);
  int n_parts = 0;
  for (;;) {  // Moore's refinement
    std::map<std::vector<int>, int> ids;
    std::vector<int> key(a.n_classes + 1);
    for (int q = 0; q < n; ++q) {
      key[0] = part[q];
      for (int c = 0; c < a.n_classes; ++c) key[c + 1] = part[a.step(q, c)];
      fresh[q] = ids.try_emplace(key, static_cast<int>(ids.size())).first->second;
    }
    part.swap(fresh);
    if (static_cast<int>(ids.size()) == n_parts) break;
    n_parts = static_cast<int>(ids.size());
  }
  SymbolDfa out;
  out.starts = a.starts;
  out.classes = a.classes;
  out.n_classes = a.n_classes;
  out.accepting.assign(n_parts, 0);
  out.next.assign(static_cast<size_t>(n_parts) * a.n_classes, 0);
  for (int q = 0; q < n; ++q) {
    out.accepting[part[q]] = a.accepting[q];
    for (int c = 0; c < a.n_classes; ++c) out.next[static_cast<size_t>(part[q]) * a.n_classes + c] = part[a.step(q, c)];
  }
  out.start = part[a.start];
  return out;
}

SymbolDfa length_dfa(uint64_t min, uint64_t max, Budget& budget) {
  const bool open = max == kUnbounded;
  const uint64_t last = open ? min : max;
  budget.check_states(last > kUnbounded - 2 ? last : last + 2);
  const int n = static_cast<int>(last) + (open ? 1 : 2);
  SymbolDfa out;
  for (int q = 0; q < n; ++q) {
    out.accepting.push_back(static_cast<uint64_t>(q) >= min && (open || static_cast<uint64_t>(q) <= max));
    out.next.push_back(std::min(q + 1, n - 1));
  }
  budget.spend(static_cast<uint64_t>(n));
  return out;
}

Partition partition(const std::vector<CharSet>& sets) {
  std::vector<uint32_t> starts{0};
  for (const CharSet& s : sets) {
    for (CharRange r : s) {
      starts.push_back(r.first);
      if (r.last < kLastChar) starts.push_back(r.last + 1);
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  Partition p;
  p.in_set.resize(sets.size());
  std::map<std::vector<uint8_t>, int> ids;
  std::vector<size_t> at(sets.size(), 0);
  std::vector<uint8_t> members(sets.size());
  for (uint32_t from : starts) {
    for (size_t s = 0; s < sets.size(); ++s) {
      while (at[s] < sets[s].size() && sets[s][at[s]].last < from) ++at[s];
      members[s] = at[s] < sets[s].size() && sets[s][at[s]].first <= from;
    }
    auto [it, fresh] = ids.try_emplace(members, p.n_classes);
    if (fresh) {
      ++p.n_classes;
      for (size_t s = 0; s < sets.size(); ++s) p.in_set[s].push_back(members[s]);
    }
    if (!p.classes.empty() && p.classes.back() == it->second) continue;
    p.starts.push_back(from);
    p.classes.push_back(it->second);
  }
  return p;
}

}  // namespace tally::grammar
