// tally rm: removes cached models.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "app/cache.h"
#include "app/file_lock.h"
#include "app/known_models.h"
#include "app/progress.h"
#include "base/error.h"
#include "cli/command.h"

namespace tally::cli {

namespace {

void remove(const std::string& name) {
  const app::KnownModel* known = app::find_known_model(name);
  std::string file = known != nullptr ? known->file : name;
  if (known == nullptr && !file.ends_with(".gguf")) file += ".gguf";
  app::check_model_file_name(file, name);  // rm takes names of the cache, never paths
  const std::filesystem::path folder = app::cache_folder();
  for (const app::CachedModel& model : app::cached_models(folder)) {
    if (model.name != file) continue;
    const app::FileLock lock(folder / file);
    fmt::print("removed {}, {}\n", file, app::human_bytes(app::remove_model(folder / file)));
    return;
  }
  fail(ErrorCode::BadInput, "{}: no such model in {}; tally ls lists them", name, folder.string());
}

}  // namespace

void add_rm(CLI::App& app) {
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("rm", "remove models from the cache, complete or not");
  command->add_option("MODEL", *names, "short names or file names, as tally ls shows them")->required();
  command->callback([names] {
    for (const std::string& name : *names) remove(name);
  });
}

}  // namespace tally::cli
