// `tally lab sustain`: cold, rested and back-to-back speed, with clocks, power and temperature (M13, M20).
#pragma once

#include <string>
#include <vector>

#include "lab/def_thermal.h"
#include "lab/measuring.h"

namespace tally::lab {

struct SustainArgs {
  MeasureArgs measure;
  std::string target = "tally", against;
  int prompt = 0, gen = 64;  // exactly one is positive
  double rest_s = 20, duration_s = 60;
};

// Back-to-back measurements as they came.
struct SustainRun {
  struct Point {
    double s = 0;  // seconds since the load began, at its end
    double rate = 0;
    std::optional<double> clock_mhz, temp_c, watts;
  };
  std::vector<Point> points;
  std::optional<double> cold_clock_mhz;  // at the end of the rest
  double joules = 0, seconds = 0, tokens = 0;
  double idle_watts = 0;  // during the rest
};

// What the points say: cold is the first, steady the median of the last third. Block "sustain".
Block sustain_block(const std::string& name, const SustainRun& run, const std::string& why_no_energy);

void run_sustain(const SustainArgs& args, Target& target, Target* against, Output& output);

}  // namespace tally::lab
