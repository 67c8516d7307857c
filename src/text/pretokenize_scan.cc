#include "text/pretokenize_scan.h"

#include "text/scan_cursor.h"

namespace tally::text {
namespace {

// The family of llama3 and qwen2:
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,max}|
//   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
struct WordRules {
  int max_numbers = 1;               // numbers in a piece
  uint8_t word = kLetter;            // what joins into words (marks too in qwen35)
  bool newlines_after_other = true;  // the [\r\n]* of the fourth alternative
  bool space_powers = false;         // jais-2: whitespace in runs of 512, 256, … 1
};

// jais-2: \s{512}(?!\S)|\s{256}(?!\S)|…|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1} over a run without newlines. The run's last
// character is left alone (unless it is the first), since it may lead a word.
void cut_space_powers(ScanCursor& c, const char* text, uint32_t base, std::vector<uint32_t>& ends) {
  uint64_t left = 0;
  ScanCursor stop = c;
  for (; stop.is(kSpace); stop.next()) ++left;
  const uint64_t beyond = stop.at_end() ? 1 : 0;  // at the end of the text a piece may also take the last one
  do {
    uint64_t take = 512;
    while (take > 1 && left + beyond <= take) take /= 2;
    left -= take;
    for (; take > 0; --take) c.next();
    ends.push_back(base + static_cast<uint32_t>(c.p - text));
  } while (left > 1);
}

template <WordRules rules>
void scan_words(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  constexpr uint8_t kNotOther = kSpace | kNumber | rules.word | kLetter;
  const char* begin = text.data();
  ScanCursor c(begin, begin + text.size());
  const auto emit = [&] { ends.push_back(base + static_cast<uint32_t>(c.p - begin)); };
  while (!c.at_end()) {
    if (c.code == '\'') {
      if (const uint32_t n = contraction_length(c.p, c.end, true)) {
        c.p += n;
        c.load();
        emit();
        continue;
      }
    }
    if (c.is(rules.word)) {
      c.skip(rules.word);
      emit();
      continue;
    }
    if (c.is(kNumber)) {
      for (int n = 0; n < rules.max_numbers && c.is(kNumber); ++n) c.next();
      emit();
      continue;
    }
    const ScanCursor second = c.peek();
    if (!c.is_newline() && second.is(rules.word)) {
      c = second;
      c.skip(rules.word);
      emit();
      continue;
    }
    if (c.code == ' ' && second.is_other_than(kNotOther)) c = second;
    if (c.is_other_than(kNotOther)) {
      while (c.is_other_than(kNotOther)) c.next();
      while (rules.newlines_after_other && c.is_newline()) c.next();
      emit();
      continue;
    }
    const char* end = space_piece_end(c, true);
    if (rules.space_powers && end[-1] != '\n' && end[-1] != '\r') {
      cut_space_powers(c, begin, base, ends);
      continue;
    }
    c.p = end;
    c.load();
    emit();
  }
}

}  // namespace

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void scan_gpt2(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  constexpr uint8_t kNotOther = kSpace | kNumber | kLetter;
  const char* begin = text.data();
  ScanCursor c(begin, begin + text.size());
  while (!c.at_end()) {
    const uint32_t contraction = contraction_length(c.p, c.end, false);
    ScanCursor first = c.code == ' ' ? c.peek() : c;
    if (contraction) {
      c.p += contraction;
      c.load();
    } else if (first.is(kLetter)) {
      c = first;
      c.skip(kLetter);
    } else if (first.is(kNumber)) {
      c = first;
      c.skip(kNumber);
    } else if (first.is_other_than(kNotOther)) {
      c = first;
      while (c.is_other_than(kNotOther)) c.next();
    } else {
      c.p = space_piece_end(c, false);
      c.load();
    }
    ends.push_back(base + static_cast<uint32_t>(c.p - begin));
  }
}

void scan_llama3(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_words<WordRules{.max_numbers = 3}>(text, base, ends);
}
void scan_qwen2(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_words<WordRules{}>(text, base, ends);
}
void scan_qwen35(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_words<WordRules{.word = kLetter | kMark}>(text, base, ends);
}
void scan_seed_coder(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_words<WordRules{.newlines_after_other = false}>(text, base, ends);
}
void scan_jais2(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_words<WordRules{.max_numbers = 3, .space_powers = true}>(text, base, ends);
}
void scan_minicpm5(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_words<WordRules{.max_numbers = INT32_MAX}>(text, base, ends);
}

}  // namespace tally::text
