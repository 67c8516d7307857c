// What the model's own draft block achieves, on ordinary prose and on random text.
#pragma once

#include "lab/speculate.h"

namespace tally::lab {

// Block "speculate.acceptance": per kind of text and number of drafts: acceptance, tokens per round, cost, the speed-up
// foreseen and measured (drafting against plain decoding in alternated rounds, same tokens required).
Block acceptance_block(const app::EngineArgs& args, const SpeculateOptions& options, Output& out);

}  // namespace tally::lab
