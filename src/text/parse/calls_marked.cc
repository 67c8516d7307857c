// Formats that put JSON calls between markers.
#include <array>

#include "text/parse/json_reader.h"
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

using Markers = std::array<std::string_view, 1>;
constexpr Markers kToolCall = {"<tool_call>"}, kEndToolCall = {"</tool_call>"};
constexpr Markers kPipe = {"<|tool_call|>"}, kEndPipe = {"<|/tool_call|>"};
constexpr Markers kAction = {"<|START_ACTION|>"}, kEndAction = {"<|END_ACTION|>"};
constexpr Markers kToolCalls = {"[TOOL_CALLS]"};
constexpr std::array<std::string_view, 2> kDeepseekClosers = {"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"};

// Bytes until one of the texts stands there. No: more than `limit`; Beginning: the end comes first.
Task<Match> read_until(Input& in, std::span<const std::string_view> ends, size_t limit, std::string* out) {
  READER;
  for (size_t n = 0; n <= limit && co_await in.more(n + 1); ++n)
    for (std::string_view end : ends)
      if (co_await in.settle(end, n) == Match::Yes) {
        *out = in.rest().substr(0, n);
        in.pos += n;
        co_return Match::Yes;
      }
  co_return in.available() > limit ? Match::No : Match::Beginning;
}

Head ended(const Input& in) { return in.cut ? Head::Cut : Head::NotACall; }

}  // namespace

Task<Head> read_hermes(Reader& r) {
  READER;
  r.in.pos += co_await r.in.space();
  if (!co_await r.in.more()) co_return ended(r.in);
  if (r.in.peek() != '{') co_return Head::NotACall;
  const Head head = co_await read_call_object(r, r.sink, {.closers = kEndToolCall});
  if (head == Head::Call) co_await read_closer(r.in, kEndToolCall[0], kToolCall);
  co_return head;
}

Task<Head> read_phi(Reader& r) {
  READER;
  const Head head = co_await read_call_list(r, r.sink, {.closers = kEndPipe});
  if (head == Head::Call) co_await read_closer(r.in, kEndPipe[0], kPipe);
  co_return head;
}

Task<Head> read_functools(Reader& r) {
  READER;
  r.in.pos -= 1;  // the marker's bracket opens the list
  co_return co_await read_call_list(r, r.sink, {});
}

Task<Head> read_granite3(Reader& r) {
  READER;
  const Head head = co_await read_call_list(r, r.sink, {.closers = kPipe});
  if (head == Head::Call) co_await read_closer(r.in, "", kPipe);
  co_return head;
}

Task<Head> read_action(Reader& r) {
  READER;
  const Head head = co_await read_call_list(r, r.sink, {.closers = kEndAction});
  if (head == Head::Call) co_await read_closer(r.in, kEndAction[0], kAction);
  co_return head;
}

// [TOOL_CALLS][{…}], or [TOOL_CALLS]name[CALL_ID]id[ARGS]{…} where the id may be left out.
Task<Head> read_mistral(Reader& r) {
  READER;
  Input& in = r.in;
  in.pos += co_await in.space();
  if (!co_await in.more()) co_return ended(in);
  if (in.peek() == '[' || in.peek() == '{') {
    const Head head = co_await read_call_list(r, r.sink, {.closers = kToolCalls, .own_ids = true});
    if (head == Head::Call) co_await read_closer(in, "", kToolCalls);
    co_return head;
  }
  static constexpr std::array<std::string_view, 2> kBehindName = {"[ARGS]", "[CALL_ID]"};
  static constexpr std::array<std::string_view, 1> kBehindId = {"[ARGS]"};
  size_t n = 0;
  while (co_await in.more(n + 1) && n <= kMaxName && in.peek(n) != '[' && !is_space(in.peek(n))) ++n;
  const std::string name(in.rest().substr(0, n));
  if (!is_name(name)) co_return Head::NotACall;
  if (in.available() == n) co_return ended(in);
  in.pos += n;
  in.pos += co_await in.space();
  std::string id;
  if (co_await in.settle("[CALL_ID]") == Match::Yes) {
    in.pos += kBehindName[1].size();
    const Match m = co_await read_until(in, kBehindId, kMaxName, &id);
    if (m != Match::Yes) co_return m == Match::Beginning ? ended(in) : Head::NotACall;
    if (!is_name(id)) id.clear();
  }
  const Match args = co_await in.settle("[ARGS]");
  if (args == Match::Beginning || in.at_end()) co_return ended(in);
  if (args == Match::No) co_return Head::NotACall;
  in.pos += kBehindId[0].size();
  in.pos += co_await in.space();
  const bool none = !co_await in.more() || co_await in.settle("[TOOL_CALLS]") == Match::Yes;
  if (none && in.at_end() && in.cut) co_return Head::Cut;
  if (!none && in.peek() != '{' && in.peek() != '"' && in.peek() != 'n' && in.peek() != 'N') co_return Head::NotACall;
  r.sink.begin(name, id);
  if (none)
    r.sink.arguments("{}");
  else
    co_await read_arguments(r, r.sink, kToolCalls);
  co_await read_closer(in, "", kToolCalls);
  co_return Head::Call;
}

