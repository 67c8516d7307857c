#include "text/pretokenize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "base/rng.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace tally::text {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces_of(const std::string& text, const std::vector<uint32_t>& ends) {
  Pieces pieces;
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return pieces;
}

Pieces split(const PreTokenizer& pre, const std::string& text) {
  static RegexScratch scratch;
  std::vector<uint32_t> ends;
  pre.split(text, scratch, ends);
  return pieces_of(text, ends);
}

Pieces split(std::string_view id, const std::string& text) { return split(PreTokenizer(find_pre(id)->group), text); }

Pieces split_by(const Regex& regex, const std::string& text) {
  static RegexScratch scratch;
  std::vector<uint32_t> ends;
  regex.split(text, 0, scratch, ends);
  return pieces_of(text, ends);
}

const std::vector<PreGroup>& groups() {
  static const std::vector<PreGroup> all = [] {
    std::vector<PreGroup> found;
    for (const PreInfo& info : pre_infos()) {
      if (std::find(found.begin(), found.end(), info.group) == found.end()) found.push_back(info.group);
    }
    return found;
  }();
  return all;
}

// Text made of what the patterns tell apart; code points on which PCRE2's older tables may differ are left out.
std::string random_text(uint64_t seed) {
  static const std::vector<std::string> atoms = {
      "a",      "b",   "S",   "T",    "the",    "LL",     "É",      "ß",      "ǅ",      "ʰ",      "'",
      "'s",     "'LL", "'re", "'x",   "0",      "1",      "23",     "½",      "٣",      "Ⅷ",      " ",
      " ",      "  ",  "\t",  "\n",   "\r",     "\r\n",   "\u00A0", "\u2003", "\u3000", "\u0085", "\u180E",
      "\u200B", ".",   ",",   "!?",   "/",      "$",      "+",      "~",      "`",      "<",      "_",
      "(",      "|",   "…",   "。",   "，",     "、",     "\u0964", "\u0301", "\u0323", "\u0E31", "\u093F",
      "漢",     "字",  "あ",  "ア",   "한",     "ㄱ",     "ㄅ",     "ก",      "ក",      "न",      "😀",
      "\u200D", "€",   "№",   "\x01", "\u0378", "\uE000", "𐐀",      "Ω",      "µ"};
  std::string text;
  const uint64_t n = 1 + random_u64(seed, 0) % 40;
  for (uint64_t i = 1; i <= n; ++i) text += atoms[random_u64(seed, i) % atoms.size()];
  return text;
}

TEST(Pretokenize, ScannersEqualThePatterns) {
  for (const PreGroup group : groups()) {
    const PreTokenizer fast(group), slow(group, false);
    for (uint64_t seed = 0; seed < 4000; ++seed) {
      const std::string text = random_text(seed);
      ASSERT_EQ(split(fast, text), split(slow, text)) << "group " << static_cast<int>(group) << " seed " << seed;
    }
  }
}

// Each pass that has only a scanner against its published pattern.
TEST(Pretokenize, PassesWithoutPatternEqualWhatTheyReplace) {
  const struct {
    PreGroup group;
    size_t pass;
    const char* pattern;
  } cases[] = {{PreGroup::DeepseekLlm, 3, R"(\s+$)"},
               {PreGroup::TinyAya, 0, R"(\p{Nd}{1,3}(?=(?:\p{Nd}{3})*(?![\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\p{Nd}])))"}};
  for (const auto& c : cases) {
    const Regex regex(c.pattern);
    const auto source = pass_sources(c.group)[c.pass];
    ASSERT_EQ(source.pattern, nullptr);
    for (uint64_t seed = 0; seed < 4000; ++seed) {
      const std::string text = random_text(seed + 100000);
      std::vector<uint32_t> ends;
      source.scan(text, 0, ends);
      ASSERT_EQ(pieces_of(text, ends), split_by(regex, text)) << c.pattern << " seed " << seed;
    }
  }
}

