// The report: saved runs gathered into one document, and that document inside one HTML page that opens offline.
//
// Two forms of files are read: what lab commands write with --json (JSON Lines, or the one document of standard output;
// output.h), and published results ("date", "model", "tests": results/README.md), which become the history.
// Files are hostile: sizes, counts and nesting are limited, and nothing of them reaches the page except as escaped
// JSON.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tally::lab {

using Json = nlohmann::ordered_json;

struct ReportLimits {
  uint64_t bytes_per_file = 256u << 20;
  uint64_t bytes_of_page = 32u << 20;
  size_t runs = 1000;
  size_t blocks_per_run = 500;
  size_t groups_per_run = 2000;   // of samples: one test of one variant in one unit
  size_t values_per_group = 400;  // beyond: that many stretches, each its mean, smallest and largest
  size_t rows_per_table = 1000;
  size_t bytes_of_values = 1u << 20;  // of one block
  size_t history = 5000;
};

// Gathers files. Order of the runs: as given, files first to last.
class ReportData {
 public:
  explicit ReportData(ReportLimits limits = {}) : limits_(limits) {}

  // Adds one file's text; `name` is shown. Error (BadInput) with file and line when it is none of the known forms or
  // beyond a limit.
  void add(const std::string& name, std::string_view text);
  void add_file(const std::string& path);  // reads it (a pipe too), then add()

  // {"runs": [{"id", "file", "head", "results": […], "samples": [{"test", "variant", "unit", "phase", "n", "mean",
  // "sd",
  //  "min", "max", "values": […], "rounds": […]}], "omitted": […]}], "history": […], "files": […]}
  // sd is null below two values; "values" holds [mean, min, max] triples ("thinned": values a triple) when too many.
  Json document() const;

 private:
  struct Group {
    Json key;
    std::vector<double> values;
    std::vector<double> rounds;  // as far as the samples say; else their order
  };
  struct Run {
    std::string id, file;
    Json head = Json::object(), results = Json::array();
    std::vector<Group> groups;
    std::map<std::string, size_t> group_at;
    std::map<std::string, uint64_t> omitted;  // what was left out, and how many
  };

  void add_object(const std::string& where, const std::string& file, Json object);
  void add_document(const std::string& where, const std::string& file, Json& document);
  void add_history(const std::string& where, const std::string& file, Json& line);
  Run& run_of(const std::string& where, const std::string& file, const Json& object);
  void add_result(Run& run, Json& result) const;
  void add_sample(Run& run, const Json& sample) const;
  Json json_of(const Group& group) const;

  ReportLimits limits_;
  std::vector<Run> runs_;
  std::map<std::string, size_t> run_at_;  // file and id
  Json history_ = Json::array();
  std::vector<std::string> files_;
};

// The page: markup, style and script of src/lab/page with the document inside. A content security policy with hashes
// forbids every request and every script but ours. Error (BadInput) beyond limits.bytes_of_page.
std::string report_page(const Json& document, const std::string& title, const ReportLimits& limits = {});

// JSON text that is safe inside <script>: ASCII, and no '<', '>' or '&'.
std::string script_safe_json(const Json& value);

}  // namespace tally::lab
