#include "text/special_matcher.h"

#include <algorithm>

namespace tally::text {
namespace {

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

SpecialMatcher::SpecialMatcher(const Vocabulary& vocabulary, std::vector<bool> strip_before,
                               std::vector<bool> strip_after)
    : strip_before_(std::move(strip_before)), strip_after_(std::move(strip_after)) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    if (type == TokenType::UserDefined) always_.sorted.push_back({vocabulary.text(id), id});
    if (type == TokenType::UserDefined || type == TokenType::Control || type == TokenType::Unknown)
      all_.sorted.push_back({vocabulary.text(id), id});
  }
  for (Set* set : {&always_, &all_}) {
    std::sort(set->sorted.begin(), set->sorted.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
    for (const Candidate& c : set->sorted) ++set->first[static_cast<unsigned char>(c.text[0]) + 1];
    for (size_t b = 0; b < 256; ++b) set->first[b + 1] += set->first[b];
  }
}

size_t SpecialMatcher::match_at(const Set& set, std::string_view text, size_t at, Cluster& cluster) {
  const auto byte = static_cast<unsigned char>(text[at]);
  auto low = set.sorted.begin() + set.first[byte];
  auto high = set.sorted.begin() + set.first[byte + 1];
  size_t longest = 0;
  // [low, high) holds the candidates that agree with the text on `depth` bytes; a text of just that length comes first.
  for (size_t depth = 1; low != high; ++depth) {
    if (low->text.size() == depth) {
      cluster.add(static_cast<uint32_t>(low - set.sorted.begin()), set);
      longest = depth;
      ++low;
    }
    if (at + depth >= text.size()) break;
    const auto next = static_cast<unsigned char>(text[at + depth]);
    low = std::lower_bound(low, high, next, [depth](const Candidate& c, unsigned char b) {
      return static_cast<unsigned char>(c.text[depth]) < b;
    });
    high = std::upper_bound(low, high, next, [depth](unsigned char b, const Candidate& c) {
      return b < static_cast<unsigned char>(c.text[depth]);
    });
  }
  return longest;
}

void SpecialMatcher::Cluster::add(uint32_t candidate, const Set& set) {
  if (seen.empty()) seen.resize(set.sorted.size());
  if (seen[candidate]) return;
  seen[candidate] = true;
  found.push_back(candidate);
}

// Within text[begin, end) (no occurrence reaches across its ends): gives out the occurrences of the tokens found there.
void SpecialMatcher::assign(const Set& set, std::string_view text, size_t begin, size_t end, Cluster& cluster,
                            std::vector<Fragment>& taken) const {
  std::sort(cluster.found.begin(), cluster.found.end(), [&set](uint32_t i, uint32_t j) {
    const Candidate &a = set.sorted[i], &b = set.sorted[j];
    return a.text.size() != b.text.size() ? a.text.size() > b.text.size() : a.token < b.token;
  });
  std::string used(end - begin, '\0');  // 1 where a token has been given out
  const std::string_view area = text.substr(begin, end - begin);
  for (const uint32_t i : cluster.found) {
    const Candidate& c = set.sorted[i];
    cluster.seen[i] = false;
    const auto id = static_cast<size_t>(c.token);
    for (size_t at = area.find(c.text); at != std::string_view::npos;) {
      size_t stop = at + c.text.size();
      // Earlier tokens are at least as long, so one that overlaps holds one of the ends.
      if (used[at] || used[stop - 1]) {
        at = area.find(c.text, used[stop - 1] ? stop : used.find('\0', at));
        continue;
      }
      size_t start = at;
      if (!strip_before_.empty() && strip_before_[id])
        while (start > 0 && !used[start - 1] && is_ascii_space(area[start - 1])) --start;
      if (!strip_after_.empty() && strip_after_[id])
        while (stop < area.size() && !used[stop] && is_ascii_space(area[stop])) ++stop;
      used.replace(start, stop - start, stop - start, '\1');
      taken.push_back({static_cast<uint32_t>(begin + start), static_cast<uint32_t>(begin + stop), c.token});
      at = area.find(c.text, stop);
    }
  }
  cluster.found.clear();
}

std::vector<Fragment> SpecialMatcher::split(std::string_view text, bool parse_special) const {
  const Set& set = parse_special ? all_ : always_;
  std::vector<Fragment> taken;
  // Occurrences that overlap form a cluster, whose tokens are given out together; the text between is cheap to skip.
  // Stripping reaches beyond a cluster: then the whole text is one.
  Cluster cluster;
  size_t begin = 0, end = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (at >= end && !cluster.found.empty() && !strips()) assign(set, text, begin, end, cluster, taken);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (set.first[byte] == set.first[byte + 1]) continue;
    const bool first = cluster.found.empty();
    const size_t length = match_at(set, text, at, cluster);
    if (length == 0) continue;
    if (first) begin = at;
    end = std::max(end, at + length);
  }
  if (!cluster.found.empty()) assign(set, text, strips() ? 0 : begin, strips() ? text.size() : end, cluster, taken);
  std::sort(taken.begin(), taken.end(), [](const Fragment& a, const Fragment& b) { return a.begin < b.begin; });
  std::vector<Fragment> out;
  uint32_t done = 0;
  for (const Fragment& f : taken) {
    if (f.begin > done) out.push_back({done, f.begin, -1});
    out.push_back(f);
    done = f.end;
  }
  if (done < text.size()) out.push_back({done, static_cast<uint32_t>(text.size()), -1});
  return out;
}

}  // namespace tally::text
