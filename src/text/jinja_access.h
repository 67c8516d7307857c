// Attributes, items and slices, with the sandbox's rules: names that begin with an underscore are out of reach.
#pragma once

#include "text/jinja_interp.h"

namespace tally::text::jinja {

// a.name: attribute first, then item; undefined when there is neither.
Value get_attribute(Interp& in, const Value& owner, const Value& name);
// a[key]: item first, then attribute.
Value get_item(Interp& in, const Value& owner, const Value& key);
// a[start:stop:step] in Python proper; TypeError where the owner cannot be sliced.
Value slice_of(Interp& in, const Value& owner, const SliceObj& slice);
// Python's getattr without items: missing when there is none.
Value plain_attribute(Interp& in, const Value& owner, std::string_view name);

// First index, count and step of a slice over `length` items.
struct SliceRange {
  int64_t start, count, step;
};
SliceRange slice_range(Interp& in, const SliceObj& slice, int64_t length);

}  // namespace tally::text::jinja
