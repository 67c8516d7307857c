// tally ls: the models that are at hand.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cache.h"
#include "app/known_models.h"
#include "app/model_path.h"
#include "app/progress.h"
#include "cli/command.h"

namespace tally::cli {

namespace {

std::string short_name(const std::string& file) {
  for (const app::KnownModel& model : app::known_models()) {
    if (model.file == file) return model.name;
  }
  return "";
}

// Cached models and, first, the bundled one.
std::vector<app::CachedModel> all_models(const std::filesystem::path& folder) {
  std::vector<app::CachedModel> models = app::cached_models(folder);
  if (const auto path = app::bundled_model()) {
    models.insert(models.begin(), {"tally-tiny.gguf", *path, std::filesystem::file_size(*path), false});
  }
  return models;
}

void print_json(const std::filesystem::path& folder) {
  nlohmann::json models = nlohmann::json::array();
  for (const app::CachedModel& model : all_models(folder)) {
    models.push_back(
        {{"name", model.name}, {"path", model.path.string()}, {"bytes", model.bytes}, {"partial", model.partial}});
    if (const std::string name = short_name(model.name); !name.empty()) models.back()["short_name"] = name;
  }
  const nlohmann::json document = {{"folder", folder.string()}, {"models", models}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_table(const std::filesystem::path& folder) {
  for (const app::CachedModel& model : all_models(folder)) {
    const std::string note = model.partial                        ? "not complete: pull it again to go on"
                             : model.path.parent_path() == folder ? short_name(model.name)
                                                                  : "bundled: " + model.path.string();
    fmt::print("{:>10}  {}{}{}\n", app::human_bytes(model.bytes), model.name, note.empty() ? "" : "  ", note);
  }
  fmt::print("folder: {}\n", folder.string());
}

}  // namespace

void add_ls(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("ls", "list the models at hand: cached ones and the bundled one");
  command->add_flag("--json", *as_json, "one JSON document: folder, models [name, path, bytes, partial]");
  command->callback([as_json] {
    const std::filesystem::path folder = app::cache_folder();
    *as_json ? print_json(folder) : print_table(folder);
  });
}

}  // namespace tally::cli
