// Hostile model output: no crash, no error, and any cut of the text gives the same result, with deltas that join to it.
// Input: family, flags (1: cut by the limit, 2: without tools, 4 and 8: the prompt opened or closed a block of
// reasoning), seed of the cuts; then the text.
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/rng.h"
#include "text/parse/parser.h"
#include "text/parse/reader.h"
#include "text/utf8.h"

namespace {

using namespace tally;
using parse::Delta;

const parse::ToolSet& tools() {
  static const parse::ToolSet set(nlohmann::ordered_json::parse(R"([
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
      "s": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}, "u": {"type": ["string", "null"]}}}}},
    {"type": "function", "function": {"name": "python", "parameters": {"type": "object"}}}])"));
  return set;
}

struct Case {
  const parse::Family* family;
  uint8_t flags;
  parse::ParserSettings settings() const {
    parse::ParserSettings s{.family = std::string(family->name), .tools = {}, .prompt_opens = ""};
    if (!(flags & 2)) s.tools = tools();
    if (flags & 12) s.prompt_opens = std::string(family->think_open) + "\n";
    if (flags & 8) s.prompt_opens += "\n" + std::string(family->think_close) + "\n\n";
    if (family->whole && !(flags & 4)) s.prompt_opens = "<|start|>assistant";
    return s;
  }
};

// What the deltas add up to; checks their form.
struct Joined {
  std::string reasoning, content;
  std::vector<parse::ToolCall> calls;
  void add(const std::vector<Delta>& deltas) {
    for (const Delta& d : deltas) {
      CHECK(text::is_valid_utf8(d.text));
      if (d.kind == Delta::Kind::Reasoning) reasoning += d.text;
      if (d.kind == Delta::Kind::Content) content += d.text;
      if (d.kind == Delta::Kind::Call) {
        CHECK(d.index == int(calls.size()) && !d.id.empty() && !d.name.empty());
        calls.push_back({d.id, d.name, ""});
      }
      if (d.kind == Delta::Kind::Call || d.kind == Delta::Kind::Arguments) {
        CHECK(d.index == int(calls.size()) - 1);
        calls.back().arguments += d.text;
      }
    }
  }
};

parse::Parsed run(const Case& c, std::string_view text, uint64_t* cuts) {
  parse::OutputParser parser(c.settings());
  Joined joined;
  while (!text.empty()) {
    const size_t n = cuts ? std::min<size_t>(1 + mix64((*cuts)++) % 7, text.size()) : text.size();
    joined.add(parser.feed(text.substr(0, n)));
    text.remove_prefix(n);
  }
  joined.add(parser.finish(c.flags & 1 ? parse::Finish::Length : parse::Finish::Stop));
  parse::Parsed result = parser.result();
  CHECK(joined.reasoning == result.reasoning && joined.content == result.content);
  CHECK(joined.calls.size() == result.calls.size());
  for (size_t i = 0; i < result.calls.size(); ++i) {
    CHECK(joined.calls[i].id == result.calls[i].id && joined.calls[i].name == result.calls[i].name);
    CHECK(joined.calls[i].arguments == result.calls[i].arguments);
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const auto families = parse::families();
  const Case c{&families[data[0] % families.size()], data[1]};
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  uint64_t cuts = uint64_t(data[2]) << 32;
  const parse::Parsed whole = run(c, text, nullptr), pieces = run(c, text, &cuts);
  CHECK(whole.reasoning == pieces.reasoning, "{}: \"{}\" and \"{}\"", c.family->name, whole.reasoning,
        pieces.reasoning);
  CHECK(whole.content == pieces.content, "{}: \"{}\" and \"{}\"", c.family->name, whole.content, pieces.content);
  CHECK(whole.calls.size() == pieces.calls.size(), "{}", c.family->name);
  for (size_t i = 0; i < whole.calls.size(); ++i) {
    CHECK(whole.calls[i].name == pieces.calls[i].name);
    CHECK(whole.calls[i].arguments == pieces.calls[i].arguments, "{}: {} and {}", c.family->name,
          whole.calls[i].arguments, pieces.calls[i].arguments);
  }
  CHECK(!(c.flags & 2) || whole.calls.empty());
  return 0;
}
