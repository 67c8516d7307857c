// Which tensor gets which type: the mixture rules of the usual presets (q4_k_m and so on).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"

namespace tally::app {

struct Preset {
  const char* name;    // "q4_k_m"
  int file_type;       // general.file_type
  quant::TypeId base;  // what most tensors get
};

std::span<const Preset> presets();

// Null when unknown; case-insensitive. "q4_k" and "q5_k" mean their _m presets.
const Preset* find_preset(std::string_view name);

// Whether the rules leave the tensor as it is: vectors, norms, routers, small convolutions, whatever is not "….weight".
bool is_never_quantized(const gguf::TensorInfo& tensor);

// The type of each tensor of a model, in the order given. Metadata says layers, heads and experts.
std::vector<quant::TypeId> choose_types(const gguf::Metadata& metadata, std::span<const gguf::TensorInfo> tensors,
                                        const Preset& preset);

}  // namespace tally::app
