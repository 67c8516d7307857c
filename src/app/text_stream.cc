#include "app/text_stream.h"

#include <algorithm>

namespace tally::app {

namespace {

// Length of the longest suffix of `text` that is a proper prefix of `stop`.
size_t overlap(const std::string& text, const std::string& stop) {
  size_t n = std::min(text.size(), stop.size() - 1);
  while (n > 0 && text.compare(text.size() - n, n, stop, 0, n) != 0) --n;
  return n;
}

}  // namespace

std::string TextStream::give(std::string fresh) {
  if (stopped_) return "";
  held_ += fresh;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_)
    if (!stop.empty()) end = std::min(end, held_.find(stop));
  std::string out;
  if (end != std::string::npos) {
    stopped_ = true;
    out = held_.substr(0, end);
    held_.clear();
  } else {
    size_t keep = 0;
    for (const std::string& stop : stops_)
      if (!stop.empty()) keep = std::max(keep, overlap(held_, stop));
    out = held_.substr(0, held_.size() - keep);
    held_.erase(0, held_.size() - keep);
  }
  text_ += out;
  return out;
}

std::string TextStream::push(int32_t id) {
  const bool ends = id >= 0 && id < tokenizer_->vocab_size() && tokenizer_->is_eog(id);
  return give(ends ? "" : decoder_.push(id));
}

std::string TextStream::flush() {
  std::string out = give(decoder_.flush());
  if (!stopped_) out += held_, text_ += held_;
  held_.clear();
  return out;
}

}  // namespace tally::app
