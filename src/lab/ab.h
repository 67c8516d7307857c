// `tally lab ab`: two targets in alternated rounds with a null run, and the verdict (M11, M12, M24).
#pragma once

#include <string>

#include "lab/measuring.h"
#include "lab/verdict.h"

namespace tally::lab {

struct AbArgs {
  MeasureArgs measure;
  ShapeArgs shapes;
  std::string a = "tally", b;
  int rounds = 12;
  int inner = 3;  // runs in a row, of which the median is the round\'s value
  double equivalence = 0.02;
  int best_of = 1;    // B is the best of so many that were tried
  bool gate = false;  // exit status 1 when B is slower
};

// a, a_again: two targets of the same spec, opened apart, so that the null run holds all that differs between two
// openings. Writes a block "ab" per test; returns the verdicts in the order of the tests.
std::vector<Verdict> run_ab(const AbArgs& args, Target& a, Target& b, Target& a_again, Output& output);

}  // namespace tally::lab
