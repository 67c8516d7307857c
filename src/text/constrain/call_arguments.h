// A tool's arguments as a family writes them.
#pragma once

#include <string>
#include <vector>

#include "text/constrain/call_form.h"
#include "text/constrain/call_rules.h"

namespace tally::constrain {

// The node of the whole argument text. What the schema asks and this cannot say goes to `warnings`; then the text is
// free in that respect.
grammar::NodeId add_arguments(grammar::Rules& rules, const ToolSchema& tool, Arguments how,
                              std::vector<std::string>* warnings);

}  // namespace tally::constrain
