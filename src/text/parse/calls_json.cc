// Calls as JSON objects and lists of them.
#include "text/parse/json_reader.h"
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

bool one_of(std::string_view key, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (key == name) return true;
  return false;
}

// One object as far as it is read. Members of a "function" object count as the object's own.
class ObjectReader {
 public:
  ObjectReader(Reader& r, CallWriter& out, const ObjectForm& form) : r_(r), in_(r.in), out_(out), form_(form) {}

  Task<Head> run() {
    READER;
    int depth = 0;
    for (;;) {
      in_.pos += co_await in_.space();
      if (!co_await in_.more()) co_return ended();
      const char c = in_.peek();
      if (depth == 0 ? c == '{' : (c == ',' || c == '}')) {
        in_.pos += 1;
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        if (depth == 0) break;
        continue;
      }
      if (depth == 0 || c != '"') co_return broken();
      bool opens = false;
      const JsonEnd end = co_await read_member(&opens);
      if (end == JsonEnd::Ended && in_.ended) co_return ended();
      if (end != JsonEnd::Complete) co_return broken();
      if (opens) ++depth;
      if (depth > 2) co_return broken();
    }
    complete_ = true;
    co_return finish();
  }

 private:
  // Complete: go on behind it. Invalid: no call, or, once it has begun, nothing more of it.
  Task<JsonEnd> read_member(bool* opens) {
    READER;
    std::string key;
    JsonEnd end = co_await read_string(in_, kMaxHead, &key);
    if (end != JsonEnd::Complete) co_return end;
    in_.pos += co_await in_.space();
    if (!co_await in_.more()) co_return JsonEnd::Ended;
    if (in_.peek() != ':') co_return JsonEnd::Invalid;
    in_.pos += 1;
    in_.pos += co_await in_.space();
    if (!co_await in_.more()) co_return JsonEnd::Ended;
    if (one_of(key, {"name", "tool_name"}) && name_.empty()) co_return co_await read_name();
    if (one_of(key, {"arguments", "parameters"}) && !has_arguments_) co_return co_await read_value();
    if (one_of(key, {"id", "tool_call_id"}) && in_.peek() == '"') co_return co_await read_id();
    if (key == "function" && in_.peek() == '{') {
      in_.pos += 1;
      *opens = true;
      co_return JsonEnd::Complete;
    }
    if (form_.bare && key != "type") co_return JsonEnd::Invalid;
    size_t size = 0;
    bool long_ = false;
    const TextOut skip = [&](std::string_view text) { size += text.size(), long_ = size > kMaxHead; };
    end = co_await read_json(in_, form_.closers, skip);
    co_return long_ && !begun_ ? JsonEnd::Invalid : end;
  }

  Task<JsonEnd> read_name() {
    READER;
    const JsonEnd end = co_await read_string(in_, kMaxName, &name_);
    if (end != JsonEnd::Complete) co_return end;
    if (name_.empty() || (form_.bare && !r_.tools.find(name_))) co_return JsonEnd::Invalid;
    if (has_arguments_) begin(), out_.arguments(early_);
    co_return JsonEnd::Complete;
  }

  Task<JsonEnd> read_value() {
    READER;
    has_arguments_ = true;
    if (!name_.empty()) {
      begin();
      co_await read_arguments(r_, out_, form_.closers);
    } else {
      StagedCalls staged;
      staged.begin("", "");
      co_await read_arguments(r_, staged, form_.closers);
      early_ = staged.calls().back().arguments;
    }
    co_return in_.at_end() ? JsonEnd::Ended : JsonEnd::Complete;
  }

  Task<JsonEnd> read_id() {
    READER;
    std::string id;
    const JsonEnd end = co_await read_string(in_, kMaxName, &id);
    if (end == JsonEnd::Complete && form_.own_ids && !id.empty()) {
      id_ = id;
      if (begun_) out_.set_id(id_);
    }
    co_return end;
  }

  void begin() {
    begun_ = true;
    out_.begin(name_, id_);
  }

  Head finish() {
    if (name_.empty()) return Head::NotACall;
    if (!begun_) begin(), out_.arguments("{}");
    return Head::Call;
  }
  Head broken() const { return begun_ ? Head::Call : Head::NotACall; }
  Head ended() const { return begun_ ? Head::Call : in_.cut ? Head::Cut : Head::NotACall; }

