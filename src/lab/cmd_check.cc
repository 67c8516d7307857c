// tally lab check: test vectors of the definitions.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "app/exit_status.h"
#include "app/jsonl.h"
#include "base/error.h"
#include "lab/command.h"
#include "lab/vectors.h"

namespace tally::lab {

namespace {

void run(const std::string& path, bool list) {
  if (list) {
    for (const auto& entry : vector_functions()) fmt::print("{}\n", entry.first);
    return;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(ErrorCode::BadInput, "{}: cannot be opened; a file with one vector a line is expected", path);
  int n_passed = 0, n_failed = 0, number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      VectorResult r = check_vector(app::parse_json_ordered(text));
      fmt::print("{}\n", r.line);
      ++(r.kind == VectorResult::Kind::Pass ? n_passed : n_failed);
    } catch (const Error& e) {
      fail(ErrorCode::BadInput, "{}:{}: {}", path, number, e.what());
    }
  }
  fmt::print("{} passed, {} failed\n", n_passed, n_failed);
  if (n_failed > 0) app::exit_status() = static_cast<int>(ErrorCode::Failed);
}

}  // namespace

void add_check(CLI::App& lab) {
  struct Options {
    std::string path;
    bool list = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand("check", "checks the definitions with vectors, one JSON object a line");
  command->footer(
      "A vector: {\"id\", \"fn\", \"in\": {…}, \"out\": number or {…}, \"tol\"}. One line a vector: pass, fail with "
      "both\n"
      "values, or unknown function (counts as failed); the last line says how many. {\"error\": true} in place of "
      "\"out\"\n"
      "expects a refusal. Without \"tol\" a value may differ by 1e-6 + 1e-5 of it, with it by that much.\n"
      "Exit status 1 when a vector failed.");
  auto* file = command->add_option("FILE", o->path, "vectors (JSON Lines)");
  auto* list = command->add_flag("--list", o->list, "prints the names of all functions instead");
  file->excludes(list);
  command->callback([o] {
    if (o->path.empty() && !o->list) fail(ErrorCode::Usage, "lab check: FILE is missing (or --list)");
    run(o->path, o->list);
  });
}

}  // namespace tally::lab
