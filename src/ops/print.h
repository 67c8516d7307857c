// Programs as text, and their hash: by walking the fields of each op.
#pragma once

#include <cstdint>
#include <string>

#include "ops/op.h"

namespace tally::ops {

// rms_norm      x=x#0 w=blk.0.attn_norm.weight eps=1e-06 out=attn_norm#1
// Fields at their defaults are left out.
std::string print(const Op& op, const Program& program);
std::string print(const Program& program);  // one line per op

// Of ops, values, weights and states: equal for equal programs, on every machine.
uint64_t program_hash(const Program& program);

}  // namespace tally::ops
