// Rules for reasoning: the block at the start, its tags repeated, calls at the end of a block that is never closed.
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

enum class Prompt : uint8_t { Silent, Opened, Closed };

Prompt state_of(std::string_view prompt, const Family& family) {
  const size_t open = prompt.rfind(family.think_open), close = prompt.rfind(family.think_close);
  if (open == prompt.npos && close == prompt.npos) return Prompt::Silent;
  if (close == prompt.npos || (open != prompt.npos && open > close)) return Prompt::Opened;
  // Closed: an answer that the prompt has begun behind the block leaves nothing to close.
  const std::string_view behind = prompt.substr(close + family.think_close.size());
  return behind.find_first_not_of(" \t\r\n") == behind.npos ? Prompt::Closed : Prompt::Silent;
}

// Passes over `tag` and the white space before it, as often as it stands here.
Task<bool> drop_tags(Input& in, std::string_view tag) {
  READER;
  bool any = false;
  for (;;) {
    const size_t n = co_await in.space();
    if (co_await in.settle(tag, n) != Match::Yes) co_return any;
    in.pos += n + tag.size();
    any = true;
  }
}

// Complete calls of declared tools from here to the end of the output: then they are calls and the reasoning ends.
Task<bool> read_final_calls(Reader& r) {
  READER;
  StagedCalls staged;
  const size_t begin = r.in.pos;
  for (;;) {
    const bool tagged = co_await r.in.settle("<tool_call>") == Match::Yes;
    if (!tagged && co_await r.in.settle("<function=") != Match::Yes) break;
    r.in.pos += std::string_view(tagged ? "<tool_call>" : "<function=").size();
    if (tagged) {
      r.in.pos += co_await r.in.space();
      if (co_await r.in.settle("<function=") != Match::Yes) break;
      r.in.pos += std::string_view("<function=").size();
    }
    bool complete = false;
    const Head head = co_await read_xml_call(r, staged, r.family.think_close, &complete);
    if (head != Head::Call || !complete || !r.tools.find(staged.calls().back().name)) break;
    size_t n = co_await r.in.space();
    if (co_await r.in.settle("</tool_call>", n) == Match::Yes) r.in.pos += n + std::string_view("</tool_call>").size();
    r.in.pos += co_await r.in.space();
    if (r.in.at_end()) {
      r.sink.reasoning_marker();
      staged.release(r.sink);
      co_return true;
    }
  }
  r.rewind(begin);
  co_return false;
}

// A call without its opening tag, or one whose tag does not begin the line.
bool follows_tag(const Input& in) {
  std::string_view before = std::string_view(in.text).substr(0, in.pos);
  before = before.substr(0, before.find_last_not_of(" \t\r\n") + 1);
  return before.ends_with("<tool_call>");
}

// Up to the closing tag; false: there is none.
Task<bool> read_block(Reader& r) {
  READER;
  const std::string_view close = r.family.think_close;
  bool line_start = true;  // only white space since the line began
  while (co_await r.in.more()) {
    const char c = r.in.peek();
    if (c == close[0] && co_await r.in.settle(close) == Match::Yes) {
      r.in.pos += close.size();
      co_return true;
    }
    if (c == '<' && line_start && r.family.implicit_close && r.calls_allowed() && !follows_tag(r.in))
      if (co_await read_final_calls(r)) co_return false;
    const std::string_view rest = r.in.rest();
    size_t n = 1;
    while (n < rest.size() && rest[n] != close[0] && rest[n] != '<') ++n;
    const std::string_view run = rest.substr(0, n);
    r.sink.reasoning(run);
    const size_t line = run.rfind('\n');
    line_start =
        (line_start || line != run.npos) && run.find_first_not_of(" \t\r", line == run.npos ? 0 : line + 1) == run.npos;
    r.in.pos += n;
  }
  co_return false;
}

}  // namespace

Task<> read_reasoning(Reader& r, std::string_view prompt) {
  READER;
  if (r.family.think_open.empty()) co_return;
  const Prompt state = state_of(prompt, r.family);
  if (state == Prompt::Closed && co_await drop_tags(r.in, r.family.think_close)) {
    r.sink.content_marker();
    co_return;
  }
  const bool again = co_await drop_tags(r.in, r.family.think_open);
  if (state != Prompt::Opened && !again) co_return;
  r.sink.reasoning_marker();
  if (!co_await read_block(r)) co_return;
  r.sink.reasoning_marker();
  r.sink.content_marker();
  co_await drop_tags(r.in, r.family.think_close);
}

}  // namespace tally::parse