// Behind <｜tool▁call▁begin｜>: name<｜tool▁sep｜>{…}, or function<｜tool▁sep｜>name and a fenced block of JSON.
Task<Head> read_deepseek_call(Reader& r) {
  READER;
  Input& in = r.in;
  static constexpr std::string_view kSeparator = "<｜tool▁sep｜>", kFence = "```";
  static constexpr std::array<std::string_view, 1> kBehindName = {kSeparator};
  static constexpr std::array<std::string_view, 2> kBehindLine = {"\n", kFence};
  std::string name;
  in.pos += co_await in.space();
  Match m = co_await read_until(in, kBehindName, kMaxName, &name);
  if (m != Match::Yes) co_return m == Match::Beginning ? ended(in) : Head::NotACall;
  in.pos += kSeparator.size();
  in.pos += co_await in.space();
  if (!co_await in.more()) co_return ended(in);
  if (in.peek() != '{' && name == "function") {
    m = co_await read_until(in, kBehindLine, kMaxName, &name);
    if (m != Match::Yes) co_return m == Match::Beginning ? ended(in) : Head::NotACall;
    while (!name.empty() && is_space(name.back())) name.pop_back();
    in.pos += co_await in.space();
    if (co_await in.settle(kFence) == Match::Yes) {
      in.pos += kFence.size();
      if (co_await in.settle("json") == Match::Yes) in.pos += 4;
      in.pos += co_await in.space();
    }
  }
  if (!co_await in.more()) co_return ended(in);
  if (in.peek() != '{' || !is_name(name)) co_return Head::NotACall;
  r.sink.begin(name, "");
  co_await read_arguments(r, r.sink, kDeepseekClosers);
  size_t n = co_await in.space();
  if (in.available() > n && co_await in.settle(kFence, n) != Match::No)
    in.pos = std::min(in.pos + n + kFence.size(), in.text.size());
  static constexpr std::array<std::string_view, 3> kNext = {"<｜tool▁call▁begin｜>", "<｜tool▁calls▁begin｜>",
                                                            "<｜tool▁calls▁end｜>"};
  co_await read_closer(in, kDeepseekClosers[0], kNext);
  n = co_await in.space();
  const Match all = co_await in.settle(kDeepseekClosers[1], n);
  if (all == Match::Yes || (all == Match::Beginning && in.available() > n))
    in.pos = std::min(in.pos + n + kDeepseekClosers[1].size(), in.text.size());
  co_return Head::Call;
}

Task<Head> read_deepseek(Reader& r) {
  READER;
  static constexpr std::string_view kBegin = "<｜tool▁call▁begin｜>";
  r.in.pos += co_await r.in.space();
  const Match m = co_await r.in.settle(kBegin);
  if (m == Match::Beginning || r.in.at_end()) co_return ended(r.in);
  if (m == Match::No) co_return Head::NotACall;
  r.in.pos += kBegin.size();
  co_return co_await read_deepseek_call(r);
}

}  // namespace tally::parse
