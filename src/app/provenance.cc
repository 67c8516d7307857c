#include "app/provenance.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/processor.h"

namespace tally::app {

std::string provenance_json(const gguf::File& file) {
  nlohmann::ordered_json out;
  out["tally"] = TALLY_VERSION;
  out["compiler"] = __VERSION__;
  out["processor"] = processor_name();
  out["model"] = std::filesystem::path(file.path()).filename().string();
  out["model_hash"] = fmt::format("{:016x}", file.hash());
  out["model_bytes"] = file.total_bytes();
  return out.dump();
}

}  // namespace tally::app
