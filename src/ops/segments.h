// The usual names of what ops compute, by which ledgers and reports group them.
#pragma once

#include <string_view>

#include "ops/op.h"

namespace tally::ops {

// "qkv (delta)", "qkv (attention)", "z", "alpha/beta", "conv", "recurrence", "gated norm", "attention",
// "output projection", "router", "expert gate/up/down", "shared expert", "ffn gate/up", "ffn activation", "ffn down",
// "norm", "embedding", "head", … Static text.
std::string_view segment_name(const Program& program, int op);

}  // namespace tally::ops
