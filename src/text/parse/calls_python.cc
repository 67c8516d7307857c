// Calls written as Python, and the formats that hold them.
#include <array>

#include "text/parse/json_reader.h"
#include "text/parse/reader.h"

namespace tally::parse {
namespace {

constexpr std::array<std::string_view, 1> kLfm2 = {"<|tool_call_start|>"};
constexpr std::string_view kEndLfm2 = "<|tool_call_end|>", kFence = "```";

bool is_word(char c) { return std::isalnum(uint8_t(c)) || c == '_' || uint8_t(c) >= 0x80; }

class PythonCalls {
 public:
  PythonCalls(Reader& r, CallWriter& out) : r_(r), in_(r.in), out_(out) {}

  // [name(key=value, …), …], or one call without the list.
  Task<Head> run() {
    READER;
    const bool list = in_.peek() == '[';
    if (list) in_.pos += 1;
    for (int n = 0;; ++n) {
      in_.pos += co_await in_.space();
      if (!co_await in_.more()) co_return n > 0 ? Head::Call : in_.cut ? Head::Cut : Head::NotACall;
      if (list && in_.peek() == ']') {
        in_.pos += 1;
        co_return n > 0 ? Head::Call : Head::NotACall;
      }
      const Head head = co_await read_call(n > 0);
      if (head != Head::Call || !list) co_return head;
      in_.pos += co_await in_.space();
      if (!co_await in_.more()) co_return Head::Call;
      if (in_.peek() == ',')
        in_.pos += 1;
      else if (in_.peek() != ']')
        co_return co_await closes() ? Head::Call : Head::NotACall;
    }
  }

 private:
  Task<bool> closes() { co_return co_await in_.settle(kEndLfm2) == Match::Yes; }

  Task<Head> read_call(bool later) {
    READER;
    std::string name;
    size_t n = 0;
    while (co_await in_.more(n + 1) && n <= kMaxName &&
           (is_word(in_.peek(n)) || in_.peek(n) == '.' || in_.peek(n) == '-'))
      ++n;
    name = in_.rest().substr(0, n);
    const bool ends = in_.available() == n;
    if (ends && in_.cut) co_return later ? Head::Call : Head::Cut;
    if (ends || !is_name(name)) co_return Head::NotACall;
    in_.pos += n;
    in_.pos += co_await in_.space();
    if (!co_await in_.more()) co_return !in_.cut ? Head::NotACall : later ? Head::Call : Head::Cut;
    if (in_.peek() != '(') co_return Head::NotACall;
    in_.pos += 1;
    out_.begin(name, "");
    const JsonEnd end = co_await read_arguments(r_.tools.find(name));
    if (end == JsonEnd::Complete) co_return Head::Call;
    if (end == JsonEnd::Ended && in_.cut) {
      in_.pos = in_.text.size();
      co_return Head::Call;
    }
    co_return Head::NotACall;
  }

  // Behind '('.
  Task<JsonEnd> read_arguments(const Tool* tool) {
    READER;
    const TextOut write = [&](std::string_view text) { out_.arguments(text); };
    for (size_t n = 0;; ++n) {
      in_.pos += co_await in_.space();
      if (!co_await in_.more()) co_return JsonEnd::Ended;
      if (in_.peek() == ')') {
        in_.pos += 1;
        write(n ? "}" : "{}");
        co_return JsonEnd::Complete;
      }
      std::string key;
      const JsonEnd keyed = co_await read_key(tool, n, &key);
      if (keyed != JsonEnd::Complete) co_return keyed;
      write((n ? "," : "{") + json_quote(key) + ":");
      const JsonEnd value = co_await read_json(in_, {}, write, nullptr, Dialect::Python);
      if (value != JsonEnd::Complete) co_return value;
      in_.pos += co_await in_.space();
      if (!co_await in_.more()) co_return JsonEnd::Ended;
      if (in_.peek() == ',')
        in_.pos += 1;
      else if (in_.peek() != ')')
        co_return JsonEnd::Invalid;
    }
  }

  // key =; without it the value is positional, and the schema's order names it.
  Task<JsonEnd> read_key(const Tool* tool, size_t index, std::string* key) {
    READER;
    size_t n = 0;
    while (co_await in_.more(n + 1) && n <= kMaxName && (is_word(in_.peek(n)) || in_.peek(n) == '-')) ++n;
    size_t behind = co_await in_.space(n);
    if (in_.available() == behind) co_return JsonEnd::Ended;
    if (n > 0 && n <= kMaxName && in_.peek(behind) == '=') {
      *key = in_.rest().substr(0, n);
      in_.pos += co_await in_.space(behind + 1);
      co_return co_await in_.more() ? JsonEnd::Complete : JsonEnd::Ended;
    }
    if (!tool || index >= tool->parameters.size()) co_return JsonEnd::Invalid;
    *key = tool->parameters[index].name;
    co_return JsonEnd::Complete;
  }

