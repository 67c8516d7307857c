// What every lab command writes: raw samples and results as JSON Lines, and a Markdown table for people.
//
// The file (--json FILE) holds one JSON object a line, each with "schema" (kSchema), "kind" and "run" (an id shared by
// all lines of one invocation):
//   head    first line: "command", "argv", "started" (UTC), "provenance" and whatever else identifies the run
//           ("weights_sha256", "machine", "seed" …)
//   sample  one raw measurement: "test", "variant", "round", "position_in_round", "value", "unit", and the fields of
//           the laboratory's schema that apply (docs/lab-json.md lists them all)
//   result  one block: "name", "valid", "reason" (when not valid), "values", "verdict", "notes", "table"
// With --json alone the same objects go to standard output as one JSON document: {"head", "samples", "results"}.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tally::lab {

inline constexpr int kSchema = 1;

using Json = nlohmann::ordered_json;

inline Json or_null(const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); }

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // [rows][columns]
};

// One printed block. A precondition that does not hold makes it "not valid" with its reason, in place of numbers.
struct Block {
  std::string name;              // for scripts and the report: "fit", "ab", "null", "energy"
  std::string title;             // for people
  std::string not_valid;         // empty: valid
  Json values = Json::object();  // exact figures; null with a reason beside it where one cannot be given
  Table table;
  std::string verdict;             // one sentence, may be empty
  std::vector<std::string> notes;  // warnings and conventions
};

class Output {
 public:
  // json: nullopt (people only), "" (one document on standard output) or a path (JSON Lines; Error when it cannot be
  // created). `head` is completed with schema, kind, run, command, argv, started.
  Output(const std::string& command, std::optional<std::string> json, Json head);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void sample(Json fields);        // written at once
  void block(const Block& block);  // written at once; as Markdown to standard output unless that is taken by --json
  void finish();                   // writes the document of --json; called once, at the end
  const std::string& run() const { return run_; }

 private:
  void line(const Json& object);

  std::string run_;
  bool to_stdout_ = false;
  std::FILE* file_ = nullptr;
  Json head_, samples_ = Json::array(), results_ = Json::array();
};

// Markdown of a block: title, table (columns padded for a terminal), verdict, notes.
std::string markdown(const Block& block);

}  // namespace tally::lab
