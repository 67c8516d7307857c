#include "text/parse/output.h"

#include "text/parse/input.h"

namespace tally::parse {

void StagedCalls::begin(std::string_view name, std::string_view id) {
  calls_.push_back({std::string(id), std::string(name), ""});
}

void StagedCalls::release(CallWriter& to) {
  for (const ToolCall& call : calls_) {
    to.begin(call.name, call.id);
    to.arguments(call.arguments);
  }
  calls_.clear();
}

void Sink::emit(Channel& channel, Delta::Kind kind, std::string_view text) {
  if (text.empty()) return;
  channel.text += text;
  if (deltas_.empty() || deltas_.back().kind != kind)
    deltas_.push_back({.kind = kind, .text = "", .id = "", .name = ""});
  deltas_.back().text += text;
}

void Sink::add(Channel& channel, Delta::Kind kind, std::string_view text) {
  while (!text.empty()) {
    const size_t solid = text.find_first_not_of(" \t\r\n");
    const std::string_view spaces = text.substr(0, solid);
    if (!channel.after_marker) channel.pending += spaces;
    if (solid == text.npos) return;
    size_t end = text.find_first_of(" \t\r\n", solid);
    if (end == text.npos) end = text.size();
    if (channel.join && !channel.text.empty()) emit(channel, kind, "\n");
    channel.join = channel.after_marker = false;
    emit(channel, kind, channel.pending);
    channel.pending.clear();
    emit(channel, kind, text.substr(solid, end - solid));
    text.remove_prefix(end);
  }
}

void Sink::begin(std::string_view name, std::string_view id) {
  content_marker();
  calls_.push_back({id.empty() ? new_id() : std::string(id), std::string(name), ""});
  deltas_.push_back({.kind = Delta::Kind::Call,
                     .text = "",
                     .index = int(calls_.size()) - 1,
                     .id = calls_.back().id,
                     .name = calls_.back().name});
}

void Sink::arguments(std::string_view json) {
  if (json.empty()) return;
  calls_.back().arguments += json;
  const int index = int(calls_.size()) - 1;
  const bool same = !deltas_.empty() && deltas_.back().index == index &&
                    (deltas_.back().kind == Delta::Kind::Call || deltas_.back().kind == Delta::Kind::Arguments);
  if (!same) deltas_.push_back({.kind = Delta::Kind::Arguments, .text = "", .index = index, .id = "", .name = ""});
  deltas_.back().text += json;
}

void Sink::set_id(std::string_view id) {
  for (Delta& delta : deltas_)
    if (delta.kind == Delta::Kind::Call && delta.index == int(calls_.size()) - 1)
      delta.id = calls_.back().id = std::string(id);
}

void Sink::end() {
  emit(reasoning_, Delta::Kind::Reasoning, reasoning_.pending);
  emit(content_, Delta::Kind::Content, content_.pending);
  reasoning_.pending.clear(), content_.pending.clear();
}

std::vector<Delta> Sink::take() { return std::exchange(deltas_, {}); }

Parsed Sink::result(Finish finish) const {
  const char* reason = finish == Finish::Length ? "length" : calls_.empty() ? "stop" : "tool_calls";
  return {reasoning_.text, content_.text, calls_, reason};
}

std::string Sink::new_id() {
  static constexpr char kLetters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id = short_ids_ ? "" : "call_";
  for (int n = short_ids_ ? 9 : 24; n > 0; --n) {
    seed_ += 0x9E3779B97F4A7C15ULL;  // splitmix64
    uint64_t z = seed_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    id += kLetters[(z ^ z >> 31) % 62];
  }
  return id;
}

}  // namespace tally::parse
