#include "text/parse/input.h"

#include "text/utf8.h"

namespace tally::parse {

void CharacterStream::feed(std::string_view bytes, std::string* out) {
  rest_ += bytes;
  const size_t whole = rest_.size() - text::unfinished_suffix(rest_);
  *out += text::replace_ill_formed(std::string_view(rest_).substr(0, whole), text::Replace::EachSequence);
  rest_.erase(0, whole);
}

void CharacterStream::finish(std::string* out) {
  *out += text::replace_ill_formed(rest_, text::Replace::EachSequence);
  rest_.clear();
}

Match Input::match(std::string_view wanted, size_t ahead) const {
  if (pos + ahead > text.size()) return Match::No;
  std::string_view there = rest().substr(ahead);
  if (there.size() >= wanted.size()) return there.starts_with(wanted) ? Match::Yes : Match::No;
  return wanted.starts_with(there) ? Match::Beginning : Match::No;
}

Task<size_t> Input::space(size_t ahead) {
  READER;
  while (co_await more(ahead + 1)) {
    if (!is_space(peek(ahead))) break;
    ++ahead;
  }
  co_return ahead;
}

Task<Match> Input::settle(std::string_view wanted, size_t ahead) {
  READER;
  for (;;) {
    const Match m = match(wanted, ahead);
    if (m != Match::Beginning || ended) co_return m;
    co_await more(available() + 1);
  }
}

}  // namespace tally::parse
