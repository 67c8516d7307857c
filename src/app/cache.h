// The folder of fetched models. Files keep their own names; what is not complete ends in ".partial" and is never used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tally::app {

// $XDG_CACHE_HOME/tally, or ~/.cache/tally. It need not exist. Throws Usage when neither variable is set.
std::filesystem::path cache_folder();

struct CachedModel {
  std::string name;  // file name; of an unfinished download, the name that it will have
  std::filesystem::path path;
  uint64_t bytes = 0;  // on disk, of an unfinished download: so far
  bool partial = false;
};

// All models in the folder, by name; empty when there is no such folder.
std::vector<CachedModel> cached_models(const std::filesystem::path& folder);

// The one check of names that come from users and addresses before they become files of the cache: it must be a plain
// file name ending in .gguf (no folder, no control characters, no leading dot). Throws Usage, with `origin` in the
// text.
void check_model_file_name(const std::string& name, const std::string& origin);

// Paths beside a model while it is being fetched.
std::filesystem::path partial_path(const std::filesystem::path& model);    // bytes so far
std::filesystem::path validator_path(const std::filesystem::path& model);  // where they came from (address, ETag)
std::filesystem::path wheels_path(const std::filesystem::path& model);     // folder of downloaded packages

// Removes a model's file and everything unfinished of it. Returns the bytes freed; 0 when there was nothing.
uint64_t remove_model(const std::filesystem::path& model);

}  // namespace tally::app
