#include "text/grammar/regex_terms.h"

#include <algorithm>

#include "text/grammar/rules.h"

namespace tally::grammar {
namespace {

size_t hash_of(const Term& t, const std::vector<int>& kids) {
  uint64_t h = static_cast<uint64_t>(t.kind) + 0x9E3779B97F4A7C15u;
  auto mix = [&](uint64_t v) {
    h = (h ^ v) * 0xC2B2AE3D27D4EB4Fu;
    h ^= h >> 31;
  };
  mix(static_cast<uint32_t>(t.a));
  mix(static_cast<uint32_t>(t.b));
  mix(t.min);
  mix(t.max);
  for (int k : kids) mix(static_cast<uint32_t>(k));
  return h;
}

}  // namespace

TermPool::TermPool() {
  intern({}, {});
  Term empty;
  empty.kind = TermKind::Empty;
  empty.nullable = true;
  intern(empty, {});
  all_ = repeat(chars({{0, kLastChar}}), 0, kUnbounded);
}

int TermPool::intern(Term t, const std::vector<int>& kids) {
  const size_t h = hash_of(t, kids);
  work_ += kids.size() + 2;
  auto [from, to] = index_.equal_range(h);
  for (; from != to; ++from) {
    const Term& o = terms_[from->second];
    if (o.kind == t.kind && o.a == t.a && o.b == t.b && o.min == t.min && o.max == t.max && o.n_kids == kids.size() &&
        std::equal(kids.begin(), kids.end(), kids_.begin() + o.first_kid))
      return from->second;
  }
  t.first_kid = static_cast<uint32_t>(kids_.size());
  t.n_kids = static_cast<uint32_t>(kids.size());
  kids_.insert(kids_.end(), kids.begin(), kids.end());
  terms_.push_back(t);
  index_.emplace(h, static_cast<int>(terms_.size()) - 1);
  return static_cast<int>(terms_.size()) - 1;
}

int TermPool::chars(const CharSet& set) {
  if (set.empty()) return nothing();
  size_t i = 0;
  while (i < sets_.size() && sets_[i] != set) ++i;
  if (i == sets_.size()) sets_.push_back(set);
  Term t;
  t.kind = TermKind::Chars;
  t.a = static_cast<int>(i);
  return intern(t, {});
}

int TermPool::cat(int a, int b) {
  if (a == nothing() || b == nothing()) return nothing();
  if (a == empty()) return b;
  if (b == empty()) return a;
  if (a == all_ && b == all_) return a;
  std::vector<int> parts;  // (x y) b → x (y b), so that a term's head is never a sequence
  while (terms_[a].kind == TermKind::Cat) {
    parts.push_back(terms_[a].a);
    a = terms_[a].b;
  }
  parts.push_back(a);
  int tail = b;
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
    Term t;
    t.kind = TermKind::Cat;
    t.a = *it;
    t.b = tail;
    t.asserts = terms_[*it].asserts || terms_[tail].asserts;
    t.nullable = terms_[*it].nullable && terms_[tail].nullable;
    tail = intern(t, {});
  }
  return tail;
}

int TermPool::alt(std::vector<int> kids) {
  std::vector<int> flat;
  for (int k : kids) {
    if (terms_[k].kind == TermKind::Alt) {
      for (uint32_t i = 0; i < terms_[k].n_kids; ++i) flat.push_back(kid(terms_[k], i));
    } else if (k != nothing()) {
      flat.push_back(k);
    }
  }
  work_ += flat.size();
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (std::binary_search(flat.begin(), flat.end(), all_)) return all_;
  if (flat.empty()) return nothing();
  if (flat.size() == 1) return flat[0];
  Term t;
  t.kind = TermKind::Alt;
  for (int k : flat) {
    t.asserts |= terms_[k].asserts;
    t.nullable |= terms_[k].nullable;
  }
  return intern(t, flat);
}

int TermPool::both(std::vector<int> kids) {
  std::vector<int> flat;
  for (int k : kids) {
    if (k == nothing()) return nothing();
    if (terms_[k].kind == TermKind::And) {
      for (uint32_t i = 0; i < terms_[k].n_kids; ++i) flat.push_back(kid(terms_[k], i));
    } else if (k != all_) {
      flat.push_back(k);
    }
  }
  work_ += flat.size();
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.empty()) return all_;
  if (flat.size() == 1) return flat[0];
  Term t;
  t.kind = TermKind::And;
  t.nullable = true;
  for (int k : flat) {
    t.asserts |= terms_[k].asserts;
    t.nullable &= terms_[k].nullable;
  }
  return intern(t, flat);
}

int TermPool::negate(int a) {
  if (a == nothing()) return all_;
  if (a == all_) return nothing();
  if (terms_[a].kind == TermKind::Not) return terms_[a].a;
  Term t;
  t.kind = TermKind::Not;
  t.a = a;
  t.asserts = terms_[a].asserts;
  t.nullable = !terms_[a].nullable;
  return intern(t, {});
}

int TermPool::repeat(int a, uint64_t min, uint64_t max) {
  const Term of = terms_[a];
  if (max == 0 || a == empty()) return empty();
  if (a == nothing()) return min == 0 ? empty() : nothing();
  if (min == 1 && max == 1) return a;
  if (of.nullable && !of.asserts) min = 0;
  if (of.kind == TermKind::Repeat && of.min == 0 && of.max == kUnbounded) return a;
  Term t;
  t.kind = TermKind::Repeat;
  t.a = a;
  t.min = min;
  t.max = max;
  t.asserts = of.asserts;
  t.nullable = min == 0;
  return intern(t, {});
}

int TermPool::look(int a, bool negative) {
  Term t;
  t.kind = TermKind::Look;
  t.a = a;
  t.min = negative;
  t.asserts = true;
  return intern(t, {});
}

int TermPool::behind(int a, bool negative) {
  Term t;
  t.kind = TermKind::Behind;
  t.a = static_cast<int>(behinds_.size());
  t.min = negative;
  t.asserts = true;
  behinds_.push_back(a);
  return intern(t, {});
}

int TermPool::assertion(TermKind kind, bool negative) {
  Term t;
  t.kind = kind;
  t.min = negative;
  t.asserts = true;
  return intern(t, {});
}

}  // namespace tally::grammar
