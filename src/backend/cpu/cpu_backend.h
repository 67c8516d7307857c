// The CPU backend: a fixed team of threads walks the plan's steps with a barrier between them.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace tally::cpu {

std::unique_ptr<backend::Backend> make_cpu_backend(const backend::BackendOptions& options);

}  // namespace tally::cpu
