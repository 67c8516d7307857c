// What the readers of one output share.
#pragma once

#include <span>
#include <string_view>

#include "text/parse/input.h"
#include "text/parse/output.h"
#include "text/parse/tools.h"

namespace tally::parse {

// What became of a marker that may begin a call.
enum class Head : uint8_t {
  NotACall,  // the marker is text; nothing was written
  Call,      // read, as far as it goes
  Cut,       // the token limit cut it before it was a call: what is there is dropped
};

// Whether the text stands in a code fence: between lines that begin with three backquotes, at most three spaces before.
class FenceTracker {
 public:
  void feed(std::string_view text) {
    for (char c : text) feed(c);
  }
  void new_part() { at_start_ = true, spaces_ = ticks_ = 0; }  // what follows begins a line
  bool open() const { return open_; }
  bool at_line_start() const { return at_start_ && ticks_ == 0; }

 private:
  void feed(char c) {
    if (c == '\n') {
      new_part();
    } else if (at_start_) {
      if (c == '`') {
        if (++ticks_ == 3) open_ = !open_, at_start_ = false;
      } else if (c != ' ' || ticks_ > 0 || ++spaces_ > 3) {
        at_start_ = false;
      }
    }
  }
  bool open_ = false, at_start_ = true;
  int spaces_ = 0, ticks_ = 0;
};

struct Family;

struct Reader {
  Input& in;
  Sink& sink;
  const ToolSet& tools;
  const Family& family;
  FenceTracker fence;
  // Text that was read once as a call and turned out to be none is read again. So that this stays linear for hostile
  // text, so many bytes may be re-read; afterwards markers are text.
  static constexpr size_t kMaxReread = size_t(4) << 20;
  size_t reread = 0;

  bool calls_allowed() const { return !tools.empty() && reread <= kMaxReread; }
  void rewind(size_t to) {
    reread += in.pos - to;
    in.pos = to;
  }
};

inline constexpr size_t kMaxName = 256;        // bytes of a name of a tool or parameter
inline constexpr size_t kMaxHead = 64 * 1024;  // bytes of a string before a call is one

bool is_name(std::string_view text);  // letters, digits, _ . - : / and what is not ASCII; not empty, not too long

// Behind a complete call: its closing marker, with stray brackets and junk before it. Where another of `openers` or
// the end comes first, there is no closing marker: junk is text then.
Task<> read_closer(Input& in, std::string_view closer, std::span<const std::string_view> openers);

// A marker and what reads a call behind it (in.pos stands behind the marker).
struct CallMarker {
  std::string_view text;
  Task<Head> (*read)(Reader& r);
  enum Where : uint8_t {
    Anywhere,
    AtStart,      // only where nothing but white space comes before
    AtLineStart,  // of a line
  } where = Anywhere;
};

// Markers around text that are no part of it.
struct Wrapper {
  std::string_view open, close;
};

struct Family {
  std::string_view name;
  std::string_view think_open, think_close;  // empty: no reasoning
  std::span<const CallMarker> calls;
  std::span<const Wrapper> wrappers;
  // Calls without markers, at the start of the answer only: reads one at in.pos ('{' or '['). Null: none.
  Task<Head> (*bare)(Reader& r) = nullptr;
  bool own_ids = false;                  // the format carries ids that are kept
  bool implicit_close = false;           // calls at the end of an unclosed block of reasoning are calls
  Task<> (*whole)(Reader& r) = nullptr;  // reads everything in its own way
};

// Null where there is no family of that name.
const Family* find_family(std::string_view name);
std::span<const Family> families();

// The block of reasoning that the output may begin with. `prompt`: what the prompt ended with.
Task<> read_reasoning(Reader& r, std::string_view prompt);
// Everything behind it.
Task<> read_content(Reader& r);

// Formats. Those that are given a CallWriter write to it; the others to the reader's sink.
struct ObjectForm {
  std::span<const std::string_view> closers;  // markers that can stand behind the call
  bool bare = false;                          // without markers: the name must be declared, other keys make it no call
  bool own_ids = false;
};
Task<Head> read_call_object(Reader& r, CallWriter& out, const ObjectForm& form);
Task<Head> read_call_list(Reader& r, CallWriter& out, const ObjectForm& form);
Task<Head> read_xml_call(Reader& r, CallWriter& out, std::string_view abort, bool* complete);
Task<Head> read_python_calls(Reader& r, CallWriter& out);
Task<> read_arguments(Reader& r, CallWriter& out, std::span<const std::string_view> closers);

Task<Head> read_hermes(Reader& r);
Task<Head> read_tagged_xml(Reader& r);
Task<Head> read_function_xml(Reader& r);
Task<Head> read_mistral(Reader& r);
Task<Head> read_lfm2(Reader& r);
Task<Head> read_deepseek(Reader& r);
Task<Head> read_deepseek_call(Reader& r);
Task<Head> read_glm(Reader& r);
Task<Head> read_gemma4(Reader& r);
Task<Head> read_phi(Reader& r);
Task<Head> read_functools(Reader& r);
Task<Head> read_action(Reader& r);
Task<Head> read_granite3(Reader& r);
Task<Head> read_python_tag(Reader& r);
Task<Head> read_tool_code(Reader& r);
Task<Head> read_json_fence(Reader& r);
Task<Head> read_bare_object(Reader& r);
Task<Head> read_bare_generic(Reader& r);
Task<Head> read_bare_gemma(Reader& r);
Task<> read_channels(Reader& r);

}  // namespace tally::parse
