// Saved runs to one page: the forms of files, limits, and text that tries to leave its place.
#include "lab/report.h"

#include <gtest/gtest.h>

#include "app/jsonl.h"
#include "base/error.h"
#include "support.h"

namespace tally::lab {
namespace {

constexpr const char* kHead =
    R"({"schema":1,"kind":"head","run":"r","command":"bench","started":"2026-01-01T00:00:00Z"})";

std::string sample(double value, const std::string& more = "") {
  return R"({"schema":1,"kind":"sample","run":"r","test":"pp512","variant":"a","unit":"tok/s","value":)" +
         std::to_string(value) + more + "}";
}

Json read(const std::string& text, ReportLimits limits = {}) {
  ReportData data(limits);
  data.add("f.jsonl", text);
  return data.document();
}

std::string message(const std::string& text, ReportLimits limits = {}) {
  try {
    read(text, limits);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadInput);
    return e.what();
  }
  return "";
}

TEST(Report, run_of_json_lines) {
  Json d = read(std::string(kHead) + "\n" + sample(1) + "\n\n" + sample(3) + "\r\n" +
                R"({"kind":"result","run":"r","name":"fit","title":"Fit","valid":false,"reason":"two lengths",)"
                R"("values":{"a":null},"table":{"columns":["n",2],"rows":[["1",5],["2"]]}})");
  ASSERT_EQ(d["runs"].size(), 1u);
  const Json& run = d["runs"][0];
  EXPECT_EQ(run["head"]["command"], "bench");
  EXPECT_EQ(run["file"], "f.jsonl");
  ASSERT_EQ(run["samples"].size(), 1u);
  EXPECT_EQ(run["samples"][0]["n"], 2);
  EXPECT_DOUBLE_EQ(run["samples"][0]["mean"], 2);
  EXPECT_DOUBLE_EQ(run["samples"][0]["sd"], std::sqrt(2.0));
  EXPECT_EQ(run["results"][0]["reason"], "two lengths");
  EXPECT_EQ(run["results"][0]["table"]["rows"][0][1], "5");  // cells are text
}

TEST(Report, one_document_and_published_results) {
  ReportData data;
  data.add("a.json", R"({
    "head": {"run": "x", "command": "ab"},
    "samples": [{"value": 1.5, "test": "t"}],
    "results": [{"name": "ab", "valid": true}]})");
  data.add("cpu.jsonl", R"({"date":"2026-11-30","model":"m","tests":{"pp512":{"tally":[1,2]}}})");
  Json d = data.document();
  EXPECT_EQ(d["runs"][0]["results"][0]["name"], "ab");
  EXPECT_TRUE(d["runs"][0]["samples"][0]["sd"].is_null());  // one value has none
  EXPECT_EQ(d["history"][0]["file"], "cpu.jsonl");
  EXPECT_EQ(d["files"].size(), 2u);
}

TEST(Report, runs_of_two_files_stay_apart) {
  ReportData data;
  data.add("a", kHead);
  data.add("b", kHead);
  EXPECT_EQ(data.document()["runs"].size(), 2u);
}

TEST(Report, says_which_line_is_wrong) {
  EXPECT_NE(message(std::string(kHead) + "\n{\"kind\": }").find("f.jsonl:2"), std::string::npos);
  EXPECT_NE(message(std::string(kHead) + "\n[1]").find("f.jsonl:2: a JSON array"), std::string::npos);
  EXPECT_NE(message(R"({"kind":"sample","value":1})").find("no \"run\""), std::string::npos);
  EXPECT_NE(message(R"({"kind":"other","run":"r"})").find("\"other\""), std::string::npos);
  EXPECT_NE(message(" \n").find("empty"), std::string::npos);
  EXPECT_NE(message(std::string(100000, '[') + std::string(100000, ']')).find("nested"), std::string::npos);
  EXPECT_NE(message(R"({"head": [], "results": []})").find("wrong type"), std::string::npos);
}

TEST(Report, long_inputs_are_aggregated_and_say_so) {
  ReportLimits limits;
  limits.values_per_group = 10;
  limits.rows_per_table = 3;
  limits.groups_per_run = 1;
  std::string text = std::string(kHead) + "\n";
  for (int i = 0; i < 95; ++i) text += sample(i) + "\n";
  text += R"({"kind":"sample","run":"r","test":"other","value":1})"
          "\n";
  text += R"({"kind":"sample","run":"r","test":"pp512","value":null})"
          "\n";
  text += R"({"kind":"result","run":"r","name":"x","table":{"columns":["a"],"rows":[["1"],["2"],["3"],["4"]]}})";
  const Json run = read(text, limits)["runs"][0];
  const Json& group = run["samples"][0];
  EXPECT_EQ(group["n"], 95);
  EXPECT_EQ(group["thinned"], 10);
  EXPECT_EQ(group["values"].size(), 10u);
  EXPECT_EQ(group["values"][9], Json::array({92.0, 90.0, 94.0}));
  EXPECT_DOUBLE_EQ(group["mean"], 47);
  EXPECT_EQ(run["results"][0]["rows_left_out"], 1);
  EXPECT_EQ(run["omitted"]["samples without a number"], 1);
  EXPECT_EQ(run["omitted"]["samples beyond the most groups of a run"], 1);
}

TEST(Report, limits_are_errors) {
  ReportLimits limits;
  limits.runs = 1;
  EXPECT_NE(message(std::string(kHead) + "\n" + R"({"kind":"head","run":"other"})", limits).find("more than 1 runs"),
            std::string::npos);
  limits = {};
  limits.bytes_of_page = 1000;
  EXPECT_THROW(report_page(read(kHead), "t", limits), Error);
  test::TemporaryFolder folder;
  std::ofstream(folder.file("long")) << std::string(2000, ' ');
  limits.bytes_per_file = 1999;
  EXPECT_THROW(ReportData(limits).add_file(folder.file("long")), Error);
  EXPECT_THROW(ReportData().add_file(folder.file("absent")), Error);
}

TEST(Report, text_of_runs_cannot_leave_its_place) {
  const std::string bad = "</script><script>alert(1)</script><!-- \u2028 {{style}} {{script}} &amp; é";
  Json d = read(app::dump_json({{"kind", "head"}, {"run", bad}, {"model", bad}}));
  const std::string page = report_page(d, bad);
  size_t n = 0;
  for (size_t at = 0; (at = page.find("</script", at)) != std::string::npos; ++at) ++n;
  EXPECT_EQ(n, 2u);  // the data's and the script's own
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("\u2028"),
            page.find("<title>") + page.substr(page.find("<title>")).find("\u2028"));  // title alone
  // What was put in reads back as it was.
  const std::string open = "id=\"data\">";
  const size_t begin = page.find(open) + open.size();
  const Json back = app::parse_json_ordered(page.substr(begin, page.find("</script", begin) - begin));
  EXPECT_EQ(back["runs"][0]["head"]["model"], bad);
}

TEST(Report, page_needs_nothing_from_outside) {
  const std::string page = report_page(read(kHead), "t");
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  for (const char* outside : {"src=", "@import", "url(h", "<link", "fetch(", "XMLHttpRequest", "innerHTML", "eval("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  for (const char* mark : {"{{policy}}", "{{title}}", "{{style}}", "{{data}}", "{{script}}"})
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
}

}  // namespace
}  // namespace tally::lab
