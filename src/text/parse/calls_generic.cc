// The format of models that have none of their own: a JSON object alone. And gemma4's, which only looks like one.
#include <array>

#include "text/parse/json_reader.h"
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

bool usable(const Reader& r, StagedCalls& staged) {
  for (const ToolCall& call : staged.calls())
    if (!r.tools.find(call.name)) return false;
  return !staged.empty() && ((r.in.cut && r.in.at_end()) || json_text(staged.calls().back().arguments).valid);
}

// The brace that ends the object around a value; at the end of the text it may be missing.
Task<bool> read_last_brace(Input& in) {
  READER;
  in.pos += co_await in.space();
  if (!co_await in.more()) co_return true;
  if (in.peek() != '}') co_return false;
  in.pos += 1;
  co_return true;
}

}  // namespace

// {"tool_call": {…}}, {"tool_calls": […]}, {"name": …, "arguments": …}, or {"response": "…"} for an answer.
Task<Head> read_bare_generic(Reader& r) {
  READER;
  Input& in = r.in;
  if (in.peek() != '{') co_return Head::NotACall;
  const size_t begin = in.pos;
  in.pos += 1;
  in.pos += co_await in.space();
  std::string key;
  if (co_await read_string(in, kMaxName, &key) != JsonEnd::Complete) co_return Head::NotACall;
  in.pos += co_await in.space();
  if (!co_await in.more() || in.peek() != ':') co_return Head::NotACall;
  in.pos += 1;
  in.pos += co_await in.space();
  if (!co_await in.more()) co_return Head::NotACall;
  StagedCalls staged;
  const ObjectForm form{.closers = {}, .bare = true};
  Head head = Head::NotACall;
  if (key == "response" && in.peek() == '"') {
    std::string answer;
    const JsonEnd end = co_await read_string(in, SIZE_MAX, &answer);
    if (end == JsonEnd::Invalid || (end == JsonEnd::Ended && !in.cut)) co_return Head::NotACall;
    if (!co_await read_last_brace(in)) co_return Head::NotACall;
    r.sink.content(answer);
    co_return Head::Call;
  }
  if (key == "tool_calls" && in.peek() == '[') {
    head = co_await read_call_list(r, staged, form);
  } else if (key == "tool_call" && in.peek() == '{') {
    head = co_await read_call_object(r, staged, form);
  } else {
    in.pos = begin;
    head = co_await read_call_object(r, staged, form);
    if (head != Head::Call || !usable(r, staged)) co_return Head::NotACall;
    staged.release(r.sink);
    co_return Head::Call;
  }
  if (head != Head::Call || !usable(r, staged) || !co_await read_last_brace(in)) co_return Head::NotACall;
  staged.release(r.sink);
  co_return Head::Call;
}

// Behind <|tool_call>: call:name{key:value, …}.
Task<Head> read_gemma4(Reader& r) {
  READER;
  Input& in = r.in;
  static constexpr std::array<std::string_view, 1> kOpen = {"<|tool_call>"}, kClose = {"<tool_call|>"};
  static constexpr std::string_view kCall = "call:";
  in.pos += co_await in.space();
  const Match m = co_await in.settle(kCall);
  if (m == Match::Beginning) co_return in.cut ? Head::Cut : Head::NotACall;
  if (m == Match::No) co_return Head::NotACall;
  in.pos += kCall.size();
  in.pos += co_await in.space();
  size_t n = 0;
  while (co_await in.more(n + 1) && n <= kMaxName && in.peek(n) != '{' && !is_space(in.peek(n))) ++n;
  const std::string name(in.rest().substr(0, n));
  const size_t behind = co_await in.space(n);
  if (in.available() == behind) co_return in.cut ? Head::Cut : Head::NotACall;
  if (!is_name(name) || in.peek(behind) != '{') co_return Head::NotACall;
  in.pos += behind;
  r.sink.begin(name, "");
  const TextOut write = [&](std::string_view text) { r.sink.arguments(text); };
  if (co_await read_any(in, kClose, write, Dialect::Gemma) == JsonEnd::Ended) in.pos = in.text.size();
  co_await read_closer(in, kClose[0], kOpen);
  co_return Head::Call;
}

}  // namespace tally::parse
