// In vocabularies that write a space as U+2581 no pre-tokenizer cuts the text. Merging is local, though: cutting before
// a space that follows something else changes nothing, unless a token that continues past such a space stands there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tally::text {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

class WordBreaks {
 public:
  // To be called with the text of everything that merging can produce.
  void add(std::string_view token);

  // Place after `from` where the word that begins at `from` may be cut off; the text's length when there is none.
  size_t next(std::string_view text, size_t from) const;

 private:
  struct Crossing {
    std::string token;
    size_t at;  // place of the space within it
  };
  static constexpr size_t kMaxCrossings = 64;

  bool crossed(std::string_view text, size_t at) const;

  std::vector<Crossing> crossings_;
  bool never_ = false;  // too many tokens cross: nothing is cut
};

}  // namespace tally::text
