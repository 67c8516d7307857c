#include "app/parse_json.h"

namespace tally::app {
namespace {

using nlohmann::ordered_json;

ordered_json delta_json(const parse::Delta& delta) {
  using Kind = parse::Delta::Kind;
  switch (delta.kind) {
    case Kind::Reasoning:
      return {{"reasoning_content", delta.text}};
    case Kind::Content:
      return {{"content", delta.text}};
    case Kind::Call:
      return {{"tool_calls", ordered_json::array({{{"index", delta.index},
                                                   {"id", delta.id},
                                                   {"type", "function"},
                                                   {"function", {{"name", delta.name}, {"arguments", delta.text}}}}})}};
    case Kind::Arguments:
      break;
  }
  return {{"tool_calls", ordered_json::array({{{"index", delta.index}, {"function", {{"arguments", delta.text}}}}})}};
}

}  // namespace

ordered_json parsed_json(const parse::Parsed& parsed) {
  ordered_json calls = ordered_json::array();
  for (const parse::ToolCall& call : parsed.calls)
    calls.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  return {{"reasoning", parsed.reasoning},
          {"content", parsed.content},
          {"tool_calls", std::move(calls)},
          {"finish", parsed.finish_reason}};
}

ordered_json deltas_json(const std::vector<parse::Delta>& deltas) {
  ordered_json out = ordered_json::array();
  for (const parse::Delta& delta : deltas) out.push_back(delta_json(delta));
  return out;
}

}  // namespace tally::app
