// Formats that give each parameter its own tags: <function=N><parameter=K>V</parameter></function>, and the one with
// <arg_key>K</arg_key><arg_value>V</arg_value>.
#include <array>

#include "text/parse/json_reader.h"
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

constexpr std::array<std::string_view, 1> kToolCall = {"<tool_call>"};
constexpr std::string_view kEndToolCall = "</tool_call>", kEndFunction = "</function>", kParameter = "<parameter=";

Head ended(const Input& in) { return in.cut ? Head::Cut : Head::NotACall; }

// What closes a value: `close`, where after white space one of `next`, or the end, follows. With `newline`, one newline
// before it belongs to it.
struct ValueEnd {
  std::string_view close;
  std::span<const std::string_view> next;
  bool newline;
  std::string_view abort;  // this text makes it no value at all; may be empty
};

enum class At : uint8_t { Text, Close, Abort, End };

// What stands at in.pos; *length: of the closer.
Task<At> look(Input& in, const ValueEnd& end, size_t* length) {
  READER;
  if (!co_await in.more()) co_return At::End;
  size_t n = 0;
  if (end.newline && in.peek() == '\n') n = 1;
  if (n == 1 && !co_await in.more(2)) co_return in.cut ? At::End : At::Text;
  if (in.peek(n) != '<') co_return At::Text;
  if (!end.abort.empty() && co_await in.settle(end.abort, n) == Match::Yes) co_return At::Abort;
  const Match m = co_await in.settle(end.close, n);
  if (m == Match::Beginning && in.cut) co_return At::End;  // the closer of a value that was cut
  if (m != Match::Yes) co_return At::Text;
  *length = n + end.close.size();
  const size_t behind = co_await in.space(*length);
  if (in.available() == behind) co_return in.cut ? At::End : At::Close;
  for (std::string_view next : end.next) {
    const Match follows = co_await in.settle(next, behind);
    if (follows == Match::Yes) co_return At::Close;
    if (follows == Match::Beginning) co_return in.cut ? At::End : At::Close;
  }
  co_return At::Text;
}

// The value's text up to its closer, which is read too. Complete, Ended, or Invalid (aborted).
Task<JsonEnd> read_text(Input& in, const ValueEnd& end, const TextOut& out) {
  READER;
  for (;;) {
    size_t length = 0;
    const At at = co_await look(in, end, &length);
    if (at == At::End) co_return JsonEnd::Ended;
    if (at == At::Abort) co_return JsonEnd::Invalid;
    if (at == At::Close) {
      in.pos += length;
      co_return JsonEnd::Complete;
    }
    const std::string_view rest = in.rest();
    size_t n = 1;
    while (n < rest.size() && rest[n] != '<' && rest[n] != '\n') ++n;
    out(rest.substr(0, n));
    in.pos += n;
  }
}

// The argument object of one call, member by member.
class Members {
 public:
  Members(Reader& r, CallWriter& out, const Tool* tool) : r_(r), out_(out), tool_(tool) {}

  // The value of `key` at in.pos. A text alone is passed on as it comes.
  Task<JsonEnd> read(std::string_view key, const ValueEnd& end) {
    READER;
    const std::string head = (n_++ ? "," : "{") + json_quote(key) + ":";
    const Kinds kinds = tool_ ? tool_->kinds_of(key) : Kinds(0);
    JsonEnd result;
    if (kinds == kString) {
      out_.arguments(head + "\"");
      const TextOut write = [&](std::string_view text) { out_.arguments(json_escape(text)); };
      result = co_await read_text(r_.in, end, write);
      if (result == JsonEnd::Complete || (result == JsonEnd::Ended && !r_.in.cut)) out_.arguments("\"");
    } else {
      std::string value;
      const TextOut collect = [&](std::string_view text) { value += text; };
      result = co_await read_text(r_.in, end, collect);
      if (result == JsonEnd::Complete || (result == JsonEnd::Ended && !r_.in.cut))
        out_.arguments(head + json_of_text(value, kinds));
    }
    co_return result;
  }
  void close() { out_.arguments(n_ ? "}" : "{}"); }

 private:
  Reader& r_;
  CallWriter& out_;
  const Tool* tool_;
  int n_ = 0;
};

// A name up to `end`; Beginning: the text ends inside.
Task<Match> read_name(Input& in, char end, std::string* out) {
  READER;
  size_t n = 0;
  while (co_await in.more(n + 1) && in.peek(n) != end) {
    if (n >= kMaxName || in.peek(n) == '\n' || in.peek(n) == '<') co_return Match::No;
    ++n;
  }
  if (in.available() == n) co_return Match::Beginning;
  *out = in.rest().substr(0, n);
  in.pos += n + 1;
  co_return out->empty() ? Match::No : Match::Yes;
}

class XmlCall {
 public:
  XmlCall(Reader& r, CallWriter& out, std::string_view abort, bool bare)
      : r_(r), in_(r.in), out_(out), abort_(abort), bare_(bare) {}

