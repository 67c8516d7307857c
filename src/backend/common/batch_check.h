// What every backend checks before a step runs, so that kernels may trust the Batch.
#pragma once

#include "ops/batch.h"
#include "ops/op.h"

namespace tally::backend {

struct BatchSizes {
  int max_tokens = 0, max_outputs = 0;
  int n_slots = 0, n_pages = 0;
};

// Error (Internal: whoever filled the batch is at fault) naming field, found and expected, when an array is too short,
// segments do not partition the tokens, positions do not follow from context_len, or a token, slot, page or output row
// is out of range. Slots and pages count only where the program has such state.
void check_batch(const ops::Program& program, const ops::Batch& batch, const BatchSizes& sizes);

}  // namespace tally::backend
