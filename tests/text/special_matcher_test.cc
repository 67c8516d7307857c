#include "text/special_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "text/small_vocabulary.h"

namespace tally::text {
namespace {

// The definition, pass by pass over a list of fragments.
std::vector<Fragment> by_definition(const Vocabulary& v, const std::string& text, bool parse_special) {
  std::vector<int32_t> order;
  for (int32_t id = 0; id < v.size(); ++id) {
    const bool always = v.type(id) == TokenType::UserDefined;
    if (always || (parse_special && v.type(id) == TokenType::Control)) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return v.text(a).size() > v.text(b).size(); });
  std::vector<Fragment> fragments;
  if (!text.empty()) fragments.push_back({0, static_cast<uint32_t>(text.size()), -1});
  for (const int32_t id : order) {
    std::vector<Fragment> next;
    for (Fragment f : fragments) {
      while (f.token < 0) {
        const size_t at = std::string_view(text).substr(0, f.end).find(v.text(id), f.begin);
        if (at == std::string::npos) break;
        const auto begin = static_cast<uint32_t>(at), end = static_cast<uint32_t>(at + v.text(id).size());
        if (begin > f.begin) next.push_back({f.begin, begin, -1});
        next.push_back({begin, end, id});
        f.begin = end;
      }
      if (f.begin < f.end) next.push_back(f);
    }
    fragments = next;
  }
  return fragments;
}

bool operator_equal(const std::vector<Fragment>& a, const std::vector<Fragment>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Fragment& x, const Fragment& y) {
    return x.begin == y.begin && x.end == y.end && x.token == y.token;
  });
}

TEST(SpecialMatcher, EqualsTheDefinitionOnOverlappingTokens) {
  int overlaps = 0;
  for (uint64_t round = 0; round < 3000; ++round) {
    SmallVocabulary v = byte_level("gpt-2");
    std::vector<std::string> texts;
    for (uint64_t i = 0; i < 8; ++i) {
      std::string text;
      const uint64_t n = 2 + random_u64(round, i) % 4;
      for (uint64_t j = 0; j < n; ++j) text += static_cast<char>('a' + random_u64(round + 7777, i * 8 + j) % 2);
      if (std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
      texts.push_back(text);
      v.add(text, random_u64(round, i) >> 40 & 1 ? TokenType::Control : TokenType::UserDefined);
    }
    const Vocabulary vocabulary(v.spec);
    const SpecialMatcher matcher(vocabulary, {}, {});
    std::string text;
    for (uint64_t i = 0; i < 30; ++i) text += "aabbc"[random_u64(round + 1, 100 + i) % 5];
    for (const bool parse_special : {false, true}) {
      const auto expected = by_definition(vocabulary, text, parse_special);
      ASSERT_TRUE(operator_equal(matcher.split(text, parse_special), expected)) << text << " round " << round;
      overlaps += expected.size() > 3;
    }
  }
  EXPECT_GT(overlaps, 1000);
}

TEST(SpecialMatcher, LongRunsStayCheap) {
  SmallVocabulary v = byte_level("gpt-2");
  for (size_t n = 2; n <= 31; ++n) v.add(std::string(n, ' '), TokenType::UserDefined);
  const Vocabulary vocabulary(v.spec);
  const SpecialMatcher matcher(vocabulary, {}, {});
  const std::string text = "x" + std::string(100000, ' ') + "y";
  const auto fragments = matcher.split(text, false);
  // 3225 runs of 31, one of 25, and the two letters.
  EXPECT_EQ(fragments.size(), 100000u / 31 + 1 + 2);
  EXPECT_EQ(fragments[1].end - fragments[1].begin, 31u);
  EXPECT_EQ(fragments[fragments.size() - 2].end - fragments[fragments.size() - 2].begin, 25u);
}

TEST(SpecialMatcher, StripsWhitespaceBesideTokens) {
  SmallVocabulary v = byte_level("gpt-2");
  const int32_t before = v.add("<mask>", TokenType::Control);
  const int32_t after = v.add("<|user|>", TokenType::Control);
  const Vocabulary vocabulary(v.spec);
  std::vector<bool> strip_before(static_cast<size_t>(vocabulary.size())), strip_after(strip_before);
  strip_before[static_cast<size_t>(before)] = strip_after[static_cast<size_t>(after)] = true;
  const SpecialMatcher matcher(vocabulary, strip_before, strip_after);
  const std::string text = "a <mask> b <|user|> \n c<|user|>";
  std::string seen;
  for (const Fragment& f : matcher.split(text, true))
    seen += f.token == before ? "{M}" : f.token == after ? "{U}" : "[" + text.substr(f.begin, f.end - f.begin) + "]";
  EXPECT_EQ(seen, "[a]{M}[ b ]{U}[c]{U}");
}

}  // namespace
}  // namespace tally::text
