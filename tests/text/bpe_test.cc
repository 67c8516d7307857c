// Merging against the plain form of its definition, on random vocabularies.
#include "text/bpe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "text/small_vocabulary.h"
#include "text/spm.h"

namespace tally::text {
namespace {

using Parts = std::vector<std::string>;

std::string joined(const Parts& parts) { return std::accumulate(parts.begin(), parts.end(), std::string()); }

// Merges by looking at all pairs each time: the lowest rank, the leftmost of equals.
Parts merged_plainly(Parts parts, const std::map<std::pair<std::string, std::string>, int>& ranks) {
  while (true) {
    int best = INT32_MAX;
    size_t at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found != ranks.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    }
    if (best == INT32_MAX) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, EqualsPlainMerging) {
  for (uint64_t round = 0; round < 300; ++round) {
    SmallVocabulary v = byte_level("gpt-2");
    std::map<std::pair<std::string, std::string>, int> ranks;
    Parts known = {"a", "b", "c"};
    std::map<std::string, int32_t> ids;
    for (int32_t id = 0; id < 256; ++id) ids[std::string(v.spec.tokens[static_cast<size_t>(id)])] = id;
    for (uint64_t i = 0; i < 12; ++i) {
      const std::string left = known[random_u64(round, 2 * i) % known.size()];
      const std::string right = known[random_u64(round, 2 * i + 1) % known.size()];
      if (ranks.contains({left, right})) continue;
      ranks[{left, right}] = static_cast<int>(ranks.size());
      const std::string whole = left + right;
      v.storage.push_back(left + " " + right);
      v.spec.merges.push_back(v.storage.back());
      if (!ids.contains(whole)) ids[whole] = v.add(whole);  // one text may come from several merges
      known.push_back(whole);
    }
    const Vocabulary vocabulary(v.spec);
    const Bpe bpe(vocabulary, v.spec.merges, {}, "small");
    Bpe::Scratch scratch;
    for (uint64_t k = 0; k < 40; ++k) {
      Parts letters;
      const uint64_t n = 1 + random_u64(round + 1000, k) % 40;
      for (uint64_t i = 0; i < n; ++i)
        letters.push_back(std::string(1, "abc"[random_u64(round + 2000, k * 64 + i) % 3]));
      Ids expected, found;
      for (const auto& part : merged_plainly(letters, ranks)) expected.push_back(ids.at(part));
      bpe.encode(joined(letters), scratch, found);
      ASSERT_EQ(found, expected) << joined(letters);
      found.clear();
      bpe.encode(joined(letters), scratch, found);  // now from the cache
      ASSERT_EQ(found, expected) << joined(letters);
    }
  }
}

TEST(Bpe, MergesByPairsNotByMembership) {
  SmallVocabulary v = byte_level("gpt-2");
  v.add("ab");  // a token, but no merge makes it
  v.merge("x", "y");
  const Tokenizer t = v.tokenizer();
  EXPECT_EQ(t.encode("ab", false, false), (Ids{t.find_token("a"), t.find_token("b")}));
  EXPECT_EQ(t.encode("xy", false, false), (Ids{t.find_token("xy")}));
}

TEST(Bpe, IgnoreMergesTakesWholePieces) {
  SmallVocabulary v = byte_level("llama-bpe");
  const int32_t token = v.add("Ġab");
  v.merge("x", "y");
  v.spec.add_bos = false;
  const Tokenizer t = v.tokenizer();
  EXPECT_EQ(t.encode(" ab", true, false), Ids{token});
}

TEST(Bpe, SymbolsThatAreNoTokensFallApartOrVanish) {
  SmallVocabulary v;
  v.spec.file = "small";
  v.spec.model = "gpt2";
  v.spec.pre = "gpt-2";
  const int32_t a = v.add("a"), b = v.add("b");
  const std::string merge = "a b";
  v.spec.merges = {merge};
  const Tokenizer t = v.tokenizer();
  EXPECT_EQ(t.encode("ab", false, false), (Ids{a, b}));   // "ab" is no token
  EXPECT_EQ(t.encode("a\x01z", false, false), (Ids{a}));  // no symbols for these bytes
}

TEST(Bpe, APairListedTwiceKeepsItsFirstRank) {
  SmallVocabulary v = byte_level("gpt-2");
  v.merge("a", "b");
  v.merge("b", "c");
  const std::string again = "a b";
  v.spec.merges.push_back(again);
  const Tokenizer t = v.tokenizer();
  EXPECT_EQ(t.encode("abc", false, false), (Ids{t.find_token("ab"), t.find_token("c")}));
}

// Text in which spaces are U+2581: pairs whose concatenation is a token, the highest score, then the leftmost.
Parts scored_plainly(Parts parts, const std::map<std::string, float>& scores) {
  while (true) {
    float best = -INFINITY;
    size_t at = parts.size();
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = scores.find(parts[i] + parts[i + 1]);
      if (found != scores.end() && found->second > best) {
        best = found->second;
        at = i;
      }
    }
    if (at == parts.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(Spm, EqualsPlainMergingByScore) {
  for (uint64_t round = 0; round < 300; ++round) {
    SmallVocabulary v = sentence_pieces();
    std::map<std::string, float> scores;
    Parts known = {"a", "b", "▁"};
    for (const auto& letter : {"a", "b"}) v.add(letter, TokenType::Normal, -500);
    for (uint64_t i = 0; i < 14; ++i) {
      const std::string text =
          known[random_u64(round, 2 * i) % known.size()] + known[random_u64(round, 2 * i + 1) % known.size()];
      if (scores.contains(text)) continue;
      const float score = -static_cast<float>(random_u64(round + 500, i) % 6);  // ties are frequent
      scores[text] = score;
      v.add(text, TokenType::Normal, score);
      known.push_back(text);
    }
    const Vocabulary vocabulary(v.spec);
    const Spm spm(vocabulary);
    Spm::Scratch scratch;
    for (uint64_t k = 0; k < 40; ++k) {
      Parts letters;
      const uint64_t n = 1 + random_u64(round + 1000, k) % 40;
      for (uint64_t i = 0; i < n; ++i)
        letters.push_back(Parts{"a", "b", "▁"}[random_u64(round + 2000, k * 64 + i) % 3]);
      Ids expected, found;
      for (const auto& part : scored_plainly(letters, scores)) expected.push_back(vocabulary.find(part));
      spm.encode(joined(letters), scratch, found);
      ASSERT_EQ(found, expected) << joined(letters);
    }
  }
}

}  // namespace
}  // namespace tally::text
