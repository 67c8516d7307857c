// The reference backend: interprets a Program op by op with the definitions of ops/reference.h, in double. Slow; what
// the other backends are judged by.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace tally::reference {

std::unique_ptr<backend::Backend> make_reference_backend(const backend::BackendOptions& options);

}  // namespace tally::reference