  Reader& r_;
  Input& in_;
  CallWriter& out_;
};

bool all_declared(const Reader& r, StagedCalls& staged) {
  for (const ToolCall& call : staged.calls())
    if (!r.tools.find(call.name)) return false;
  return true;
}

// Behind the calls of a fenced block: up to the line of backquotes that ends it, or the end.
Task<> read_fence_end(Input& in) {
  READER;
  for (bool line_start = true; co_await in.more();) {
    if (line_start && in.peek() == '`') {
      const Match m = co_await in.settle(kFence);
      if (m != Match::No) {
        in.pos = std::min(in.pos + kFence.size(), in.text.size());
        co_return;
      }
    }
    const char c = in.peek();
    line_start = c == '\n' || (line_start && is_space(c));
    in.pos += 1;
  }
}

// Calls without markers count when all is there and declared; cut ones when what is there is declared.
Task<Head> accept(Reader& r, StagedCalls& staged, Head head) {
  READER;
  if (head != Head::Call || !all_declared(r, staged)) co_return Head::NotACall;
  const bool whole = json_text(staged.calls().back().arguments).valid;
  if (!whole && !(r.in.cut && r.in.at_end())) co_return Head::NotACall;
  staged.release(r.sink);
  co_return Head::Call;
}

Task<Head> read_staged_json(Reader& r) {
  READER;
  StagedCalls staged;
  const ObjectForm form{.closers = {}, .bare = true};
  Head head = Head::NotACall;
  if (r.in.peek() == '[')
    head = co_await read_call_list(r, staged, form);
  else
    head = co_await read_call_object(r, staged, form);
  co_return co_await accept(r, staged, head);
}

Task<Head> read_staged_python(Reader& r) {
  READER;
  StagedCalls staged;
  const Head head = co_await read_python_calls(r, staged);
  co_return co_await accept(r, staged, head);
}

}  // namespace

Task<Head> read_python_calls(Reader& r, CallWriter& out) {
  READER;
  PythonCalls calls(r, out);
  co_return co_await calls.run();
}

// Behind <|tool_call_start|>. The list is a call once it is complete; JSON in its place is read too.
Task<Head> read_lfm2(Reader& r) {
  READER;
  Input& in = r.in;
  static constexpr std::array<std::string_view, 1> kClosers = {kEndLfm2};
  in.pos += co_await in.space();
  if (!co_await in.more()) co_return in.cut ? Head::Cut : Head::NotACall;
  const size_t inner = co_await in.space(in.peek() == '[' ? 1 : 0);
  Head head = Head::NotACall;
  if (co_await in.more(inner + 1) && in.peek(inner) == '{') {
    head = co_await read_call_list(r, r.sink, {.closers = kClosers});
  } else {
    StagedCalls staged;
    head = co_await read_python_calls(r, staged);
    if (head == Head::Call) staged.release(r.sink);
  }
  if (head == Head::Call) co_await read_closer(in, kEndLfm2, kLfm2);
  co_return head;
}

Task<Head> read_tool_code(Reader& r) {
  READER;
  Input& in = r.in;
  size_t n_calls = 0;
  for (;;) {
    in.pos += co_await in.space();
    if (n_calls > 0 && (!co_await in.more() || !is_word(in.peek()))) break;
    if (!co_await in.more()) co_return in.cut ? Head::Cut : Head::NotACall;
    const Head head = co_await read_staged_python(r);
    if (head == Head::NotACall) break;
    ++n_calls;
  }
  if (n_calls == 0) co_return Head::NotACall;
  co_await read_fence_end(in);
  co_return Head::Call;
}

Task<Head> read_json_fence(Reader& r) {
  READER;
  Input& in = r.in;
  in.pos += co_await in.space();
  if (!co_await in.more() || (in.peek() != '{' && in.peek() != '[')) co_return Head::NotACall;
  const Head head = co_await read_staged_json(r);
  if (head == Head::Call) co_await read_fence_end(in);
  co_return head;
}

Task<Head> read_bare_object(Reader& r) {
  READER;
  if (r.in.peek() != '{') co_return Head::NotACall;
  co_return co_await read_staged_json(r);
}

Task<Head> read_bare_gemma(Reader& r) {
  READER;
  if (r.in.peek() == '{') co_return co_await read_staged_json(r);
  const size_t n = co_await r.in.space(1);
  if (!co_await r.in.more(n + 1)) co_return Head::NotACall;
  if (r.in.peek(n) == '{') co_return co_await read_staged_json(r);
  co_return co_await read_staged_python(r);
}

// Behind <|python_tag|>: JSON, name.call(…), or code for a tool that runs it.
Task<Head> read_python_tag(Reader& r) {
  READER;
  Input& in = r.in;
  static constexpr std::string_view kCall = ".call";
  in.pos += co_await in.space();
  if (!co_await in.more()) co_return in.cut ? Head::Cut : Head::NotACall;
  if (in.peek() == '{') co_return co_await read_call_object(r, r.sink, {});
  size_t n = 0;
  while (co_await in.more(n + 1) && n <= kMaxName && is_word(in.peek(n))) ++n;
  if (n > 0 && co_await in.settle(".call(", n) == Match::Yes) {
    StagedCalls staged;
    const size_t begin = in.pos;
    const Head head = co_await read_python_calls(r, staged);
    if (head == Head::Call && !staged.empty()) {
      std::string& name = staged.calls().back().name;
      if (name.ends_with(kCall)) name.resize(name.size() - kCall.size());
      staged.release(r.sink);
      co_return head;
    }
    r.rewind(begin);
  }
  const Tool* tool = nullptr;
  for (const char* name : {"python", "ipython", "code_interpreter"})
    if (!tool) tool = r.tools.find(name);
  if (!tool) co_return Head::NotACall;
  r.sink.begin(tool->name, "");
  r.sink.arguments("{\"code\":\"");
  while (co_await in.more()) {
    r.sink.arguments(json_escape(in.rest()));
    in.pos = in.text.size();
  }
  if (!in.cut) r.sink.arguments("\"}");
  co_return Head::Call;
}

}  // namespace tally::parse
