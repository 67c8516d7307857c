#include "lab/output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "app/jsonl.h"
#include "base/clock.h"
#include "base/error.h"

namespace tally::lab {

namespace {

// Columns on a terminal that a text of UTF-8 takes: characters, as all we print are of width one.
size_t width_of(const std::string& s) {
  size_t n = 0;
  for (unsigned char c : s) n += (c & 0xC0) != 0x80;
  return n;
}

void add_row(std::string& out, const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  for (size_t i = 0; i < widths.size(); ++i) {
    std::string cell = i < cells.size() ? cells[i] : "";
    std::string pad(widths[i] - width_of(cell), ' ');
    out += (i ? " | " : "| ") + (i ? pad + cell : cell + pad);
  }
  out += " |\n";
}

std::string table_text(const Table& t) {
  std::vector<size_t> widths;
  for (const std::string& c : t.columns) widths.push_back(std::max<size_t>(3, width_of(c)));
  for (const auto& row : t.rows)
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string out;
  add_row(out, t.columns, widths);
  for (size_t i = 0; i < widths.size(); ++i)
    out += i ? "|-" + std::string(widths[i], '-') + ":" : "|:" + std::string(widths[i], '-') + "-";
  out += "|\n";
  for (const auto& row : t.rows) add_row(out, row, widths);
  return out;
}

Json json_of(const Block& b) {
  Json j{{"name", b.name}, {"title", b.title}, {"valid", b.not_valid.empty()}};
  if (!b.not_valid.empty()) j["reason"] = b.not_valid;
  j["values"] = b.values;
  j["verdict"] = b.verdict;
  j["notes"] = b.notes;
  j["table"] = {{"columns", b.table.columns}, {"rows", b.table.rows}};
  return j;
}

}  // namespace

std::string markdown(const Block& b) {
  std::string out = fmt::format("### {}\n\n", b.title);
  if (!b.not_valid.empty()) out += fmt::format("not valid: {}\n\n", b.not_valid);
  if (!b.table.rows.empty()) out += table_text(b.table) + "\n";
  if (!b.verdict.empty()) out += b.verdict + "\n\n";
  for (const std::string& note : b.notes) out += "- " + note + "\n";
  if (!b.notes.empty()) out += "\n";
  return out;
}

Output::Output(const std::string& command, std::optional<std::string> json, Json head) {
  std::time_t now = std::time(nullptr);
  run_ = fmt::format("{}-{:%Y%m%dT%H%M%S}-{:x}", command, fmt::gmtime(now), uint32_t(getpid()) ^ uint32_t(now_ns()));
  head_ = {{"schema", kSchema},
           {"kind", "head"},
           {"run", run_},
           {"command", command},
           {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))}};
  head_.update(head);
  if (!json) return;
  if (json->empty()) {
    to_stdout_ = true;
    return;
  }
  file_ = std::fopen(json->c_str(), "w");
  if (!file_) fail(ErrorCode::BadInput, "{}: cannot be created; --json FILE needs a folder that exists", *json);
  line(head_);
}

Output::~Output() {
  if (file_) std::fclose(file_);
}

void Output::line(const Json& object) {
  std::string text = app::dump_json(object) + "\n";
  std::fwrite(text.data(), 1, text.size(), file_);
  std::fflush(file_);
}

void Output::sample(Json fields) {
  Json s{{"schema", kSchema}, {"kind", "sample"}, {"run", run_}};
  s.update(fields);
  if (file_) line(s);
  if (to_stdout_) samples_.push_back(std::move(s));
}

void Output::block(const Block& block) {
  Json r{{"schema", kSchema}, {"kind", "result"}, {"run", run_}};
  r.update(json_of(block));
  if (file_) line(r);
  if (to_stdout_) {
    results_.push_back(std::move(r));
  } else {
    fmt::print("{}", markdown(block));
    std::fflush(stdout);
  }
}

void Output::finish() {
  if (to_stdout_) fmt::print("{}\n", app::dump_json({{"head", head_}, {"samples", samples_}, {"results", results_}}));
}

}  // namespace tally::lab
