// Text and the markers in it.
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

enum class Tried : uint8_t { Nothing, Wait, Consumed };

class ContentReader {
 public:
  explicit ContentReader(Reader& r) : r_(r) {
    for (const CallMarker& m : r.family.calls) stops_[uint8_t(m.text[0])] = true;
    for (const Wrapper& w : r.family.wrappers) stops_[uint8_t(w.open[0])] = stops_[uint8_t(w.close[0])] = true;
  }

  Task<> run() {
    READER;
    if (r_.family.bare && r_.calls_allowed()) co_await read_bare();
    while (co_await r_.in.more()) {
      if (stops_[uint8_t(r_.in.peek())]) {
        const Tried wrapper = try_wrapper();
        if (wrapper == Tried::Consumed) continue;
        const CallMarker* marker = nullptr;
        const Tried call = find_call(&marker);
        if (!marker && (call == Tried::Wait || wrapper == Tried::Wait)) {
          co_await r_.in.more(r_.in.available() + 1);
          continue;
        }
        if (marker) {
          co_await read_call(*marker);
          continue;
        }
      }
      pass_text();
    }
  }

 private:
  // Text up to the next byte that may begin a marker.
  void pass_text() {
    const std::string_view rest = r_.in.rest();
    size_t n = 1;
    while (n < rest.size() && !stops_[uint8_t(rest[n])]) ++n;
    pass(n);
  }
  void pass(size_t n) {
    const std::string_view text = r_.in.rest().substr(0, n);
    r_.sink.content(text);
    r_.fence.feed(text);
    if (text.find_first_not_of(" \t\r\n") != text.npos) started_ = true;
    r_.in.pos += n;
  }

  Tried try_wrapper() {
    if (r_.fence.open()) return Tried::Nothing;
    Tried tried = Tried::Nothing;
    auto look = [&](std::string_view text) {
      const Match m = r_.in.match(text);
      if (m == Match::Beginning && !r_.in.ended) tried = Tried::Wait;
      if (m != Match::Yes) return false;
      r_.in.pos += text.size();
      r_.sink.content_marker();
      r_.fence.new_part();
      tried = Tried::Consumed;
      return true;
    };
    if (wrapper_) {
      if (look(wrapper_->close)) wrapper_ = nullptr;
      return tried;
    }
    for (const Wrapper& w : r_.family.wrappers)
      if (look(w.open)) {
        wrapper_ = &w;
        break;
      }
    return tried;
  }

  Tried find_call(const CallMarker** found) const {
    Tried tried = Tried::Nothing;
    if (!r_.calls_allowed()) return tried;
    for (const CallMarker& marker : r_.family.calls) {
      // A format that is a fenced block itself is one inside another block too.
      if (r_.fence.open() && marker.where != CallMarker::AtLineStart) continue;
      if (marker.where == CallMarker::AtStart && started_) continue;
      if (marker.where == CallMarker::AtLineStart && !r_.fence.at_line_start()) continue;
      const Match m = r_.in.match(marker.text);
      if (m == Match::Yes) *found = &marker;
      if (m == Match::Beginning && !r_.in.ended) tried = Tried::Wait;
    }
    return tried;
  }

  Task<> read_call(const CallMarker& marker) {
    READER;
    const size_t begin = r_.in.pos;
    r_.in.pos += marker.text.size();
    const Head head = co_await marker.read(r_);
    if (head == Head::NotACall) {
      r_.rewind(begin);
      pass(marker.text.size());
      co_return;
    }
    started_ = true;
    r_.sink.content_marker();
    r_.fence.new_part();
    if (head == Head::Cut) r_.in.pos = r_.in.text.size();
  }

  Task<> read_bare() {
    READER;
    for (;;) {
      const size_t begin = r_.in.pos;
      size_t n = co_await r_.in.space();
      if (started_ && co_await r_.in.more(n + 1) && r_.in.peek(n) == ';') n = co_await r_.in.space(n + 1);
      if (!co_await r_.in.more(n + 1) || (r_.in.peek(n) != '{' && r_.in.peek(n) != '[')) co_return;
      r_.in.pos += n;
      const Head head = co_await r_.family.bare(r_);
      if (head != Head::Call) {
        r_.rewind(begin);
        co_return;
      }
      started_ = true;
      r_.sink.content_marker();
    }
  }

  Reader& r_;
  bool stops_[256] = {};
  bool started_ = false;  // something other than white space was there
  const Wrapper* wrapper_ = nullptr;
};

}  // namespace

Task<> read_content(Reader& r) {
  READER;
  ContentReader content(r);
  co_await content.run();
}

}  // namespace tally::parse
