// Cutting text at the texts of special tokens, before anything else looks at it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace tally::text {

// A piece of the text: a token, or bytes still to be tokenized (token < 0).
struct Fragment {
  uint32_t begin = 0, end = 0;
  int32_t token = -1;
};

class SpecialMatcher {
 public:
  // `strip_after`, `strip_before`: by token id, the tokens that swallow the ASCII whitespace beside them (may be
  // empty).
  SpecialMatcher(const Vocabulary& vocabulary, std::vector<bool> strip_before, std::vector<bool> strip_after);

  // Candidates in order of length, longest first (ties: lower id); each takes all its occurrences in what the earlier
  // ones left, from left to right. User-defined tokens always take part, control and unknown ones when `parse_special`.
  std::vector<Fragment> split(std::string_view text, bool parse_special) const;

 private:
  struct Candidate {
    std::string_view text;  // in the vocabulary
    int32_t token;
  };
  // Candidates sorted by text, and for each first byte the range that begins with it.
  struct Set {
    std::vector<Candidate> sorted;
    std::vector<uint32_t> first = std::vector<uint32_t>(257, 0);
  };
  // The candidates (indices into the set) that occur in a stretch of text, each once.
  struct Cluster {
    std::vector<uint32_t> found;
    std::vector<bool> seen;
    void add(uint32_t candidate, const Set& set);
  };
  // Adds the candidates that stand at `at`; returns the length of the longest, or 0.
  static size_t match_at(const Set& set, std::string_view text, size_t at, Cluster& cluster);
  void assign(const Set& set, std::string_view text, size_t begin, size_t end, Cluster& cluster,
              std::vector<Fragment>& taken) const;
  bool strips() const { return !strip_before_.empty() || !strip_after_.empty(); }

  Set always_, all_;
  std::vector<bool> strip_before_, strip_after_;
};

}  // namespace tally::text
