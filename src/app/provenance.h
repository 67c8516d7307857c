// Where a number came from: what every published result carries.
#pragma once

#include <string>

#include "gguf/gguf.h"

namespace tally::app {

// Version, compiler, processor, model file and its hash, as one JSON object.
std::string provenance_json(const gguf::File& file);

}  // namespace tally::app
