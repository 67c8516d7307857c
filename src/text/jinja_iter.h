// Iteration as in Python.
#pragma once

#include "text/jinja_interp.h"

namespace tally::text::jinja {

bool is_iterable(const Value& v);
Ref<IteratorObj> iterate(Interp& in, const Value& v);  // TypeError
std::vector<Value> to_vector(Interp& in, const Value& v);
Value item_of_dict(Interp& in, const DictObj& dict, size_t position, ViewObj::What what);

}  // namespace tally::text::jinja
