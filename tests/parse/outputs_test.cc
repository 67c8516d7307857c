// Every output of the shared data, whole and in pieces.
#include <gtest/gtest.h>

#include <sstream>

#include "base/rng.h"
#include "parse/check_output.h"
#include "support.h"

namespace tally::test {
namespace {

std::vector<Json> outputs() {
  const auto bytes = read_file(*shared_data() / "data/chat/outputs.jsonl");
  std::istringstream in(std::string(bytes.begin(), bytes.end()));
  std::vector<Json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(Json::parse(line));
  return rows;
}

parse::Parsed parse_pieces(const Json& c, uint64_t seed) {
  const std::string raw = c["raw"];
  parse::OutputParser parser(settings_of(c));
  std::string content, reasoning;
  std::vector<std::string> arguments;
  auto take = [&](const std::vector<parse::Delta>& deltas) {
    for (const parse::Delta& d : deltas) {
      if (d.kind == parse::Delta::Kind::Content) content += d.text;
      if (d.kind == parse::Delta::Kind::Reasoning) reasoning += d.text;
      if (d.kind == parse::Delta::Kind::Call) arguments.emplace_back();
      if (d.kind == parse::Delta::Kind::Call || d.kind == parse::Delta::Kind::Arguments)
        arguments.at(d.index) += d.text;
    }
  };
  for (size_t at = 0; at < raw.size();) {
    const size_t n = seed == 0 ? 1 : 1 + random_u64(seed, at) % 9;
    take(parser.feed(raw.substr(at, n)));
    at += n;
  }
  take(parser.finish(finish_of(c)));
  parse::Parsed result = parser.result();
  EXPECT_EQ(content, result.content);
  EXPECT_EQ(reasoning, result.reasoning);
  EXPECT_EQ(arguments.size(), result.calls.size());
  for (size_t i = 0; i < std::min(arguments.size(), result.calls.size()); ++i)
    EXPECT_EQ(arguments[i], result.calls[i].arguments);
  return result;
}

TEST(Outputs, GiveWhatIsExpected) {
  if (!shared_data()) GTEST_SKIP() << kNoSharedData;
  for (const Json& c : outputs()) {
    SCOPED_TRACE(c["id"].get<std::string>() + " " + c["family"].get<std::string>());
    check_parsed(parse_whole(c), c);
  }
}

TEST(Outputs, AnyCutGivesTheSame) {
  if (!shared_data()) GTEST_SKIP() << kNoSharedData;
  for (const Json& c : outputs()) {
    SCOPED_TRACE(c["id"].get<std::string>() + " " + c["family"].get<std::string>());
    const parse::Parsed whole = parse_whole(c);
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const parse::Parsed pieces = parse_pieces(c, seed);
      EXPECT_EQ(pieces.content, whole.content);
      EXPECT_EQ(pieces.reasoning, whole.reasoning);
      ASSERT_EQ(pieces.calls.size(), whole.calls.size());
      for (size_t i = 0; i < whole.calls.size(); ++i) {
        EXPECT_EQ(pieces.calls[i].name, whole.calls[i].name);
        EXPECT_EQ(pieces.calls[i].arguments, whole.calls[i].arguments);
      }
    }
  }
}

}  // namespace
}  // namespace tally::test
