// Gives every name of a program its place: which function's Env, which slot, and what the slot starts with. The rules
// are those of Jinja's compiler (idtracking): a name read before it is set in a scope is looked up in the template's
// variables, a name set in a scope starts as a copy of an outer variable or undefined, and an inner scope never writes
// an outer one. Also finds filters and tests by name.
#pragma once

#include "text/jinja_ast.h"

namespace tally::text::jinja {

// Throws TemplateError for unknown filters and tests that would certainly be reached, assignments to `loop`, and
// break or continue outside loops.
void resolve(Program* program);

}  // namespace tally::text::jinja
