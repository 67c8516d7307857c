#include "lab/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "app/jsonl.h"
#include "base/error.h"

namespace tally::lab {

namespace {

std::string text_of(const Json& object, const char* key) {
  auto it = object.find(key);
  if (it == object.end() || it->is_null()) return "";
  return it->is_string() ? it->get<std::string>() : app::dump_json(*it);
}

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

// A cell of a table is text, whatever the file says.
Json cells(const Json& row) {
  Json out = Json::array();
  if (!row.is_array()) return out;
  for (const Json& cell : row) out.push_back(cell.is_string() ? cell : Json(app::dump_json(cell)));
  return out;
}

}  // namespace

void ReportData::add_file(const std::string& path) {
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(ErrorCode::BadInput, "{}: cannot be opened; expected a file written by `tally lab … --json`", path);
  std::string text;
  std::vector<char> piece(1 << 16);
  while (size_t n = std::fread(piece.data(), 1, piece.size(), file.get())) {
    text.append(piece.data(), n);
    if (text.size() > limits_.bytes_per_file)
      fail(ErrorCode::BadInput, "{}: longer than {} bytes, the most that a report reads from one file; split it", path,
           limits_.bytes_per_file);
  }
  if (std::ferror(file.get())) fail(ErrorCode::BadInput, "{}: cannot be read", path);
  add(path, text);
}

void ReportData::add(const std::string& name, std::string_view text) {
  files_.push_back(name);
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) fail(ErrorCode::BadInput, "{}: empty; expected saved runs of tally lab", name);
  // One document over several lines (or one line) is tried when the first line alone is not an object.
  std::string_view first_line = text.substr(first, text.find('\n', first) - first);
  while (!first_line.empty() && (first_line.back() == '\r' || first_line.back() == ' ')) first_line.remove_suffix(1);
  if (first_line.back() != '}' || text[first] == '[') {
    Json whole = app::parse_json_ordered(text);
    if (whole.is_array()) {
      for (size_t i = 0; i < whole.size(); ++i) add_object(fmt::format("{}: entry {}", name, i + 1), name, whole[i]);
    } else {
      add_object(name, name, std::move(whole));
    }
    return;
  }
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = fmt::format("{}:{}", name, number);
    Json object;
    try {
      object = app::parse_json_ordered(line);
    } catch (const Error& e) {
      fail(ErrorCode::BadInput, "{}: {}", where, e.what());
    }
    add_object(where, name, std::move(object));
  }
}

void ReportData::add_object(const std::string& where, const std::string& file, Json object) {
  if (!object.is_object())
    fail(ErrorCode::BadInput, "{}: a JSON {}, expected an object written by tally lab", where, object.type_name());
  if (object.contains("head") && object.contains("results")) return add_document(where, file, object);
  const std::string kind = text_of(object, "kind");
  if (kind.empty() && object.contains("tests") && object.contains("date")) return add_history(where, file, object);
  if (kind == "head") {
    Run& run = run_of(where, file, object);
    run.head = std::move(object);
  } else if (kind == "sample") {
    add_sample(run_of(where, file, object), object);
  } else if (kind == "result") {
    add_result(run_of(where, file, object), object);
  } else {
    fail(ErrorCode::BadInput,
         "{}: \"kind\" is \"{}\", expected head, sample or result (a run), or \"date\" and \"tests\" (a published "
         "result)",
         where, kind);
  }
}

void ReportData::add_document(const std::string& where, const std::string& file, Json& document) {
  for (const char* part : {"head", "samples", "results"})
    if (document.contains(part) &&
        !(part == std::string_view("head") ? document[part].is_object() : document[part].is_array()))
      fail(ErrorCode::BadInput, "{}: \"{}\" has the wrong type", where, part);
  Run& run = run_of(where, file, document["head"]);
  run.head = std::move(document["head"]);
  if (document.contains("samples"))
    for (const Json& s : document["samples"])
      if (s.is_object()) add_sample(run, s);
  for (Json& r : document["results"])
    if (r.is_object()) add_result(run, r);
}

void ReportData::add_history(const std::string& where, const std::string& file, Json& line) {
  if (!line["tests"].is_object()) fail(ErrorCode::BadInput, "{}: \"tests\" is no object", where);
  if (history_.size() >= limits_.history)
    fail(ErrorCode::BadInput, "{}: more than {} published results in one report; leave some files out", where,
         limits_.history);
  line["file"] = file;
  history_.push_back(std::move(line));
}

