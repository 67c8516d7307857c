// tally lab whatif: the divisions alone, from typed numbers, an article's table, or a saved run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <memory>

#include "app/jsonl.h"
#include "app/read_file.h"
#include "base/error.h"
#include "lab/command.h"
#include "lab/whatif.h"

namespace tally::lab {

namespace {

constexpr uintmax_t kLargestFile = 256 << 20;

Json scalar(const std::string& text) {
  double x = 0;
  auto r = std::from_chars(text.data(), text.data() + text.size(), x);
  if (r.ec == std::errc() && r.ptr == text.data() + text.size() && !text.empty()) return x;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

// "n=32,128" → {"n": [32, 128]}
Json typed(const std::string& kind, const std::vector<std::string>& words) {
  Json q{{"kind", kind}};
  for (const std::string& w : words) {
    size_t eq = w.find('=');
    if (eq == std::string::npos || eq == 0)
      fail(ErrorCode::Usage, "what-if: \"{}\"; name=value expected, for instance n=512,2048", w);
    std::string value = w.substr(eq + 1);
    if (value.find(',') == std::string::npos) {
      q[w.substr(0, eq)] = scalar(value);
      continue;
    }
    Json list = Json::array();
    for (size_t from = 0; from <= value.size();) {
      size_t comma = std::min(value.find(',', from), value.size());
      list.push_back(scalar(value.substr(from, comma - from)));
      from = comma + 1;
    }
    q[w.substr(0, eq)] = list;
  }
  return q;
}

// One document {"tables": [question, …]} or a list of questions; or JSON Lines of a run.
std::vector<Json> questions_in(const std::string& path) {
  std::string text = app::read_file(path, "", kLargestFile);
  std::vector<Json> lines;
  size_t n = 0;
  for (size_t from = 0; from < text.size();) {
    size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    from = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (++n == 1 && line.find("\"schema\"") == std::string::npos) break;  // a document
    lines.push_back(app::parse_json_ordered(line));
  }
  if (!lines.empty() && lines[0].is_object() && lines[0].contains("kind") && lines[0]["kind"] == "head")
    return questions_of_run(lines);
  Json document = app::parse_json_ordered(text);
  const Json* list = &document;
  if (document.is_object()) {
    if (document.contains("head") && document.contains("samples") && document.contains("results")) {  // of --json alone
      std::vector<Json> all;
      for (const char* part : {"samples", "results"})
        for (const Json& line : document[part]) all.push_back(line);
      return questions_of_run(all);
    }
    if (!document.contains("tables"))
      fail(ErrorCode::BadInput, "{}: neither a saved run nor a document with \"tables\"", path);
    list = &document["tables"];
  }
  if (!list->is_array()) fail(ErrorCode::BadInput, "{}: \"tables\" must be a list of questions", path);
  return {list->begin(), list->end()};
}

void run(const std::string& what, const std::vector<std::string>& words, const std::optional<std::string>& json) {
  bool typed_numbers = whatif_kinds().count(what) > 0;
  if (!typed_numbers && !std::filesystem::exists(what)) what_if({{"kind", what}});  // says which kinds there are
  std::vector<Json> questions;
  if (typed_numbers)
    questions.push_back(typed(what, words));
  else
    questions = questions_in(what);
  if (!typed_numbers && !words.empty())
    fail(ErrorCode::Usage, "what-if: {} is a file, \"{}\" does not belong to it", what, words[0]);
  Output output("whatif", json, {{"source", typed_numbers ? "typed" : what}});
  size_t n_complaints = 0, n_refused = 0;
  for (const Json& q : questions) {
    WhatIf w = what_if(q);
    w.block.values["question"] = q;
    output.block(w.block);
    n_complaints += w.complaints.size();
    n_refused += !w.block.not_valid.empty();
  }
  if (questions.size() > 1 && !(json && json->empty()))
    fmt::print("{} questions, {} complaints, {} refused\n", questions.size(), n_complaints, n_refused);
  output.finish();
}

std::string footer() {
  std::string text = "KIND takes name=value; lists are separated by commas. The kinds:\n";
  for (const auto& [name, kind] : whatif_kinds())
    text += fmt::format("  {:<15} {}\n  {:<15} {}\n", name, kind.title, "", kind.arguments);
  return text +
         "\nFILE is a document {\"tables\": [{\"kind\": …, arguments, \"title\", \"printed\": {value: \"1.69\"}}, …]}: "
         "an article's tables,\n"
         "whose printed values are compared with the exact ones; or a saved run of any lab command (JSON Lines), which "
         "is asked\n"
         "what its samples allow. Numbers that cannot belong together are complained about. For example:\n"
         "  tally lab whatif ceiling p=0.1218,0.0979 rate=96.7 target=843.74\n"
         "  tally lab whatif fit n=512,2048 ms=636.4,2050.7";
}

}  // namespace

void add_whatif(CLI::App& lab) {
  struct Options {
    std::string what;
    std::vector<std::string> words;
    std::optional<std::string> json;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command =
      lab.add_subcommand("whatif", "the divisions alone: what a change could buy, and whether numbers agree");
  command->add_option("KIND", o->what, "kind of question, or a file")->required();
  command->add_option("ARGUMENTS", o->words, "name=value …");
  command->add_option("--json", o->json, "JSON Lines to this file (--json=FILE), or one document on standard output")
      ->expected(0, 1);
  command->footer(footer());
  command->callback([o] { run(o->what, o->words, o->json); });
}

}  // namespace tally::lab
