#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "base/rng.h"
#include "text/small_vocabulary.h"
#include "text/utf8.h"

namespace tally::text {
namespace {

// A byte-level vocabulary with a chat's control tokens.
SmallVocabulary chat_vocabulary() {
  SmallVocabulary v = byte_level("qwen2");
  v.merge("h", "i");
  v.merge("Ġ", "hi");
  v.add("<|im_start|>", TokenType::Control);
  v.add("<|im_end|>", TokenType::Control);
  v.add("<think>", TokenType::UserDefined);
  return v;
}

TEST(Tokenizer, SpecialTokensAreParsedWhenAskedFor) {
  const Tokenizer t = chat_vocabulary().tokenizer();
  const std::string text = "<|im_start|>hi<think> hi<|im_end|>";
  const int32_t start = t.find_token("<|im_start|>"), end = t.find_token("<|im_end|>"), think = t.find_token("<think>");
  const int32_t hi = t.find_token("hi"), space_hi = t.find_token("Ġhi");
  EXPECT_EQ(t.encode(text, true, true), (Ids{start, hi, think, space_hi, end}));
  const Ids plain = t.encode(text, true, false);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), start), 0);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), think), 1);  // user-defined tokens always are
  EXPECT_EQ(t.decode(plain, false), text);
  EXPECT_EQ(t.decode(t.encode(text, true, true), false), "hi<think> hi");
  EXPECT_EQ(t.decode(t.encode(text, true, true), true), text);
}

TEST(Tokenizer, AnyBytesRoundTrip) {
  SmallVocabulary bytes_and_merge = byte_level("gpt-2");
  bytes_and_merge.merge("x", "y");
  const Tokenizer bpe = bytes_and_merge.tokenizer();
  const Tokenizer spm = sentence_pieces().tokenizer();
  // An ill-formed lead byte takes the mark of a following space along, which then comes back as what it is.
  const auto with_marks = [](std::string text) {
    for (size_t at; (at = text.find(' ')) != std::string::npos;) text.replace(at, 1, "▁");
    return text;
  };
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::string bytes;
    for (uint64_t i = 0; i < 40; ++i) bytes += static_cast<char>(random_u64(seed, i) % 256);
    EXPECT_EQ(bpe.decode(bpe.encode(bytes, false, false), true), replace_ill_formed(bytes, Replace::EachByte));
    EXPECT_EQ(with_marks(spm.decode_whole(spm.encode(bytes, false, false), true)), with_marks(bytes));
  }
}

TEST(Tokenizer, NormalisesForTheModelsThatDo) {
  for (const auto& [pre, changes] :
       {std::pair{"qwen2", true}, {"qwen35", true}, {"llama-bpe", false}, {"bailingmoe2", false}}) {
    SmallVocabulary v = byte_level(pre);
    v.merge("x", "y");
    v.spec.add_bos = false;
    const Tokenizer t = v.tokenizer();
    EXPECT_EQ(t.decode(t.encode("e\u0301", true, false), false), changes ? "\u00E9" : "e\u0301") << pre;
  }
}

