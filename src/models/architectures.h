// The models: each turns metadata into a Program, in a file of its own.
#pragma once

#include <optional>

#include "models/registry.h"

namespace tally::models {

ops::Program llama(const ModelSource&, const BuildOptions&);        // llama.cc
ops::Program qwen2(const ModelSource&, const BuildOptions&);        // qwen2.cc
ops::Program qwen3(const ModelSource&, const BuildOptions&);        // qwen3.cc
ops::Program qwen3moe(const ModelSource&, const BuildOptions&);     // qwen3_moe.cc
ops::Program gemma3(const ModelSource&, const BuildOptions&);       // gemma3.cc
ops::Program lfm2(const ModelSource&, const BuildOptions&);         // lfm2.cc: also lfm2moe
ops::Program bailingmoe2(const ModelSource&, const BuildOptions&);  // bailing_moe2.cc
ops::Program qwen35(const ModelSource&, const BuildOptions&);       // qwen35.cc: also qwen35moe
std::optional<ops::Program> qwen35_mtp(const ModelSource&);

}  // namespace tally::models
