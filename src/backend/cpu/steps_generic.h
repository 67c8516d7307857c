// The last entry of every kernel table.
#pragma once

#include "backend/cpu/step.h"

namespace tally::cpu {

std::unique_ptr<Step> bind_generic(const PlanContext& c, int op, int n_ops);

}  // namespace tally::cpu
