// What a parser gives: deltas while the text comes in, and the whole at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally::parse {

enum class Finish : uint8_t {
  Stop,    // the model ended, or a stop text was met
  Length,  // the token limit ended it
};

struct ToolCall {
  std::string id, name;
  std::string arguments;  // JSON text; not complete where the limit cut it, the model's own text where beyond repair
};

// One event of a chat stream. Texts are whole characters.
struct Delta {
  enum class Kind : uint8_t { Reasoning, Content, Call, Arguments };
  Kind kind = Kind::Content;
  std::string text;      // Reasoning, Content: more of it; Call, Arguments: more of the call's argument text
  int index = 0;         // Call, Arguments: which call, from 0
  std::string id, name;  // Call: its first delta
};

struct Parsed {
  std::string reasoning, content;
  std::vector<ToolCall> calls;
  const char* finish_reason = "stop";  // "length" when cut, else "tool_calls" when there is a call, else "stop"
};

// Where readers put the calls they find.
class CallWriter {
 public:
  virtual ~CallWriter() = default;
  // An empty id is made up. The call before is complete.
  virtual void begin(std::string_view name, std::string_view id) = 0;
  virtual void arguments(std::string_view json) = 0;
  // An id that stands behind the arguments; counts if nobody has been told another one yet.
  virtual void set_id(std::string_view id) = 0;
};

// Calls that may yet turn out to be none.
class StagedCalls : public CallWriter {
 public:
  void begin(std::string_view name, std::string_view id) override;
  void arguments(std::string_view json) override { calls_.back().arguments += json; }
  void set_id(std::string_view id) override { calls_.back().id = id; }
  std::vector<ToolCall>& calls() { return calls_; }
  bool empty() const { return calls_.empty(); }
  void release(CallWriter& to);

 private:
  std::vector<ToolCall> calls_;
};

// Collects text and calls, applies the rules for white space at markers and for joining, and hands deltas out.
class Sink : public CallWriter {
 public:
  // id_seed: ids of calls are made from it (24 letters and digits behind "call_", or nine for models that want that).
  Sink(uint64_t id_seed, bool short_ids) : seed_(id_seed), short_ids_(short_ids) {}

  void reasoning(std::string_view text) { add(reasoning_, Delta::Kind::Reasoning, text); }
  void content(std::string_view text) { add(content_, Delta::Kind::Content, text); }
  // A marker stands here: white space that touches it is dropped, later text begins a part of its own.
  void reasoning_marker() { reasoning_.at_marker(); }
  void content_marker() { content_.at_marker(); }
  bool has_content() const { return !content_.text.empty(); }

  void begin(std::string_view name, std::string_view id) override;
  void arguments(std::string_view json) override;
  void set_id(std::string_view id) override;

  // Nothing follows: white space that touches no marker is text after all.
  void end();
  std::vector<Delta> take();  // the deltas since the last call
  Parsed result(Finish finish) const;

 private:
  struct Channel {
    std::string text, pending;  // pending: white space whose nature the next text or marker decides
    bool after_marker = false;  // nothing but white space since the last marker
    bool join = false;          // a new part begins: one newline comes before it
    void at_marker() { pending.clear(), after_marker = join = true; }
  };
  void add(Channel& channel, Delta::Kind kind, std::string_view text);
  void emit(Channel& channel, Delta::Kind kind, std::string_view text);
  std::string new_id();

  Channel reasoning_, content_;
  std::vector<ToolCall> calls_;
  std::vector<Delta> deltas_;
  uint64_t seed_;
  bool short_ids_;
};

}  // namespace tally::parse
