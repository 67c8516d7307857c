#include "text/unicode.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "text/utf8.h"

namespace tally::text {
namespace {

TEST(Unicode, WhitespaceIsExactlyTheNamedSet) {
  std::set<uint32_t> expected = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  for (uint32_t c = 0x09; c <= 0x0D; ++c) expected.insert(c);
  for (uint32_t c = 0x2000; c <= 0x200A; ++c) expected.insert(c);
  std::set<uint32_t> found;
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (char_classes()[c] & kSpace) found.insert(c);
  }
  EXPECT_EQ(found, expected);
}

TEST(Unicode, ClassesOfKnownCharacters) {
  const auto* table = char_classes();
  EXPECT_EQ(table['A'], kLetter | kUpperSide | kWord);
  EXPECT_EQ(table['z'], kLetter | kLowerSide | kWord);
  EXPECT_EQ(table['7'], kNumber | kDigit | kWord);
  EXPECT_EQ(table['_'], kWord);
  EXPECT_EQ(table['.'], 0);
  EXPECT_EQ(table[0x00BD], kNumber);                                    // ½
  EXPECT_EQ(table[0x0301], kMark | kUpperSide | kLowerSide | kWord);    // combining acute
  EXPECT_EQ(table[0x6F22], kLetter | kUpperSide | kLowerSide | kWord);  // 漢
  EXPECT_EQ(table[0x0967], kNumber | kDigit | kWord);                   // Devanagari one
  EXPECT_EQ(table[0x2160], kNumber | kWord);                            // Roman one
  EXPECT_EQ(table[0x0378], 0);                                          // unassigned
}

TEST(Unicode, NormalisesToFormC) {
  const std::pair<std::string, std::string> cases[] = {
      {"e\u0301", "\u00E9"},
      {"a\u0301\u0302\u0303b", "\u00E1\u0302\u0303b"},
      {"\u1112\u1161\u11AB", "\uD55C"},    // Hangul
      {"\u2000\u2001", "\u2002\u2003"},    // singletons
      {"\u0958", "\u0915\u093C"},          // excluded from composition
      {"q\u0307\u0323", "q\u0323\u0307"},  // marks in canonical order
      {"\uF900", "\u8C48"},
      {"plain ASCII, \u00E9 and \u6F22", "plain ASCII, \u00E9 and \u6F22"},
  };
  for (const auto& [from, to] : cases) {
    EXPECT_EQ(to_nfc(from), to);
    EXPECT_EQ(to_nfc(to), to);
    EXPECT_TRUE(from == to || may_change_in_nfc(from)) << from;
  }
  EXPECT_FALSE(may_change_in_nfc("plain ASCII, \u00E9, \u6F22 and \uD55C"));
}

// The quick answer may say "perhaps" too often, never too seldom.
TEST(Unicode, QuickCheckNeverMissesAChange) {
  const uint32_t pools[][2] = {{0x20, 0x7F},     {0xC0, 0x17F},    {0x300, 0x36F},   {0x5B0, 0x5C7},
                               {0x900, 0x97F},   {0xF40, 0xF84},   {0x1100, 0x11FF}, {0xAC00, 0xAC40},
                               {0x1E00, 0x1EFF}, {0x2000, 0x2130}, {0xF900, 0xFA30}};
  int changed = 0;
  for (uint64_t round = 0; round < 20000; ++round) {
    std::string text;
    const uint64_t n = 1 + random_u64(1, round * 16) % 6;
    for (uint64_t i = 0; i < n; ++i) {
      const auto& pool = pools[random_u64(2, round * 16 + i) % std::size(pools)];
      append_utf8(text, pool[0] + static_cast<uint32_t>(random_u64(3, round * 16 + i) % (pool[1] - pool[0])));
    }
    const std::string normal = to_nfc(text);
    if (normal == text) continue;
    ++changed;
    ASSERT_TRUE(may_change_in_nfc(text)) << text;
    ASSERT_EQ(to_nfc(normal), normal) << text;
  }
  EXPECT_GT(changed, 1000);
}

TEST(Unicode, LongRunsOfMarksStayCheap) {
  std::string text = "e";
  for (int i = 0; i < 100000; ++i) text += "\u0307\u0323";  // out of order: classes 230 and 220
  const std::string normal = to_nfc(text);
  EXPECT_EQ(normal.substr(0, 3), "\u1EB9");  // e with dot below
  EXPECT_EQ(normal.size(), text.size() - 1 - 2 + 3);
}

}  // namespace
}  // namespace tally::text
