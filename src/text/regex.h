// A compiled regular expression (PCRE2 with its just-in-time compiler, Unicode properties on).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tally::text {

// Working memory of one thread for any number of expressions.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;

 private:
  friend class Regex;
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

class Regex {
 public:
  // `pattern` is ours, so a mistake in it is a CHECK. \s and \S mean the White_Space set of unicode.h.
  explicit Regex(std::string_view pattern);

  // Cuts `text` (valid UTF-8) at the begin and end of every match, left to right: appends to `ends` the end of each
  // piece plus `base`; what lies between matches is a piece too. Lookahead and end of text stop at the end of `text`.
  void split(std::string_view text, uint32_t base, RegexScratch& scratch, std::vector<uint32_t>& ends) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace tally::text
