// Masks against the definition: a token is allowed when the matcher takes it.
#include "text/grammar/masker.h"

#include <gtest/gtest.h>

#include "grammar/first_wrong_id.h"
#include "grammar/random_rules.h"
#include "text/grammar/constraint_error.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/schema.h"

namespace tally::grammar {
namespace {

// Checks the row at the matcher's state against every single token.
void check_row(Matcher& m, Masker& masker, const std::vector<std::string>& tokens, int32_t end,
               const std::string& what) {
  const int32_t id = test::first_wrong_id(m, masker, tokens, end);
  ASSERT_EQ(id, -1) << what << ": token " << id << " \"" << tokens[id] << '"';
}

std::shared_ptr<MaskVocabulary> vocabulary(const std::vector<std::string>& tokens, int32_t end) {
  return std::make_shared<MaskVocabulary>(TokenTrie(tokens, std::vector<int32_t>{end}));
}

TEST(Masker, AgreesWithTheMatcherOnRandomGrammars) {
  int n_rows = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    test::RandomRules random(seed);
    const Rules rules = random.make();
    std::shared_ptr<const Automaton> automaton;
    try {
      automaton = Automaton::compile(rules);
    } catch (const ConstraintError&) {
      continue;
    }
    std::vector<std::string> tokens{"", "a", "b", "c", "</s>"};
    for (int i = 0; i < 60; ++i) tokens.push_back(random.text(6));  // with empty ones and doubles
    Matcher m(automaton);
    Masker masker(m, vocabulary(tokens, 4));
    for (int i = 0; i < 10; ++i) {
      check_row(m, masker, tokens, 4, "seed " + std::to_string(seed));
      if (testing::Test::HasFatalFailure()) return;
      ++n_rows;
      if (!m.accept(tokens[5 + random.pick(60)])) m.accept(std::string(1, static_cast<char>('a' + random.pick(3))));
      if (random.pick(4) == 0 && m.max_rollback() > 0) m.rollback(1);
    }
  }
  EXPECT_GT(n_rows, 1000);
}

TEST(Masker, CountedCharactersOfSeveralBytes) {
  std::vector<std::string> tokens{"</s>"};
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  for (const char* t :
       {"é", "ab", "abc", "é\"", "\xC3", "\xA9", "\xA9x\"", "日本", "\xE6\x97", "\xA5\xE6", "x\"]", "\"]", "  ",
        "aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaa\"", "ééééééééééé\"]", "\"]x", "\",\"a"})
    tokens.emplace_back(t);
  const auto vocab = vocabulary(tokens, 0);
  for (const char* repeat : {"{0,3}", "{2,3}", "{2,}", "*", "{19,30}", "{5}", "{1,22}"}) {
    const std::string grammar =
        std::string("root ::= \"[\" str (\",\" str)* \"]\"\nstr ::= \"\\\"\" [^\"\\n]") + repeat + " \"\\\"\"";
    Matcher m(compile_gbnf(grammar));
    Masker masker(m, vocab);
    for (const std::string text :
         {"[\"é日aé\",\"ab\"]", "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "[\"ééé\"]", "[\"\"]"}) {
      m.reset();
      check_row(m, masker, tokens, 0, grammar);
      for (char c : text) {
        if (!m.accept(static_cast<uint8_t>(c))) break;
        check_row(m, masker, tokens, 0, grammar + " at " + text);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// A vocabulary large enough for rows of bits, shared exits and sets of plain bytes.
TEST(Masker, WordsOfALargeVocabulary) {
  std::mt19937_64 random(7);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<std::string> tokens{"</s>"};
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  const std::string alphabets[] = {"abcxyz", "abcxyz 0189AZ_-", "ab \"\\\n1,:]}", "é日\"a", "a"};
  for (int i = 0; i < 4000; ++i) {
    const std::string& letters = alphabets[pick(5)];
    std::string token(pick(4) == 0 ? " " : "");
    for (size_t n = 1 + pick(pick(8) == 0 ? 30 : 7); n > 0; --n) token += letters[pick(letters.size())];
    tokens.push_back(token);
  }
  const auto vocab = vocabulary(tokens, 0);
  for (
      const char* schema :
      {R"({"type":"string"})", R"({"type":"string","minLength":3,"maxLength":20})",
       R"({"type":"string","minLength":30})", R"({"type":"string","pattern":"[0-9]"})",
       R"({"type":"string","pattern":"^[a-z]+( [a-z]+)*$"})", R"({"type":"string","pattern":"^\\D*$","maxLength":18})",
       R"({"enum":["a","ab","abc","a b",1,[1,"a"]]})",
       R"({"type":"object","properties":{"a":{"type":"string"},"ab":{"type":"integer"}},"additionalProperties":{"type":"array","items":{"type":"string","maxLength":2}}})"}) {
    Matcher m(Automaton::compile(compile_schema(schema)));
    Masker masker(m, vocab);
    for (int walk = 0; walk < 4; ++walk) {
      m.reset();
      for (int step = 0; step < 10; ++step) {
        check_row(m, masker, tokens, 0, schema);
        if (testing::Test::HasFatalFailure()) return;
        std::vector<int32_t> may;
        const auto row = masker.row();
        for (int32_t id = 1; id < static_cast<int32_t>(tokens.size()); ++id)
          if (row[id / 64] >> (id % 64) & 1) may.push_back(id);
        if (may.empty()) break;
        ASSERT_TRUE(m.accept(tokens[may[pick(may.size())]]));
      }
    }
  }
}

TEST(Masker, RowsStayWhileOthersAreAskedFor) {
  const std::vector<std::string> tokens{"</s>", "a", "b", "ab", "ba", "bb"};
  StateLimits limits;
  Matcher m(compile_gbnf("root ::= (\"a\" \"b\"){1,5000}"), limits);
  Masker masker(m, vocabulary(tokens, 0), 1);  // room for few rows
  std::vector<std::pair<const uint64_t*, uint64_t>> given;
  for (int i = 0; i < 2000; ++i) {
    const auto row = masker.row();
    given.emplace_back(row.data(), row[0]);
    for (size_t k = given.size() > Masker::kKept ? given.size() - Masker::kKept : 0; k < given.size(); ++k)
      ASSERT_EQ(*given[k].first, given[k].second);
    EXPECT_EQ(row[0], i % 2 ? 4u | 16u : i == 0 ? 2u | 8u : 1u | 2u | 8u) << i;
    ASSERT_TRUE(m.accept(i % 2 ? "b" : "a"));
  }
}

TEST(MaskVocabulary, SharesRowsOfEqualAutomata) {
  const auto vocab = vocabulary({"</s>", "a", "b"}, 0);
  ByteSet a;
  a.add('a');
  EXPECT_EQ(vocab->rows_of(dfa_of_set(a)), vocab->rows_of(dfa_of_set(a)));
  ByteSet b = a;
  b.add('b');
  EXPECT_NE(vocab->rows_of(dfa_of_set(a)), vocab->rows_of(dfa_of_set(b)));
}

TEST(MaskVocabulary, ForgetsBeyondItsLimit) {
  const std::vector<std::string> tokens{"</s>", "a", "b"};
  MaskVocabulary vocab(TokenTrie(tokens, std::vector<int32_t>{0}), 1);
  std::vector<std::weak_ptr<TerminalRows>> given;
  for (int i = 0; i < 100; ++i) {
    ByteSet set;
    set.add(static_cast<uint8_t>(i));
    given.push_back(vocab.rows_of(dfa_of_set(set)));
    given.back().lock()->row(0, true);
  }
  int n_alive = 0;
  for (const auto& g : given) n_alive += !g.expired();
  EXPECT_LT(n_alive, 40);
}

TEST(TokenTrie, RefusesEndTokensOutsideTheVocabulary) {
  const std::vector<std::string> tokens{"a"};
  EXPECT_THROW(TokenTrie(tokens, std::vector<int32_t>{1}), Error);
  EXPECT_THROW(TokenTrie({{std::string(5000, 'x')}}, {}), Error);
}

}  // namespace
}  // namespace tally::grammar
