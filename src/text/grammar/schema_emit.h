// Parts of the schema compiler that only its writing half needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/grammar/schema_compiler.h"

namespace tally::grammar {

// A key that is written at a fixed place: required, or optional.
struct SchemaCompiler::Entry {
  std::string_view name;
  bool required = false;
  GoalId goal = kAny;
  std::vector<std::pair<uint32_t, GoalId>> kinds;  // for each set of `some` rules it may satisfy: the value's goal
};

// Keys of one kind that come after those.
struct SchemaCompiler::Cell {
  int keys = ExprPool::kTop;
  GoalId goal = kAny;
  std::vector<std::pair<uint32_t, GoalId>> kinds;
};

struct SchemaCompiler::ObjectPlan {
  std::vector<Entry> entries;
  std::vector<Cell> cells;
  uint64_t min = 0, max = kUnbounded;
  uint32_t all_some = 0;  // a bit for each rule that must be satisfied
};

// All words of an automaton, when there are at most `most`; null otherwise.
std::optional<std::vector<std::string>> list_words(const Dfa& dfa, size_t most);

}  // namespace tally::grammar
