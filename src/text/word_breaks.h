// In vocabularies that write a space as U+2581 no pre-tokenizer cuts the text. Where no token continues past a space
// that follows something else, words can still be tokenized one by one with the same result, since merging is local.
#pragma once

#include <cstddef>
#include <string_view>

namespace tally::text {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// Place after `from` of the first U+2581 that follows another character; the text's length when there is none.
inline size_t next_word(std::string_view text, size_t from) {
  for (size_t at = from; (at = text.find(kSpaceMark, at)) != std::string_view::npos; at += kSpaceMark.size())
    if (at > from &&
        (at < from + kSpaceMark.size() || text.substr(at - kSpaceMark.size(), kSpaceMark.size()) != kSpaceMark))
      return at;
  return text.size();
}

inline bool crosses_words(std::string_view text) { return next_word(text, 0) < text.size(); }

}  // namespace tally::text
