// tally lab report: saved runs as one HTML page that opens offline.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "lab/report.h"

namespace tally::lab {

namespace {

struct ReportArgs {
  std::vector<std::string> files;
  std::string out = "report.html", title = "Laboratory report";
};

void write_page(const std::string& path, const std::string& page) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (!file) fail(ErrorCode::BadInput, "{}: cannot be created: {}", path, std::strerror(errno));
  bool good = std::fwrite(page.data(), 1, page.size(), file) == page.size();
  good = (path == "-" ? std::fflush(file) : std::fclose(file)) == 0 && good;
  if (!good) fail(ErrorCode::Resources, "{}: writing failed: {}", path, std::strerror(errno));
}

void report(const ReportArgs& args) {
  ReportData data;
  for (const std::string& file : args.files) data.add_file(file);
  const std::string page = report_page(data.document(), args.title);
  write_page(args.out, page);
  if (args.out != "-") fmt::print("{}: {} bytes, opens in any browser without a network\n", args.out, page.size());
}

}  // namespace

void add_report(CLI::App& lab) {
  auto args = std::make_shared<ReportArgs>();
  CLI::App* command = lab.add_subcommand("report", "one HTML page, readable offline, from saved runs");
  command
      ->add_option("RUN", args->files,
                   "files that lab commands wrote with --json, and files of published results (results/*.jsonl)")
      ->required();
  command->add_option("-o,--output", args->out, "the page; - for standard output")->capture_default_str();
  command->add_option("--title", args->title, "its heading")->capture_default_str();
  command->callback([args] { report(*args); });
}

}  // namespace tally::lab
