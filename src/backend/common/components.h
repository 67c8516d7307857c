// The components that a measurement can leave out of a plan, and short texts about steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace tally::backend {

// Whether a step is part of a component: "experts", "attention" (with its cache), "delta", "ffn", "qkv", "head", or the
// name of any segment (ops/segments.h) or op, such as "output projection". A fused step belongs where its main op does.
bool belongs_to(const ledger::StepInfo& step, const std::string& component);

// Parts of a list separated by commas, without blanks around them.
std::vector<std::string> component_list(const std::string& list);

// Error (Usage) when no step belongs to the component, or when the others cannot run without it: the embedding (the
// residual stream would grow from run to run) and the router (the experts would be chosen by stale numbers).
void check_component(const std::string& component, std::span<const ledger::StepInfo> steps);

// " without experts, 50 % inert", or "": for names of plans.
std::string instruments_text(const Instruments& instruments);

// Of an op's largest weight, "out x in" or "experts x out x in"; without weights the columns of what it writes.
std::string shape_text(const ops::Program& program, int op);

}  // namespace tally::backend
