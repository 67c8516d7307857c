// What `tally info` says of a model file: read once, shown as text or as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/memory.h"
#include "gguf/gguf.h"
#include "ops/op.h"
#include "ops/weights.h"

namespace tally::app {

struct InfoOptions {
  int context_length = 0;                                   // 0: a table of contexts
  bool full = false;                                        // arrays of metadata in full
  bool tensors = false, metadata = false, program = false;  // text: with these lists; JSON: with the Program
};

// Tensors of one type.
struct TypeShare {
  const quant::QuantType* type = nullptr;
  uint64_t n_tensors = 0, n_parameters = 0, bytes = 0;
};

// Memory for one context length.
struct ContextNeed {
  MemoryNeed need;
  FitVerdict verdict;
};

struct ModelInfo {
  std::string architecture;
  uint64_t n_parameters = 0;
  std::vector<TypeShare> types;  // largest first
  // Where tally can run the model; else a note says why not.
  std::optional<ops::Program> program, mtp;
  ops::Weights weights;
  std::string note;
  uint64_t n_active_parameters = 0;  // read for one token
  MachineMemory machine;
  std::vector<ContextNeed> contexts;
};

// Reads what there is; a file that tally cannot run (a vocabulary alone, an unknown architecture) gives a note.
ModelInfo read_info(const gguf::File& file, const InfoOptions& options, const MachineMemory& machine);

nlohmann::ordered_json info_json(const gguf::File& file, const ModelInfo& info, const InfoOptions& options);
std::string info_text(const gguf::File& file, const ModelInfo& info, const InfoOptions& options);

// A value of metadata as JSON: long arrays as {"type", "count"} unless `full`; text that is not UTF-8 as {"bytes"};
// what is no finite number as null, with `reason` saying so.
nlohmann::ordered_json metadata_json(const gguf::Value& value, bool full, std::string& reason);

}  // namespace tally::app
