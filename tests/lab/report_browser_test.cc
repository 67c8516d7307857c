// The page in a real browser: nothing on its console, every block drawn, hostile text harmless. Skipped without
// Chromium.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <regex>

#include "app/jsonl.h"
#include "lab/report.h"
#include "support.h"

namespace tally::lab {
namespace {

std::string chromium() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (std::filesystem::exists(path)) return path;
  return "";
}

constexpr const char* kNoBrowser = "no Chromium in /usr/bin; the page is not opened";

struct Seen {
  std::string dom, console;
};

// Opens the page as a file, lets its script run, and returns the document as it then stands.
Seen open_page(const std::string& page, int width) {
  test::TemporaryFolder folder;
  std::ofstream(folder.file("page.html"), std::ios::binary) << page;
  const std::string command =
      "timeout 30 " + chromium() +
      " --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
      " --disable-component-update --disable-sync --enable-logging=stderr --log-level=0 --virtual-time-budget=2000"
      " --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir=" +
      folder.file("profile") + " --window-size=" + std::to_string(width) + ",1000 --dump-dom file://" +
      folder.file("page.html") + " 2>" + folder.file("log");
  Seen seen;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return seen;
  std::array<char, 4096> piece;
  while (size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) seen.dom.append(piece.data(), n);
  pclose(pipe);
  std::ifstream log(folder.file("log"));
  for (std::string line; std::getline(log, line);)
    if (line.find("CONSOLE") != std::string::npos) seen.console += line + "\n";
  return seen;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

// What stands before the data and the script; without the policy, whose hashes could hold any letters.
std::string body(const Seen& seen) {
  const size_t begin = std::min(seen.dom.find("<title>"), seen.dom.size());
  return seen.dom.substr(begin, seen.dom.find("id=\"data\"") - begin);
}

TEST(ReportBrowser, draws_the_example) {
  if (chromium().empty()) GTEST_SKIP() << kNoBrowser;
  ReportData data;
  data.add_file(std::string(TALLY_SOURCE_DIR) + "/tests/data/lab/report_example.jsonl");
  data.add_file(std::string(TALLY_SOURCE_DIR) + "/results/cpu.jsonl");
  for (int width : {1280, 380}) {
    const Seen seen = open_page(report_page(data.document(), "Example"), width);
    EXPECT_EQ(seen.console, "");
    const std::string page = body(seen);
    EXPECT_EQ(count(page, "<article class=\"block\" id=\"result-"), 24u);
    EXPECT_EQ(count(page, "could not be drawn"), 0u);
    for (const char* title :
         {">Roofline</title>", ">Where the time goes</title>", "with residuals</title>", ">Board pp512</title>",
          ">Bandwidth by working set</title>", ">What things cost on this machine</title>",
          ">Time of a forward over w positions</title>", "leaving a component out saves</title>",
          ">Speed of all sequences together</title>", ">What drafting brings, by kind of text</title>",
          ">Dispatches against length</title>", ">Time against injected dispatches</title>",
          ">Change of prefill, step by step</title>", ">Tokenizer speed by kind of text</title>",
          ">Difference by category</title>", ">Speed over time</title>", ">The task, turn by turn</title>"})
      EXPECT_EQ(count(page, title), 1u) << title;
    EXPECT_EQ(count(page, "the null run beside it</title>"), 2u);
    EXPECT_EQ(count(page, "The machine during each run"), 1u);
    EXPECT_NE(page.find("unattributed"), std::string::npos);
    EXPECT_NE(page.find("not valid: "), std::string::npos);
    EXPECT_EQ(count(page, "NaN"), 0u);
    EXPECT_EQ(count(page, "undefined"), 0u);
    std::smatch m;
    for (std::string rest = page; std::regex_search(rest, m, std::regex("href=\"#([^\"]+)\"")); rest = m.suffix())
      EXPECT_NE(page.find("id=\"" + m[1].str() + "\""), std::string::npos) << m[1];
  }
}

TEST(ReportBrowser, hostile_text_is_text) {
  if (chromium().empty()) GTEST_SKIP() << kNoBrowser;
  const std::string bad =
      "</script><img src=http://localhost/x onerror=alert(1)><script>document.title='taken'</script>";
  std::string run =
      app::dump_json({{"kind", "head"}, {"run", bad}, {"command", bad}, {"model", {{"name", bad}}}}) + "\n";
  // Every block by name with values of the wrong kinds: a table is shown, never an error.
  for (const char* name : {"machine", "explain", "roofline", "fit",       "slope",     "dispatch_cost", "ab",
                           "null",    "bisect",  "board",    "bench",     "sustain",   "batch",         "speculate",
                           "table",   "limits",  "ablate",   "reconcile", "tokenizer", "agent",         "menu"})
    for (const Json& values :
         {Json(nullptr), Json("text"), Json::array({1}), Json{{"points", Json::array({nullptr, 1, {{"n", "x"}}})}},
          Json{{"segments", {{{"name", bad}, {"ms", 1}, {"bytes", 1e300}, {"flop", 1e-300}}}}, {"read_gb_s", 1}},
          Json{{"entries", {{{"name", nullptr}, {"mean", -1}}}}, {"ratio", 0}, {"ratio_ci", {1}}}})
      run += app::dump_json({{"kind", "result"},
                             {"run", bad},
                             {"name", name},
                             {"title", bad},
                             {"valid", true},
                             {"values", values},
                             {"verdict", bad},
                             {"notes", {bad}},
                             {"table", {{"columns", {bad}}, {"rows", {{bad}}}}}}) +
             "\n";
  ReportData data;
  data.add("bad.jsonl", run);
  const Seen seen = open_page(report_page(data.document(), "Title"), 900);
  EXPECT_EQ(seen.console, "");
  const std::string page = body(seen);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_NE(page.find("<title>Title</title>"), std::string::npos);
  EXPECT_EQ(count(page, "<article class=\"block\""), 126u);
  EXPECT_EQ(count(page, "could not be drawn"), 0u);
}

}  // namespace
}  // namespace tally::lab
