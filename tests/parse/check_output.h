// Outputs and what must come of them, as in the shared data: reading, running and comparing them. The comparisons are
// those of data/chat/check.py.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "text/parse/parser.h"

namespace tally::test {

using Json = nlohmann::ordered_json;

inline parse::ParserSettings settings_of(const Json& c) {
  return {.family = c.at("family").get<std::string>(),
          .tools = parse::ToolSet(c.value("tools", Json())),
          .prompt_opens = c.value("prompt_opens", ""),
          .id_seed = 7};
}

inline parse::Finish finish_of(const Json& c) {
  return c.value("finish", "stop") == "length" ? parse::Finish::Length : parse::Finish::Stop;
}

inline parse::Parsed parse_whole(const Json& c) {
  parse::OutputParser parser(settings_of(c));
  parser.feed(c.at("raw").get<std::string>());
  parser.finish(finish_of(c));
  return parser.result();
}

// JSON text without white space outside strings and without escapes that need not be; also of a cut text.
inline std::string compact(const std::string& text) {
  std::string out;
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!inside && std::string(" \t\r\n").find(c) != std::string::npos) continue;
    if (c == '"') inside = !inside;
    if (inside && c == '\\' && i + 1 < text.size()) {
      const bool unicode = text[i + 1] == 'u' && i + 5 < text.size();
      const std::string escape = text.substr(i, unicode ? 6 : 2);
      if (escape == "\\/") {
        out += '/';
      } else if (unicode) {
        const Json value = Json::parse('"' + escape + '"', nullptr, false);
        out += value.is_string() && uint8_t(value.get<std::string>()[0]) >= 32 ? value.get<std::string>() : escape;
      } else {
        out += escape;
      }
      i += escape.size() - 1;
      continue;
    }
    out += c;
  }
  return out;
}

inline void check_call(const parse::ToolCall& got, const Json& want) {
  EXPECT_EQ(got.name, want.at("name").get<std::string>());
  if (want.contains("id")) {
    EXPECT_EQ(got.id, want["id"].get<std::string>());
  }
  EXPECT_FALSE(got.id.empty());
  if (want.value("partial", false)) {
    const std::string a = compact(got.arguments), low = compact(want["arguments_min"].get<std::string>()),
                      high = compact(want["arguments_max"].get<std::string>());
    EXPECT_TRUE(a.starts_with(low) && high.starts_with(a)) << a << " between " << low << " and " << high;
  } else if (want.value("invalid", false)) {
    EXPECT_TRUE(compact(got.arguments).starts_with(want["arguments_min"].get<std::string>())) << got.arguments;
  } else {
    // Digits beyond a double's are compared as text elsewhere.
    EXPECT_EQ(Json::parse(got.arguments, nullptr, false).dump(), want.at("arguments").dump()) << got.arguments;
  }
}

inline void check_parsed(const parse::Parsed& got, const Json& c) {
  const Json& want = c.at("expect");
  EXPECT_EQ(got.reasoning, want.value("reasoning", ""));
  EXPECT_EQ(got.content, want.value("content", ""));
  EXPECT_EQ(got.finish_reason, c.value("finish", got.finish_reason));
  const Json calls = want.value("tool_calls", Json::array());
  const bool last_optional = !calls.empty() && calls.back().value("optional", false);
  ASSERT_TRUE(got.calls.size() == calls.size() || (last_optional && got.calls.size() + 1 == calls.size()))
      << got.calls.size() << " calls";
  for (size_t i = 0; i < got.calls.size(); ++i) check_call(got.calls[i], calls[i]);
}

}  // namespace tally::test
