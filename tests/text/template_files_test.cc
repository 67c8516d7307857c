// Every snippet and every real template of the data folders prints what Python's Jinja prints.
#include <gtest/gtest.h>

#include <map>

#include "support.h"
#include "text/template.h"

namespace tally::text {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  const auto bytes = test::read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::vector<Json> read_lines(const fs::path& path) {
  std::vector<Json> rows;
  const std::string text = read(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) rows.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return rows;
}

// Renders and compares with the row's output or error; empty when it is as expected.
std::string judge(const std::string& source, const Json& variables, const Json& row, const std::string& now) {
  RenderOptions options;
  options.now = now;
  std::string text;
  try {
    text = Template::parse(source).render(variables, options);
  } catch (const TemplateError& e) {
    if (!row.contains("error")) return std::string("fails: ") + e.what();
    if (row["error_type"] == "TemplateError" && e.what() != row["error"].get<std::string>())
      return std::string("raised ") + e.what();
    if (row.contains("output_extended")) return std::string("fails: ") + e.what();
    return "";
  }
  if (row.contains("output_extended") && text == row["output_extended"].get<std::string>()) return "";
  if (row.contains("error")) return "gives " + text + "\n  expected the error " + row["error"].get<std::string>();
  if (text == row["output"].get<std::string>()) return "";
  return "gives " + text + "\n  expected " + row["output"].get<std::string>();
}

void check_snippets(const fs::path& path) {
  const auto rows = read_lines(path);
  ASSERT_GT(rows.size(), 100u) << path;
  Json shared = Json::object();
  for (const auto& row : rows) {
    if (!row.contains("template")) {
      shared = row["vars"];
      continue;
    }
    const std::string source = row["template"].get<std::string>();
    const std::string problem = judge(source, row.contains("vars") ? row["vars"] : shared, row, "2026-03-05T14:07:09");
    EXPECT_TRUE(problem.empty()) << source << "\n  " << problem;
  }
}

void check_templates(const fs::path& folder) {
  const Json conversations = Json::parse(read(folder / "conversations.json"));
  std::map<std::string, Json> by_name;
  if (conversations["conversations"].is_object())
    for (const auto& [name, talk] : conversations["conversations"].items()) by_name[name] = talk;
  else
    for (const auto& talk : conversations["conversations"])
      by_name[talk.contains("id") ? talk["id"].get<std::string>() : talk["name"].get<std::string>()] = talk;
  int n_rows = 0;
  for (const auto& entry : fs::directory_iterator(folder / "expected")) {
    const std::string name = entry.path().stem().string(), source = read(folder / "templates" / (name + ".jinja"));
    for (const auto& row : read_lines(entry.path())) {
      const Json& talk = by_name.at(row["conversation"].get<std::string>());
      Json variables{{"messages", talk["messages"]},
                     {"tools", talk.contains("tools") ? talk["tools"] : Json()},
                     {"documents", nullptr},
                     {"add_generation_prompt", row["add_generation_prompt"]}};
      if (conversations["template_tokens"].contains(name)) variables.update(conversations["template_tokens"][name]);
      if (row.contains("extra")) variables.update(row["extra"]);
      const std::string problem = judge(source, variables, row, conversations["now"].get<std::string>());
      EXPECT_TRUE(problem.empty()) << name << ", " << row["conversation"] << ": " << problem;
      ++n_rows;
    }
  }
  EXPECT_GT(n_rows, 100) << folder;
}

const fs::path kData = fs::path(TALLY_SOURCE_DIR) / "tests/data/templates";

TEST(TemplateFiles, LanguageSnippets) { check_snippets(kData / "language.jsonl"); }
TEST(TemplateFiles, MoreSnippets) { check_snippets(kData / "more.jsonl"); }
TEST(TemplateFiles, RealTemplates) { check_templates(kData); }

TEST(TemplateFiles, SharedTemplates) {
  const auto shared = test::shared_data();
  if (!shared) GTEST_SKIP() << test::kNoSharedData;
  check_snippets(*shared / "data/templates/jinja-unit.jsonl");
  check_templates(*shared / "data/templates");
}

}  // namespace
}  // namespace tally::text
