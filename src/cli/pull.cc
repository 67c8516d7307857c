// tally pull: fetches a model into the cache and prints its path.
#include "app/pull.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/cache.h"
#include "app/known_models.h"
#include "cli/command.h"

namespace tally::cli {

namespace {

struct Options {
  std::string source;
  std::string hub;
  std::string sha256;
  bool progress = false;
};

void run(const Options& options) {
  app::PullSettings settings;
  settings.folder = app::cache_folder();
  settings.hub = options.hub.empty() ? app::default_hub() : options.hub;
  settings.sha256 = options.sha256;
  if (options.progress) settings.progress = app::ProgressMode::On;
  const std::filesystem::path path = app::pull(options.source, settings);
  fmt::print("{}\n", path.string());
  std::fprintf(stderr, "tally: %s is there, %s\n", path.filename().c_str(),
               app::human_bytes(std::filesystem::file_size(path)).c_str());
}

std::string footer() {
  std::string text = "short names:\n";
  for (const app::KnownModel& model : app::known_models()) {
    text += fmt::format("  {:14} {} ({})\n", model.name, model.file, app::human_bytes(model.bytes));
  }
  text +=
      "files go to $XDG_CACHE_HOME/tally, or ~/.cache/tally; an interrupted download is continued by the same command";
  return text;
}

}  // namespace

void add_pull(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("pull", "fetch a model into the cache and print its path");
  command->add_option("MODEL", options->source, "a short name, http(s)://…/FILE.gguf, or hf:OWNER/REPO/FILE.gguf")
      ->required();
  command->add_option("--sha256", options->sha256, "refuse the file unless it has this SHA-256 (hex)");
  command->add_option("--hf-endpoint", options->hub,
                      "address that hf: stands for (default: TALLY_HF_ENDPOINT in the environment)");
  command->add_flag("--progress", options->progress, "show progress though standard error is no terminal");
  command->footer(footer());
  command->callback([options] { run(*options); });
}

}  // namespace tally::cli
