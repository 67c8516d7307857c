// Orders instructions by what reaches what without a byte, so that the frames of a step are complete before they are
// used; finds left recursion on the way.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "text/grammar/automaton.h"

namespace tally::grammar {

// Sets `group` and `may_end` of all instructions, and the lists of Automaton::group. Throws ConstraintError
// ("unsupported", path: the name in `names` of a rule on the way) when a rule reaches itself with a frame between and
// no byte. Strongly connected components after Tarjan 1972 ("Depth-first search and linear graph algorithms").
void order_instructions(std::vector<Instr>& instrs, const std::unordered_map<uint32_t, std::string>& names,
                        std::vector<uint32_t>& members, std::vector<uint32_t>& group_begin);

}  // namespace tally::grammar
