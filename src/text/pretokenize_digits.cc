// Passes that cut numbers, newlines and trailing space.
#include "text/pretokenize_scan.h"
#include "text/scan_cursor.h"

namespace tally::text {

void scan_newline_runs(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  for (size_t i = 0; i < text.size();) {
    const size_t end = text[i] == '\n' ? text.find_first_not_of('\n', i) : text.find('\n', i);
    i = end == std::string_view::npos ? text.size() : end;
    ends.push_back(base + static_cast<uint32_t>(i));
  }
}

void scan_single_numbers(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  const char* begin = text.data();
  const char* piece = begin;  // start of the piece not yet emitted
  for (ScanCursor c(begin, begin + text.size()); !c.at_end(); c.next()) {
    if (!c.is(kNumber)) continue;
    if (c.p > piece) ends.push_back(base + static_cast<uint32_t>(c.p - begin));
    piece = c.p + c.length;
    ends.push_back(base + static_cast<uint32_t>(piece - begin));
  }
  if (piece < begin + text.size()) ends.push_back(base + static_cast<uint32_t>(text.size()));
}

void scan_trailing_spaces(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  const char* begin = text.data();
  const char* run = begin;  // start of the whitespace run that reaches to the cursor
  for (ScanCursor c(begin, begin + text.size()); !c.at_end(); c.next())
    if (!c.is(kSpace)) run = c.p + c.length;
  if (run > begin && run < begin + text.size()) ends.push_back(base + static_cast<uint32_t>(run - begin));
  ends.push_back(base + static_cast<uint32_t>(text.size()));
}

namespace {

enum class DigitRuns { AtWordEnd, Isolated, CutOnly };

// Cuts every run of characters of `digits` into groups of three counted from its right. AtWordEnd: only runs that a
// non-word character or the end follows, and cut off from what stands around them; Isolated: all runs, cut off
// likewise; CutOnly: all runs, cut only before each group of three, so that a shorter first group stays with what
// precedes it.
template <DigitRuns mode, uint8_t digits>
void scan_groups(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  const char* begin = text.data();
  const char* emitted = begin;
  const auto cut = [&](const char* at) {
    if (at > emitted) ends.push_back(base + static_cast<uint32_t>(at - begin));
    emitted = at > emitted ? at : emitted;
  };
  ScanCursor c(begin, begin + text.size());
  while (!c.at_end()) {
    if (!c.is(digits)) {
      c.next();
      continue;
    }
    ScanCursor stop = c;
    uint64_t n = 0;
    for (; stop.is(digits); stop.next()) ++n;
    if (mode == DigitRuns::AtWordEnd && stop.is(kWord)) {
      c = stop;
      continue;
    }
    if (mode != DigitRuns::CutOnly) cut(c.p);
    for (; n > 0; --n, c.next())
      if (n % 3 == 0) cut(c.p);
    if (mode != DigitRuns::CutOnly) cut(stop.p);
  }
  cut(begin + text.size());
}

}  // namespace

void scan_digit_groups_at_word_end(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_groups<DigitRuns::AtWordEnd, kDigit>(text, base, ends);
}
void scan_digit_groups_from_right(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_groups<DigitRuns::CutOnly, kDigit>(text, base, ends);
}
void scan_number_groups_from_right(std::string_view text, uint32_t base, std::vector<uint32_t>& ends) {
  scan_groups<DigitRuns::Isolated, kNumber>(text, base, ends);
}

}  // namespace tally::text
