// The text of an output as far as it is known, read by coroutines (task.h) that wait where it ends for now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/parse/task.h"

namespace tally::parse {

// Bytes in any cut to whole characters: an unfinished one waits for its rest, what is not UTF-8 becomes U+FFFD.
class CharacterStream {
 public:
  void feed(std::string_view bytes, std::string* out);
  void finish(std::string* out);

 private:
  std::string rest_;  // the beginning of one character
};

enum class Match : uint8_t {
  No,
  Beginning,  // the text ends inside what is looked for
  Yes,
};

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Input {
 public:
  explicit Input(Runner& runner) : runner_(runner) {}

  std::string text;    // all of it; whole characters
  size_t prompt = 0;   // so much of the text stood in the prompt
  size_t pos = 0;      // what comes before is read
  bool ended = false;  // nothing follows
  bool cut = false;    // … because the token limit was reached
  size_t available() const { return text.size() - pos; }
  std::string_view rest() const { return std::string_view(text).substr(pos); }
  char peek(size_t ahead = 0) const { return text[pos + ahead]; }
  bool at_end() const { return ended && pos == text.size(); }

  // How the text at pos + ahead compares with `wanted`.
  Match match(std::string_view wanted, size_t ahead = 0) const;

  // co_await more(n): waits until n bytes lie ahead, or nothing follows. Gives whether they are there.
  class More {
   public:
    More(Input& in, size_t n) : in_(&in), n_(n) {}
    bool await_ready() const { return in_->available() >= n_ || in_->ended; }
    void await_suspend(std::coroutine_handle<>) {
      in_->wanted_ = in_->pos + n_;
      in_->runner_.wait();
    }
    bool await_resume() const { return in_->available() >= n_; }

   private:
    Input* in_;
    size_t n_;
  };
  More more(size_t n = 1) { return More(*this, n); }

  // After text was added: whether the waiting reader can go on.
  bool can_resume() const { return ended || text.size() >= wanted_; }

  // How far from pos + ahead the white space reaches; waits for what follows it. May end at the end of the text.
  Task<size_t> space(size_t ahead = 0);
  // match(), but waits until the answer is not Beginning (or the text has ended).
  Task<Match> settle(std::string_view wanted, size_t ahead = 0);

 private:
  Runner& runner_;
  size_t wanted_ = 0;
};

}  // namespace tally::parse
