#include "text/utf8.h"

#include <gtest/gtest.h>

namespace tally::text {
namespace {

struct IllFormed {
  std::string bytes, by_byte, by_sequence;
};

const std::string kFffd = "\xEF\xBF\xBD";

TEST(Utf8, DecodesTheEdgesOfEveryLength) {
  for (const uint32_t code :
       {0u, 0x41u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    append_utf8(text, code);
    const Utf8Char c = decode_utf8(text.data(), text.data() + text.size());
    EXPECT_TRUE(c.valid);
    EXPECT_EQ(c.code, code);
    EXPECT_EQ(c.length, text.size());
    uint32_t length = 0;
    EXPECT_EQ(decode_valid_utf8(text.data(), &length), code);
    EXPECT_EQ(length, text.size());
    EXPECT_EQ(utf8_length(text[0]), text.size());
    EXPECT_TRUE(is_valid_utf8("ascii before " + text + " and after"));
  }
}

TEST(Utf8, ReplacesWhatIsIllFormed) {
  const IllFormed cases[] = {
      {"a\x80z", "a" + kFffd + "z", "a" + kFffd + "z"},
      {"\xC0\xAF", kFffd + kFffd, kFffd + kFffd},                      // overlong
      {"\xED\xA0\x80", kFffd + kFffd + kFffd, kFffd + kFffd + kFffd},  // surrogate
      {"\xF5\x80\x80\x80", kFffd + kFffd + kFffd + kFffd, kFffd + kFffd + kFffd + kFffd},
      {"\xF4\x90\x80\x80", kFffd + kFffd + kFffd + kFffd, kFffd + kFffd + kFffd + kFffd},  // above U+10FFFF
      {"\xE2\x82x", kFffd + kFffd + "x", kFffd + "x"},                                     // cut short
      {"\xF0\x9F\x98", kFffd + kFffd + kFffd, kFffd},
  };
  for (const auto& c : cases) {
    EXPECT_FALSE(is_valid_utf8(c.bytes));
    EXPECT_EQ(replace_ill_formed(c.bytes, Replace::EachByte), c.by_byte);
    EXPECT_EQ(replace_ill_formed(c.bytes, Replace::EachSequence), c.by_sequence);
  }
  EXPECT_EQ(replace_ill_formed("bäh 漢 😀", Replace::EachByte), "bäh 漢 😀");
}

TEST(Utf8, FindsTheUnfinishedCharacterAtTheEnd) {
  for (const std::string whole : {"é", "漢", "😀"}) {
    for (size_t n = 1; n < whole.size(); ++n)
      EXPECT_EQ(unfinished_suffix("text " + whole.substr(0, n)), n) << whole << n;
    EXPECT_EQ(unfinished_suffix("text " + whole), 0u);
  }
  for (const std::string never : {"\xC0", "\xF5", "\xE0\x80", "\xED\xA0", "\x80", "\x80\x80\x80\x80", "é\x80", ""})
    EXPECT_EQ(unfinished_suffix(never), 0u);
}

}  // namespace
}  // namespace tally::text