  // Behind "<function=".
  Task<Head> run(bool* complete) {
    READER;
    const Match named = co_await read_name(in_, '>', &name_);
    if (named == Match::Beginning) co_return ended(in_);
    if (named == Match::No || !is_name(name_)) co_return Head::NotACall;
    tool_ = r_.tools.find(name_);
    if (bare_ && !tool_) co_return Head::NotACall;
    Members members(r_, out_, tool_);
    for (;;) {
      in_.pos += co_await in_.space();
      if (!co_await in_.more()) co_return at_end(members);
      if (co_await in_.settle(kEndFunction) == Match::Yes) {
        in_.pos += kEndFunction.size();
        break;
      }
      if (co_await in_.settle(kEndToolCall) == Match::Yes) break;
      const Match parameter = co_await in_.settle(kParameter);
      if (parameter == Match::Beginning) co_return at_end(members);
      if (parameter == Match::No) co_return begun_ ? close(members) : Head::NotACall;
      in_.pos += kParameter.size();
      std::string key;
      const Match keyed = co_await read_name(in_, '>', &key);
      if (keyed == Match::Beginning) co_return at_end(members);
      if (keyed == Match::No) co_return begun_ ? close(members) : Head::NotACall;
      begin();
      if (co_await in_.more() && in_.peek() == '\n') in_.pos += 1;
      static constexpr std::array<std::string_view, 3> kNext = {kParameter, kEndFunction, kEndToolCall};
      const JsonEnd value = co_await members.read(key, {"</parameter>", kNext, true, abort_});
      if (value == JsonEnd::Invalid) co_return Head::NotACall;
      if (value == JsonEnd::Ended) co_return at_end(members);
    }
    *complete = true;
    begin();
    co_return close(members);
  }

 private:
  void begin() {
    if (!begun_) out_.begin(name_, "");
    begun_ = true;
  }
  Head close(Members& members) {
    members.close();
    return Head::Call;
  }
  // A call whose name is complete is one when the limit cuts it; nothing is added to its arguments.
  Head at_end(Members& members) {
    if (in_.cut) return begin(), in_.pos = in_.text.size(), Head::Call;
    if (!begun_) return Head::NotACall;
    in_.pos = in_.text.size();
    return close(members);
  }

  Reader& r_;
  Input& in_;
  CallWriter& out_;
  std::string_view abort_;
  bool bare_, begun_ = false;
  std::string name_;
  const Tool* tool_ = nullptr;
};

}  // namespace

Task<Head> read_xml_call(Reader& r, CallWriter& out, std::string_view abort, bool* complete) {
  READER;
  XmlCall call(r, out, abort, false);
  co_return co_await call.run(complete);
}

Task<Head> read_tagged_xml(Reader& r) {
  READER;
  r.in.pos += co_await r.in.space();
  static constexpr std::string_view kFunction = "<function=";
  const Match m = co_await r.in.settle(kFunction);
  if (m == Match::Beginning || r.in.at_end()) co_return ended(r.in);
  if (m == Match::No) co_return Head::NotACall;
  r.in.pos += kFunction.size();
  XmlCall call(r, r.sink, "", false);
  bool complete = false;
  const Head head = co_await call.run(&complete);
  if (head == Head::Call) co_await read_closer(r.in, kEndToolCall, kToolCall);
  co_return head;
}

Task<Head> read_function_xml(Reader& r) {
  READER;
  XmlCall call(r, r.sink, "", true);
  bool complete = false;
  const Head head = co_await call.run(&complete);
  if (head != Head::Call) co_return head;
  const size_t n = co_await r.in.space();  // without its opening tag, the closing one is only a habit
  const Match m = r.in.available() == n ? Match::No : co_await r.in.settle(kEndToolCall, n);
  if (m != Match::No) r.in.pos = std::min(r.in.pos + n + kEndToolCall.size(), r.in.text.size());
  co_return head;
}

// Behind <tool_call>: a name, then keys and values.
Task<Head> read_glm(Reader& r) {
  READER;
  Input& in = r.in;
  static constexpr std::string_view kKey = "<arg_key>", kEndKey = "</arg_key>", kValue = "<arg_value>";
  static constexpr std::array<std::string_view, 2> kNext = {kKey, kEndToolCall};
  in.pos += co_await in.space();
  size_t n = 0;
  while (co_await in.more(n + 1) && n <= kMaxName && in.peek(n) != '<' && !is_space(in.peek(n))) ++n;
  const std::string name(in.rest().substr(0, n));
  if (in.available() == n) co_return ended(in);
  if (!is_name(name)) co_return Head::NotACall;
  in.pos += n;
  const Tool* tool = r.tools.find(name);
  Members members(r, r.sink, tool);
  bool begun = false;
  for (;;) {
    in.pos += co_await in.space();
    if (co_await in.settle(kEndToolCall) == Match::Yes) break;
    const Match keyed = co_await in.settle(kKey);
    std::string key;
    bool ends = in.at_end() || keyed == Match::Beginning;
    Match ok = Match::No;
    if (keyed == Match::Yes) {
      in.pos += kKey.size();
      ok = co_await read_name(in, '<', &key);
      if (ok == Match::Yes) {
        in.pos -= 1;
        ok = co_await in.settle(kEndKey);
      }
      if (ok == Match::Yes) {
        in.pos += kEndKey.size();
        in.pos += co_await in.space();
        ok = in.at_end() ? Match::Beginning : co_await in.settle(kValue);
      }
      ends = ok == Match::Beginning;
    }
    if (ends && in.cut && (begun || keyed == Match::Yes)) {
      if (!begun) r.sink.begin(name, "");
      in.pos = in.text.size();
      co_return Head::Call;
    }
    if (ends && !begun) co_return ended(in);
    if (ok != Match::Yes) {
      if (!begun) co_return Head::NotACall;
      break;
    }
    in.pos += kValue.size();
    if (!begun) r.sink.begin(name, "");
    begun = true;
    const JsonEnd value = co_await members.read(key, {"</arg_value>", kNext, false, ""});
    if (value == JsonEnd::Ended) {
      in.pos = in.text.size();
      if (!in.cut) members.close();
      co_return Head::Call;
    }
  }
  if (!begun) r.sink.begin(name, "");
  members.close();
  co_await read_closer(in, kEndToolCall, kToolCall);
  co_return Head::Call;
}

}  // namespace tally::parse
