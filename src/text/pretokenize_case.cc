// The family of gpt-4o, whose words are an upper-case side followed by a lower-case side:
//   [^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+L*(?i:…)?|\p{N}{1,3}|
//   ?[^\s\p{L}\p{N}]+[\r\n/]*
//   |\s*[\r\n]+|\s+(?!\S)|\s+      with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L = [\p{Ll}\p{Lm}\p{Lo}\p{M}]
#include "text/pretokenize_scan.h"
#include "text/scan_cursor.h"

namespace tally::text {
namespace {

// U*L+ at `c`: past its end, or null. Greedy U* runs on to the first character outside U; if that one is not in L, it
// gives back characters until one in both sets is left for L+.
const char* match_upper_lower(ScanCursor c) {
  const char* after_both = nullptr;  // past the last character in U and L
  for (; c.is(kUpperSide); c.next())
    if (c.is(kLowerSide)) after_both = c.p + c.length;
  if (!c.is(kLowerSide)) return after_both;
  c.skip(kLowerSide);
  return c.p;
}

// U+L* at `c`: past its end, or null.
const char* match_upper(ScanCursor c) {
  if (!c.is(kUpperSide)) return nullptr;
  c.skip(kUpperSide);
  c.skip(kLowerSide);
  return c.p;
}

// The first two alternatives at `c` without the contraction, or null.
const char* match_word(const ScanCursor& c) {
  const bool may_lead = !c.is_newline() && !c.is(kLetter | kNumber);
  const ScanCursor second = may_lead ? c.peek() : c;
  const char* end = match_upper_lower(second);
  if (!end && may_lead) end = match_upper_lower(c);
  if (!end) end = match_upper(second);
  if (!end && may_lead) end = match_upper(c);
  return end;
}

template <int max_numbers, bool contractions>
void scan_cased_words(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  constexpr uint8_t kNotOther = kSpace | kNumber | kLetter;
  const char* begin = text.data();
  ScanCursor c(begin, begin + text.size());
  while (!c.at_end()) {
    if (const char* end = match_word(c)) {
      c.p = end;
      if (contractions) c.p += contraction_length(end, c.end, true);
      c.load();
    } else if (c.is(kNumber)) {
      for (int n = 0; n < max_numbers && c.is(kNumber); ++n) c.next();
    } else {
      const ScanCursor first = c.code == ' ' ? c.peek() : c;
      if (first.is_other_than(kNotOther)) {
        c = first;
        while (c.is_other_than(kNotOther)) c.next();
        while (c.is_newline() || c.code == '/') c.next();
      } else {
        c.p = space_piece_end(c, true);
        c.load();
      }
    }
    ends.push_back(base + static_cast<uint32_t>(c.p - begin));
  }
}

}  // namespace

void scan_gpt4o(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_cased_words<3, true>(text, base, ends);
}
void scan_youtu(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_cased_words<1, true>(text, base, ends);
}
void scan_tekken(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_cased_words<1, false>(text, base, ends);
}

}  // namespace tally::text
