// Text of a generation as it streams: whole characters only, ended by stop strings.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace tally::app {

class TextStream {
 public:
  // with_markers: control tokens give their text too, but for those that end a generation.
  TextStream(const text::Tokenizer& tokenizer, std::vector<std::string> stops, bool with_markers = false)
      : tokenizer_(&tokenizer), decoder_(tokenizer, with_markers), stops_(std::move(stops)) {}

  // Text that may be shown now: never part of a character, nor what may still become a stop string.
  std::string push(int32_t id);
  // The rest, at the end.
  std::string flush();
  bool stopped() const { return stopped_; }          // a stop string was met; it is not part of the text
  const std::string& text() const { return text_; }  // all that was given out

 private:
  std::string give(std::string fresh);

  const text::Tokenizer* tokenizer_;
  text::StreamDecoder decoder_;
  std::vector<std::string> stops_;
  std::string held_, text_;
  bool stopped_ = false;
};

}  // namespace tally::app
