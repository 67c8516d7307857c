#include "models/registry.h"

#include <array>

#include "base/error.h"
#include "models/architectures.h"

namespace tally::models {
namespace {

constexpr std::array kArchitectures{
    Architecture{"bailingmoe2", bailingmoe2, nullptr},
    Architecture{"gemma3", gemma3, nullptr},
    Architecture{"lfm2", lfm2, nullptr},
    Architecture{"lfm2moe", lfm2, nullptr},
    Architecture{"llama", llama, nullptr},
    Architecture{"qwen2", qwen2, nullptr},
    Architecture{"qwen3", qwen3, nullptr},
    Architecture{"qwen35", qwen35, qwen35_mtp},
    Architecture{"qwen35moe", qwen35, qwen35_mtp},
    Architecture{"qwen3moe", qwen3moe, nullptr},
};

const Architecture& find_architecture(const gguf::Metadata& meta) {
  std::string_view kind = meta.find_text("general.type").value_or("model");
  if (kind != "model")
    fail(ErrorCode::BadInput, "{}: key \"general.type\" is \"{}\", expected \"model\"; such a file cannot be run alone",
         meta.file(), kind);
  std::string_view name = meta.architecture();
  std::string known;
  for (const Architecture& a : kArchitectures) {
    if (name == a.name) return a;
    known += known.empty() ? a.name : std::string(", ") + a.name;
  }
  fail(ErrorCode::BadInput, "{}: unknown architecture \"{}\" (key \"general.architecture\"); known are {}", meta.file(),
       name, known);
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

ModelSource source_of(const gguf::File& file) {
  return {file.metadata(), [&file](std::string_view name) { return file.find(name); }};
}

ops::Program build_program(const ModelSource& source, const BuildOptions& options) {
  return find_architecture(source.meta).build(source, options);
}

std::optional<ops::Program> build_mtp_program(const ModelSource& source) {
  const Architecture& a = find_architecture(source.meta);
  return a.build_mtp == nullptr ? std::nullopt : a.build_mtp(source);
}

}  // namespace tally::models