ReportData::Run& ReportData::run_of(const std::string& where, const std::string& file, const Json& object) {
  std::string id = text_of(object, "run");
  if (id.empty()) fail(ErrorCode::BadInput, "{}: no \"run\"; each line of a run carries its id", where);
  if (id.size() > 200) id.resize(200);
  auto [it, fresh] = run_at_.try_emplace(file + '\n' + id, runs_.size());
  if (fresh) {
    if (runs_.size() >= limits_.runs)
      fail(ErrorCode::BadInput, "{}: more than {} runs in one report; leave some files out", where, limits_.runs);
    runs_.emplace_back();
    runs_.back().id = id;
    runs_.back().file = file;
  }
  return runs_[it->second];
}

void ReportData::add_result(Run& run, Json& r) const {
  if (run.results.size() >= limits_.blocks_per_run) {
    ++run.omitted["blocks"];
    return;
  }
  Json table = r.contains("table") && r["table"].is_object() ? std::move(r["table"]) : Json::object();
  Json rows = Json::array();
  size_t n_rows = 0;
  if (table.contains("rows") && table["rows"].is_array()) {
    n_rows = table["rows"].size();
    for (const Json& row : table["rows"]) {
      if (rows.size() == limits_.rows_per_table) break;
      rows.push_back(cells(row));
    }
  }
  r["table"] = {{"columns", table.contains("columns") ? cells(table["columns"]) : Json::array()}, {"rows", rows}};
  if (n_rows > rows.size()) r["rows_left_out"] = n_rows - rows.size();
  if (r.contains("values") && app::dump_json(r["values"]).size() > limits_.bytes_of_values) {
    r["values"] = Json::object();
    ++run.omitted["values of blocks that are too long"];
  }
  for (const char* key : {"schema", "kind", "run"}) r.erase(key);
  run.results.push_back(std::move(r));
}

void ReportData::add_sample(Run& run, const Json& s) const {
  auto value = s.find("value");
  if (value == s.end() || !value->is_number()) {
    ++run.omitted["samples without a number"];
    return;
  }
  Json key{{"test", text_of(s, "test")},
           {"variant", text_of(s, "variant")},
           {"unit", text_of(s, "unit")},
           {"phase", text_of(s, "phase")}};
  auto [it, fresh] = run.group_at.try_emplace(app::dump_json(key), run.groups.size());
  if (fresh && run.groups.size() >= limits_.groups_per_run) {
    run.group_at.erase(it);
    ++run.omitted["samples beyond the most groups of a run"];
    return;
  }
  if (fresh) run.groups.push_back({std::move(key), {}, {}});
  Group& group = run.groups[it->second];
  auto round = s.find("round");
  group.rounds.push_back(round != s.end() && round->is_number() ? round->get<double>() : double(group.values.size()));
  group.values.push_back(value->get<double>());
}

Json ReportData::json_of(const Group& g) const {
  Json out = g.key;
  const size_t n = g.values.size();
  double mean = 0, square = 0;  // Welford, as n may be large
  for (size_t i = 0; i < n; ++i) {
    double d = g.values[i] - mean;
    mean += d / double(i + 1);
    square += d * (g.values[i] - mean);
  }
  const auto [low, high] = std::minmax_element(g.values.begin(), g.values.end());
  out["n"] = n;
  out["mean"] = mean;
  out["sd"] = n > 1 ? Json(std::sqrt(square / double(n - 1))) : Json();
  out["min"] = *low;
  out["max"] = *high;
  Json values = Json::array(), rounds = Json::array();
  const size_t each = (n + limits_.values_per_group - 1) / limits_.values_per_group;
  for (size_t at = 0; at < n; at += each) {
    const size_t end = std::min(n, at + each);
    rounds.push_back(g.rounds[at]);
    if (each == 1) {
      values.push_back(g.values[at]);
      continue;
    }
    double sum = 0;
    for (size_t i = at; i < end; ++i) sum += g.values[i] / double(end - at);
    auto [a, b] = std::minmax_element(g.values.begin() + long(at), g.values.begin() + long(end));
    values.push_back({sum, *a, *b});
  }
  if (each > 1) out["thinned"] = each;
  out["values"] = std::move(values);
  out["rounds"] = std::move(rounds);
  return out;
}

Json ReportData::document() const {
  Json runs = Json::array();
  for (const Run& run : runs_) {
    Json samples = Json::array();
    for (const Group& g : run.groups) samples.push_back(json_of(g));
    Json omitted = Json::object();
    for (const auto& [what, n] : run.omitted) omitted[what] = n;
    runs.push_back({{"id", run.id},
                    {"file", run.file},
                    {"head", run.head},
                    {"results", run.results},
                    {"samples", std::move(samples)},
                    {"omitted", std::move(omitted)}});
  }
  return {{"runs", std::move(runs)}, {"history", history_}, {"files", files_}};
}

}  // namespace tally::lab