// Patterns that were rewritten for the matcher's sake against their published form.
TEST(Pretokenize, RewrittenPatternsEqualTheOriginals) {
  const struct {
    std::string_view id;
    const char* pattern;
  } cases[] = {
      {"bailingmoe2",
       R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"},
      {"exaone-moe",
       R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"},
      {"kimi-k2",
       R"(\p{sc:Han}+|[^\r\n\p{L}\p{N}]?(?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*(?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?(?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+(?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
  };
  for (const auto& c : cases) {
    const Regex regex(c.pattern);
    const PreTokenizer pre(find_pre(c.id)->group);
    for (uint64_t seed = 0; seed < 4000; ++seed) {
      const std::string text = random_text(seed + 200000);
      ASSERT_EQ(split(pre, text), split_by(regex, text)) << c.id << " seed " << seed;
    }
  }
}

TEST(Pretokenize, KnownSplits) {
  const struct {
    std::string_view id;
    std::string text;
    Pieces pieces;
  } cases[] = {
      {"gpt-2", "I'll pay 1234 €!  ok", {"I", "'ll", " pay", " 1234", " €!", " ", " ok"}},
      {"gpt-2", "I'LL", {"I", "'", "LL"}},
      {"llama-bpe", "I'LL pay 1234567.\n\n  x", {"I", "'LL", " pay", " ", "123", "456", "7", ".\n\n", " ", " x"}},
      {"qwen2", "x 42\tyes", {"x", " ", "4", "2", "\tyes"}},
      {"qwen2", "कि", {"क", "ि"}},
      {"qwen35", "कि न", {"कि", " न"}},
      {"smollm", "1  2", {"1", "  ", "2"}},
      {"default", "it's 12345!", {"it", "'", "s", " ", "123", "45", "!"}},
      {"tiny_aya", "a 1234567 b", {"a", " ", "1", "234", "567", " b"}},
      {"tiny_aya", "1234x", {"123", "4", "x"}},
      {"superbpe", "give me 12345 or 6", {"give me ", "12", "345", " or ", "6"}},
      {"afmoe", "a1234", {"a", "1", "234"}},
      {"jais-2", "a      b", {"a", "    ", " ", " b"}},
      {"jais-2", "a    ", {"a", "    "}},
      {"seed-coder", "a!\n\nb", {"a", "!", "\n\n", "b"}},
      {"laguna", "a \n\n b", {"a", " ", "\n\n", " b"}},
      {"bloom", "Hi, you", {"Hi", ",", " you"}},
      {"kimi-k2", "漢字abc", {"漢字", "abc"}},
      {"gpt-4o", "getHTTPResponse's", {"get", "HTTPResponse's"}},
      {"tekken", "camelCase's", {"camel", "Case", "'s"}},
      {"minicpm5", "12345", {"123", "45"}},
      {"chameleon", "a<sentinel:12>b", {"a", "<", "sentinel", ":", "1", "2", ">", "b"}},
      {"deepseek-v3", "漢字!ok 12345", {"漢字", "!ok", " ", "123", "45"}},
      {"gemma4", "a\n\nb", {"a", "\n\n", "b"}},
  };
  for (const auto& c : cases) EXPECT_EQ(split(c.id, c.text), c.pieces) << c.id << ": " << c.text;
  EXPECT_EQ(find_pre("no such id"), nullptr);
}

std::string repeated(const std::string& part, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

// Quadratic time would take minutes here.
TEST(Pretokenize, TimeIsLinearInTheLength) {
  const size_t n = 120'000;
  std::vector<std::string> texts = {repeated(" ", n) + "x", repeated(" ", n) + "7"};
  for (const auto part : {"a",       "A",  "aB",  "7",       " ",      "\n", " \n",    "\u00A0", "!",
                          "'",       "漢", "あA", "é\u0301", "\u0301", "a ", "ab cd ", "\t",     "<sentinel:1",
                          "IMGIMGA", "1 ", "'s",  "\u0378",  "/",      "…",  " ,"})
    texts.push_back(repeated(part, n));
  for (const PreGroup group : groups()) {
    const PreTokenizer pre(group);
    for (const std::string& text : texts) {
      const auto start = std::clock();
      split(pre, text);
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      ASSERT_LT(seconds, 3) << "group " << static_cast<int>(group) << ", text " << text.substr(0, 12);
    }
  }
}

}  // namespace
}  // namespace tally::text
