// The schema of the laboratory's JSON Lines (docs/lab-json.md), as a check.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/output.h"

namespace tally::lab {

// A field that keeps its name and type wherever it appears. `in`: "head", "sample" or "values" (of a result). `type`:
// string, number, integer, boolean, array, object; "or null" after it where null is allowed (with a reason beside it).
struct SchemaField {
  const char* in;
  const char* name;
  const char* type;
};
std::span<const SchemaField> schema_fields();

// What is wrong with one line; empty when it conforms. Fields that the table does not know are allowed in heads and in
// values, and are wrong in samples.
std::vector<std::string> schema_problems(const Json& line);

}  // namespace tally::lab