TEST(Tokenizer, SentencePiecePrefixesAndByteFallback) {
  SmallVocabulary v = sentence_pieces();
  const int32_t hi = v.add("hi", TokenType::Normal, -1), space_hi = v.add("▁hi", TokenType::Normal, -0.5f);
  v.add("h", TokenType::Normal, -10);
  v.add("i", TokenType::Normal, -10);
  const Tokenizer t = v.tokenizer();
  EXPECT_EQ(t.encode("", true, false), Ids{1});
  EXPECT_EQ(t.encode("hi", true, false), (Ids{1, space_hi}));
  EXPECT_EQ(t.encode("hi</s>hi", true, true), (Ids{1, space_hi, 2, space_hi}));
  EXPECT_EQ(t.encode("é", false, false), (Ids{t.find_token("▁"), 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(t.decode(Ids{space_hi, hi}, false), " hihi");
  EXPECT_EQ(t.decode_whole(Ids{space_hi, hi}, false), "hihi");
  EXPECT_EQ(t.decode_whole(Ids{1, space_hi}, true), "<s> hi");
  v.spec.add_space_prefix = false;
  EXPECT_EQ(v.tokenizer().encode("hi", true, false), (Ids{1, hi}));
}

TEST(Tokenizer, SpaceMarksAreSpacesWhereRunsOfSpacesAreTokens) {
  SmallVocabulary v = sentence_pieces();
  const int32_t two = v.add("  ", TokenType::UserDefined);
  v.add("x", TokenType::Normal, -10);
  v.spec.add_space_prefix = false;
  const Tokenizer t = v.tokenizer();
  const Ids expected = {two, t.find_token("x")};
  EXPECT_EQ(t.encode("  x", false, false), expected);
  EXPECT_EQ(t.encode("▁▁x", false, false), expected);
}

TEST(Tokenizer, RawUtf8Vocabularies) {
  SmallVocabulary v;
  v.spec.file = "small";
  v.spec.model = "gemma4";
  const int32_t bos = v.add("<bos>", TokenType::Control);
  for (int b = 0; b < 256; ++b) v.add(fmt::format("<0x{:02X}>", b), TokenType::Byte);
  const int32_t newlines = v.add("\n\n");
  for (const auto text : {"▁", "漢", "字", "\n"}) v.add(text);
  const int32_t pair = v.merge("漢", "字"), spaced = v.merge("▁", "漢字");
  v.spec.ids.bos = bos;
  v.spec.add_bos = false;  // such files are wrong
  const Tokenizer t = v.tokenizer();
  EXPECT_EQ(t.encode("漢字 漢字\n\nz", true, false), (Ids{bos, pair, spaced, newlines, 1 + 'z'}));
  EXPECT_EQ(t.decode(Ids{spaced, 1 + 'z'}, false), " 漢字z");
}

TEST(Tokenizer, PhiStripsWhitespaceAfterItsMarkers) {
  SmallVocabulary v = sentence_pieces();
  const int32_t user = v.add("<|user|>", TokenType::Control);
  v.add("x", TokenType::Normal, -10);
  v.spec.add_space_prefix = false;
  for (const auto& [name, strips] : {std::pair{"Phi-3 mini", true}, {"Other", false}}) {
    v.spec.general_name = name;
    const Tokenizer t = v.tokenizer();
    const Ids ids = t.encode("<|user|>\n x", false, true);
    EXPECT_EQ(ids.size() == 2, strips) << name;
    EXPECT_EQ(ids.front(), user);
  }
}

TEST(Tokenizer, EndOfGeneration) {
  SmallVocabulary v = byte_level("gpt-4o");
  v.merge("x", "y");
  for (const auto text : {"<|return|>", "<|call|>", "<|end|>", "<|channel|>", "<|fim_pad|>", "<|endoftext|>", "plain"})
    v.add(text);
  const Tokenizer t = v.tokenizer();
  const auto ends = [&](std::string_view text) { return t.is_eog(t.find_token(text)); };
  EXPECT_TRUE(ends("<|return|>") && ends("<|call|>") && ends("<|fim_pad|>") && ends("<|endoftext|>"));
  EXPECT_FALSE(ends("<|end|>"));  // closes a message beside <|return|> and <|call|>
  EXPECT_FALSE(ends("<|channel|>") || ends("plain") || t.is_eog(-1) || t.is_eog(1 << 30));
  EXPECT_EQ(t.token_type(t.find_token("<|end|>")), TokenType::UserDefined);
  EXPECT_EQ(t.token_type(t.find_token("<|return|>")), TokenType::Control);
  EXPECT_EQ(t.special().eos, -1);  // the old default, 11, is an ordinary token here
  EXPECT_EQ(t.bos(), -1);
}

TEST(Tokenizer, NonsenseIsRefused) {
  const auto message = [](const SmallVocabulary& v) -> std::string {
    try {
      v.tokenizer();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::BadInput);
      return e.what();
    }
    return "accepted";
  };
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  SmallVocabulary v;
  v.spec.model = "gpt2";
  EXPECT_TRUE(contains(message(v), "tokens"));  // empty
  v = chat_vocabulary();
  v.add("hi");
  EXPECT_TRUE(contains(message(v), "same text"));
  v = chat_vocabulary();
  v.spec.scores.pop_back();
  EXPECT_TRUE(contains(message(v), "scores"));
  v = chat_vocabulary();
  v.spec.scores[5] = NAN;
  EXPECT_TRUE(contains(message(v), "not a number"));
  v = chat_vocabulary();
  v.spec.types.resize(3);
  EXPECT_TRUE(contains(message(v), "token_type"));
  v = chat_vocabulary();
  v.spec.merges.clear();
  EXPECT_TRUE(contains(message(v), "merges"));
  v = chat_vocabulary();
  v.spec.pre = "tomorrow";
  EXPECT_TRUE(contains(message(v), "tomorrow"));
  for (const auto model : {"", "none", "no_vocab", "bert", "t5"}) {
    v = chat_vocabulary();
    v.spec.model = model;
    EXPECT_TRUE(contains(message(v), "tokenizer.ggml.model")) << model;
  }
  v = chat_vocabulary();
  v.spec.ids.bos = 1 << 30;
  v.spec.ids.eos = -5;
  v.spec.add_bos = v.spec.add_eos = true;
  const Tokenizer t = v.tokenizer();  // ids out of range are ignored
  EXPECT_EQ(t.eos(), -1);
  EXPECT_THROW(t.decode(Ids{t.vocab_size()}, false), Error);
  EXPECT_THROW(t.decode(Ids{-1}, false), Error);
}

TEST(StreamDecoder, NeverCutsACharacter) {
  const Tokenizer t = chat_vocabulary().tokenizer();
  const std::string text = "aé漢😀 b";
  StreamDecoder decoder(t);
  std::string all;
  for (const int32_t id : t.encode(text, false, false)) {
    const std::string piece = decoder.push(id);
    EXPECT_TRUE(is_valid_utf8(piece));
    all += piece;
  }
  EXPECT_EQ(all, text);
  EXPECT_EQ(decoder.flush(), "");
}

TEST(StreamDecoder, IllFormedBytesBecomeReplacementCharacters) {
  const Tokenizer t = sentence_pieces().tokenizer();
  const auto byte = [](int b) { return 3 + b; };
  StreamDecoder decoder(t);
  EXPECT_EQ(decoder.push(byte(0xE2)), "");
  EXPECT_EQ(decoder.push(byte(0x82)), "");
  EXPECT_EQ(decoder.push(byte('x')), "\uFFFDx");
  EXPECT_EQ(decoder.push(byte(0xF0)), "");
  EXPECT_EQ(decoder.push(-7), "");
  EXPECT_EQ(decoder.push(t.vocab_size()), "");
  EXPECT_EQ(decoder.flush(), "\uFFFD");
  EXPECT_EQ(decoder.flush(), "");
}

TEST(Tokenizer, ThreadsShareOne) {
  const Tokenizer t = chat_vocabulary().tokenizer();
  std::vector<std::string> texts;
  std::vector<Ids> expected;
  for (uint64_t i = 0; i < 50; ++i) {
    std::string text;
    for (uint64_t j = 0; j < 200; ++j) text += "hi xy\n12"[random_u64(i, j) % 8];
    texts.push_back(text);
    expected.push_back(t.encode(text, true, true));
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t k = 0; k < wrong.size(); ++k) {
    threads.emplace_back([&, k] {
      for (int round = 0; round < 20; ++round) {
        for (size_t i = 0; i < texts.size(); ++i) wrong[k] += t.encode(texts[i], true, true) != expected[i];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

// One word of 400 kB, and a text without spaces for the vocabularies without a splitter; quadratic merging takes
// minutes.
TEST(Tokenizer, TimeIsLinearForOneWord) {
  SmallVocabulary bpe = byte_level("qwen2"), spm = sentence_pieces();
  std::string part = "a";
  spm.add("a", TokenType::Normal, -100);
  for (float level = 0; level < 6; ++level) {
    bpe.merge(part, part);
    part += part;
    spm.add(part, TokenType::Normal, -level);
  }
  for (const SmallVocabulary& v : {bpe, spm}) {
    const Tokenizer t = v.tokenizer();
    for (const char c : {'a', ' ', '7'}) {
      const auto start = std::clock();
      EXPECT_FALSE(t.encode(std::string(400000, c), false, false).empty());
      EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10);
    }
  }
}

}  // namespace
}  // namespace tally::text
