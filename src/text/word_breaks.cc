#include "text/word_breaks.h"

#include <algorithm>

namespace tally::text {
namespace {

// Place after `from` of the first mark that follows something else than a mark.
size_t next_mark(std::string_view text, size_t from) {
  for (size_t at = from; (at = text.find(kSpaceMark, at)) != std::string_view::npos; at += kSpaceMark.size())
    if (at > from &&
        (at < from + kSpaceMark.size() || text.substr(at - kSpaceMark.size(), kSpaceMark.size()) != kSpaceMark))
      return at;
  return text.size();
}

}  // namespace

void WordBreaks::add(std::string_view token) {
  for (size_t at = next_mark(token, 0); at < token.size(); at = next_mark(token, at)) {
    if (crossings_.size() == kMaxCrossings) never_ = true;
    if (never_) return;
    crossings_.push_back({std::string(token), at});
  }
}

bool WordBreaks::crossed(std::string_view text, size_t at) const {
  return std::any_of(crossings_.begin(), crossings_.end(), [&](const Crossing& c) {
    return at >= c.at && text.substr(at - c.at, c.token.size()) == c.token;
  });
}

size_t WordBreaks::next(std::string_view text, size_t from) const {
  if (never_) return text.size();
  size_t at = next_mark(text, from);
  while (at < text.size() && crossed(text, at)) at = next_mark(text, at);
  return at;
}

}  // namespace tally::text
