#include "app/provenance.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tally::app {

std::string provenance_json(const gguf::File& file) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line, processor;
  while (processor.empty() && std::getline(cpuinfo, line))
    if (line.rfind("model name", 0) == 0) processor = line.substr(line.find(':') + 2);
  nlohmann::ordered_json out;
  out["tally"] = TALLY_VERSION;
  out["compiler"] = __VERSION__;
  out["processor"] = processor;
  out["model"] = std::filesystem::path(file.path()).filename().string();
  out["model_hash"] = fmt::format("{:016x}", file.hash());
  out["model_bytes"] = file.total_bytes();
  return out.dump();
}

}  // namespace tally::app
