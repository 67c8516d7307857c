// gpt-oss: messages with a header that names a channel and perhaps a recipient.
//   <|start|>assistant to=functions.N<|channel|>commentary <|constrain|>json<|message|>{…}<|call|>
#include <array>

#include "text/parse/json_reader.h"
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

constexpr std::string_view kStart = "<|start|>", kMessage = "<|message|>", kChannel = "<|channel|>";
constexpr std::array<std::string_view, 4> kEnds = {"<|end|>", "<|call|>", "<|return|>", kStart};
constexpr size_t kMaxHeader = 1024;

enum class At : uint8_t { Text, End, Start };

// The end of a message at in.pos ('<'), which is passed over unless it begins the next one.
Task<At> look(Input& in) {
  READER;
  for (std::string_view end : kEnds) {
    const Match m = co_await in.settle(end);
    if (m != Match::Yes) continue;
    if (end == kStart) co_return At::Start;
    in.pos += end.size();
    co_return At::End;
  }
  co_return At::Text;
}

struct Header {
  std::string text;  // as it stands
  std::string channel, recipient;
  bool complete = false;  // <|message|> follows, and is read
  bool plain = false;     // there is none: text without a frame
};

// The word behind `key` in the header.
std::string word_behind(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == header.npos) return "";
  header.remove_prefix(at + key.size());
  return std::string(header.substr(0, std::min(header.find_first_of(" \t\r\n<"), header.size())));
}

class Channels {
 public:
  explicit Channels(Reader& r) : r_(r), in_(r.in) {}

  Task<> run() {
    READER;
    while (co_await in_.more()) {
      const size_t begin = in_.pos;
      const Header header = co_await read_header();
      if (header.plain) {
        co_await read_text(false);
      } else if (!header.complete) {
        if (in_.at_end() && !in_.cut && header.recipient.size() + header.channel.size() > 0)
          r_.sink.content(header.text);
      } else if (!header.recipient.empty()) {
        co_await read_call(header, begin);
      } else {
        co_await read_text(header.channel == "analysis");
      }
    }
  }

 private:
  // Up to and with <|message|>, or the end of a message without it.
  Task<Header> read_header() {
    READER;
    Header h;
    const size_t begin = in_.pos;
    size_t body = begin;  // behind the marker
    if (co_await in_.settle(kStart) == Match::Yes) {
      body = in_.pos += kStart.size();
      while (co_await in_.more() && (std::isalnum(uint8_t(in_.peek())) || in_.peek() == '_')) in_.pos += 1;
      // Behind the role, only a channel, a recipient or the text can follow.
    }
    const size_t n = co_await in_.space();
    if (co_await in_.more(n + 1) && in_.peek(n) != '<' && co_await in_.settle("to=", n) == Match::No) {
      h.plain = true;
      co_return h;
    }
    while (co_await in_.more()) {
      if (in_.pos - begin > kMaxHeader) {  // no header at all
        in_.pos = std::max(body, in_.prompt);
        h.plain = true;
        co_return h;
      }
      if (in_.peek() == '<') {
        const Match message = co_await in_.settle(kMessage);
        if (message == Match::Yes) {
          in_.pos += kMessage.size();
          h.complete = true;
          break;
        }
        const At at = co_await look(in_);
        if (at != At::Text) break;
      }
      in_.pos += 1;
    }
    h.text = in_.text.substr(begin, in_.pos - begin);
    h.channel = word_behind(h.text, kChannel);
    h.recipient = word_behind(h.text, "to=");
    co_return h;
  }

  Task<> read_text(bool reasoning) {
    READER;
    bool marked = false;  // ended by one
    marker(reasoning);
    while (co_await in_.more()) {
      if (in_.peek() == '<') {
        const At at = co_await look(in_);
        marked = at != At::Text;
        if (marked) break;
      }
      const std::string_view rest = in_.rest();
      const size_t n = std::min(rest.find('<', 1), rest.size());
      reasoning ? r_.sink.reasoning(rest.substr(0, n)) : r_.sink.content(rest.substr(0, n));
      in_.pos += n;
    }
    if (marked) marker(reasoning);
  }
  void marker(bool reasoning) { reasoning ? r_.sink.reasoning_marker() : r_.sink.content_marker(); }

  Task<> read_call(const Header& header, size_t begin) {
    READER;
    std::string name = header.recipient;
    if (name.starts_with("functions.")) name.erase(0, std::string_view("functions.").size());
    if (r_.tools.empty() || !is_name(name)) {  // markup without a meaning here is text, the frame with it
      const size_t from = std::max(begin, r_.in.prompt);
      r_.sink.content_marker();
      r_.sink.content(std::string_view(in_.text).substr(from, in_.pos - from));
      co_await read_rest(true);
      co_return;
    }
    in_.pos += co_await in_.space();
    if (!co_await in_.more() && in_.cut) co_return;
    if (in_.at_end() || co_await ends_here()) {
      r_.sink.begin(name, "");
      r_.sink.arguments("{}");
    } else if (in_.peek() == '{' || in_.peek() == '"' || in_.peek() == 'n') {
      r_.sink.begin(name, "");
      co_await read_arguments(r_, r_.sink, kEnds);
    } else {  // no JSON: handed on as it is
      r_.sink.begin(name, "");
      const TextOut write = [&](std::string_view text) { r_.sink.arguments(text); };
      co_await read_rest_to(write);
      r_.sink.content_marker();
      co_return;
    }
    co_await read_rest(false);
    r_.sink.content_marker();
  }

  Task<bool> ends_here() {
    READER;
    for (std::string_view end : kEnds)
      if (co_await in_.settle(end) == Match::Yes) co_return true;
    co_return false;
  }

  // To the end of the message: as content, or dropped.
  Task<> read_rest(bool as_content) {
    READER;
    const TextOut write = [&](std::string_view text) {
      if (as_content) r_.sink.content(text);
    };
    co_await read_rest_to(write);
  }
  Task<> read_rest_to(const TextOut& write) {
    READER;
    while (co_await in_.more()) {
      if (in_.peek() == '<' && co_await look(in_) != At::Text) co_return;
      const std::string_view rest = in_.rest();
      const size_t n = std::min(rest.find('<', 1), rest.size());
      write(rest.substr(0, n));
      in_.pos += n;
    }
  }

  Reader& r_;
  Input& in_;
};

}  // namespace

Task<> read_channels(Reader& r) {
  READER;
  Channels channels(r);
  co_await channels.run();
}

}  // namespace tally::parse
