// Joins a Program's manifest with a file's tensor directory.
#pragma once

#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "ops/op.h"
#include "ops/weights.h"

namespace tally::models {

// The tensor's sizes as a file stores them ([0] contiguous): trailing ones dropped, the leading one of a range of a
// vector too.
std::vector<uint64_t> stored_shape(const ops::WeightInfo& w);

// Error naming tensor, found and expected when one is missing, has another shape or a type that cannot be a weight.
ops::Weights bind_weights(const ops::Program& program, const gguf::File& file);

// Tensors of the file that none of the programs uses (an MTP block that goes unused is ordinary).
std::vector<std::string> unused_tensors(const std::vector<const ops::Program*>& programs, const gguf::File& file);

}  // namespace tally::models