  Reader& r_;
  Input& in_;
  CallWriter& out_;
  ObjectForm form_;
  std::string name_, id_, early_;
  bool has_arguments_ = false, begun_ = false;

 public:
  bool complete_ = false;
};

}  // namespace

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxName) return false;
  for (char c : text)
    if (!std::isalnum(uint8_t(c)) && uint8_t(c) < 0x80 && std::string_view("_.-:/").find(c) == std::string_view::npos)
      return false;
  return true;
}

// The value of "arguments": an object as it comes; a text that holds an object: that object; null: {}.
Task<> read_arguments(Reader& r, CallWriter& out, std::span<const std::string_view> closers) {
  READER;
  Input& in = r.in;
  const TextOut write = [&](std::string_view text) { out.arguments(text); };
  if (!co_await in.more()) co_return;
  const char c = in.peek();
  if (c == '"') {
    std::string text, inner;
    const size_t begin = in.pos;
    const JsonEnd end = co_await read_string(in, SIZE_MAX, &text);
    if (end != JsonEnd::Complete) {
      if (!in.cut) write(std::string_view(in.text).substr(begin));
      in.pos = in.text.size();
      co_return;
    }
    JsonText json = json_text(text);
    if (text.find_first_not_of(" \t\r\n") == text.npos)
      write("{}");
    else
      write(json.valid && json.kind == 'o' ? json.text : std::string_view(in.text).substr(begin, in.pos - begin));
    co_return;
  }
  for (std::string_view null : {"null", "None"})
    if (co_await in.settle(null) == Match::Yes) {
      in.pos += null.size();
      write("{}");
      co_return;
    }
  if (co_await read_any(in, closers, write) == JsonEnd::Ended) in.pos = in.text.size();
}

Task<Head> read_call_object(Reader& r, CallWriter& out, const ObjectForm& form) {
  READER;
  ObjectReader object(r, out, form);
  const Head head = co_await object.run();
  if (form.bare && head == Head::Call && !object.complete_ && !r.in.at_end()) co_return Head::NotACall;
  co_return head;
}

Task<Head> read_call_list(Reader& r, CallWriter& out, const ObjectForm& form) {
  READER;
  Input& in = r.in;
  in.pos += co_await in.space();
  if (!co_await in.more()) co_return in.cut ? Head::Cut : Head::NotACall;
  if (in.peek() == '{') co_return co_await read_call_object(r, out, form);
  if (in.peek() != '[') co_return Head::NotACall;
  in.pos += 1;
  Head all = Head::NotACall;
  for (;;) {
    const Head head = co_await read_call_object(r, out, form);
    if (head == Head::Call)
      all = Head::Call;
    else if (head == Head::NotACall || all == Head::NotACall)
      co_return all == Head::NotACall ? head : all;
    for (;;) {  // a bracket too many, then a comma or the end of the list
      in.pos += co_await in.space();
      if (!co_await in.more()) co_return all;
      if (in.peek() != '}') break;
      in.pos += 1;
    }
    if (in.peek() == '{') continue;  // the object before lacks its brace, and its comma is read
    if (in.peek() != ',' && in.peek() != ']') co_return all;
    if (in.peek() == ']') {
      in.pos += 1;
      co_return all;
    }
    in.pos += 1;
    in.pos += co_await in.space();
    if (co_await in.more() && in.peek() == ']') {  // a trailing comma
      in.pos += 1;
      co_return all;
    }
  }
}

Task<> read_closer(Input& in, std::string_view closer, std::span<const std::string_view> openers) {
  READER;
  for (;;) {
    in.pos += co_await in.space();
    if (!co_await in.more()) co_return;
    if (in.peek() != '}' && in.peek() != ']') break;
    if (!closer.empty() && closer[0] == ']') break;
    in.pos += 1;
  }
  if (closer.empty()) co_return;
  for (size_t n = 0; co_await in.more(n + 1); ++n) {
    if (in.peek(n) != closer[0] && in.peek(n) != '<' && in.peek(n) != '[') continue;
    const Match m = co_await in.settle(closer, n);
    if (m == Match::Yes || (m == Match::Beginning && n == 0)) {  // the end may come inside the marker
      in.pos = std::min(in.pos + n + closer.size(), in.text.size());
      co_return;
    }
    for (std::string_view opener : openers)
      if (co_await in.settle(opener, n) == Match::Yes) co_return;
  }
}

}  // namespace tally::parse
