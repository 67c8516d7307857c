// Simulated sessions for calibrating the verdict: times of two variants in alternated rounds (ABBA) on a machine that
// is noisy in the ways real ones are. Seeded; the same seed gives the same session.
#pragma once

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "lab/stats_distributions.h"
#include "lab/verdict.h"

namespace tally::lab::test {

struct Noise {
  const char* name;
  double lognormal = 0.01;    // sd of ln time of one measurement
  double walk = 0;            // sd of a random walk's step between measurements (neighbours, clocks)
  double ramp = 0;            // whole session: relative change from begin to end (warming up)
  double outlier_chance = 0;  // a measurement is disturbed …
  double outlier_size = 0;    // … and takes up to so much longer
  double second_slower = 0;   // the second of a round is slower by this
};

struct Session {
  std::vector<double> ratios, null_ratios;
};

// `effect`: B's time is A's divided by 1 + effect. Each round measures A, B and, for the null run, A and A.
inline Session simulate(const Noise& noise, int rounds, double effect, uint64_t seed) {
  uint64_t counter = 0;
  double walk = 0;
  auto normal = [&] {
    double u = random_unit(seed, counter++), v = random_unit(seed, counter++);
    return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v);
  };
  int done = 0, total = rounds * 4;
  auto measure = [&](bool second) {
    walk += noise.walk * normal();
    double t = walk + noise.ramp * done++ / total + noise.lognormal * normal() + (second ? noise.second_slower : 0);
    if (random_unit(seed, counter++) < noise.outlier_chance) t += noise.outlier_size * random_unit(seed, counter++);
    return std::exp(t);
  };
  Session s;
  for (int round = 0; round < rounds; ++round) {
    bool a_first = round % 2 == 0;
    double x = measure(false), y = measure(true);
    double a = a_first ? x : y, b = (a_first ? y : x) / (1 + effect);
    s.ratios.push_back(a / b);
    double p = measure(false), q = measure(true);
    s.null_ratios.push_back(a_first ? p / q : q / p);
  }
  return s;
}

inline const Noise kNoises[] = {
    {"calm, 0.5 %", 0.005},
    {"lognormal 1 %", 0.01},
    {"lognormal 3 %", 0.03},
    {"drifting walk 0.5 %", 0.005, 0.005},
    {"warming by 10 %", 0.01, 0, 0.10},
    {"outliers, 10 % of +12 %", 0.01, 0, 0, 0.10, 0.12},
    {"second of a round 2 % slower", 0.01, 0, 0, 0, 0, 0.02},
    {"all of them", 0.01, 0.003, 0.05, 0.05, 0.10, 0.01},
};

struct Tally {
  int n = 0, claims = 0, right = 0, no_difference = 0, too_noisy = 0, not_valid = 0;
  double claimed() const { return static_cast<double>(claims) / n; }
};

inline Tally run_sessions(const Noise& noise, int rounds, double effect, int sessions, uint64_t seed) {
  Tally t;
  for (int i = 0; i < sessions; ++i) {
    Session s = simulate(noise, rounds, effect, mix64(seed + static_cast<uint64_t>(i)));
    const double clock[] = {3000, 3000, 3000};
    Verdict v = judge({.ratios = s.ratios, .null_ratios = s.null_ratios, .clock_mhz = clock});
    ++t.n;
    bool faster = v.kind == VerdictKind::Faster, slower = v.kind == VerdictKind::Slower;
    t.claims += faster || slower;
    t.right += effect > 0 ? faster : effect < 0 ? slower : false;
    t.no_difference += v.kind == VerdictKind::NoDifference;
    t.too_noisy += v.kind == VerdictKind::TooNoisy;
    t.not_valid += v.kind == VerdictKind::NotValid;
  }
  return t;
}

}  // namespace tally::lab::test
