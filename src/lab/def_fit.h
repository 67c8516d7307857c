// M6 fixed and per-token cost, M7 shape of a slowdown, M8 lower bound and crossing length. Times in ms, lengths in
// tokens, rates in tokens per second.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/stats.h"

namespace tally::lab::def {

struct Point {
  double n = 0, ms = 0;  // tokens, time
};

// M6: t = fixed + per_token·n. The intercept depends on the range, so the range is part of the result.
struct CostLine {
  double per_token_ms = 0, fixed_ms = 0, ceiling_tok_s = 0;  // ceiling = 1000 / per_token
  double from_n = 0, to_n = 0;
  double at(double n) const { return fixed_ms + per_token_ms * n; }
};
// Error when n2 < 2·n1, a time is not > 0, or the time does not rise with the length (noise hides the slope).
CostLine two_point(double n1, double t1, double n2, double t2);

struct CostFit {
  CostLine two_point;               // from the longest point and the longest of at most half its length
  std::optional<CostLine> squares;  // least squares over all points, from three on
  std::vector<double> residuals;    // [points] of least squares, ms
  std::string words;
};
// Points in any order, no two of the same length. Error for fewer than two.
CostFit fit_cost(std::span<const Point> points);

// A line against points that it was not made from: the fit holds down to `valid_from` (the shortest length from which
// on every point lies within `tolerance`), and is declared invalid below.
struct HeldOut {
  struct Row {
    double n = 0, measured = 0, predicted = 0, error = 0;  // error = predicted/measured − 1
  };
  std::vector<Row> rows;  // by length
  double valid_from = 0;
  bool holds = true;  // all of them are within
  std::string words;
};
HeldOut held_out(const CostLine& line, std::span<const Point> points, double tolerance = 0.10);

// M7: two curves at the same lengths.
enum class Shape { PerToken, Fixed, Both, NoSlowdown };
struct Slowdown {
  std::vector<double> n, ratios;  // new/old per length
  bool rising = false, falling = false;
  std::vector<double> extra_ms;  // [lengths − 1] per token of each segment: (ΔT_new − ΔT_old) / Δn
  CostLine before, after;
  double fixed_change_ms = 0, per_token_change_ms = 0;
  Shape shape = Shape::Both;
  std::string words;
};
// PerToken when the ratios rise and |ΔF| < 10 % of F; Fixed when they fall towards 1. Error unless both have the same
// two or more lengths.
Slowdown slowdown(std::span<const Point> before, std::span<const Point> after);
const char* name_of(Shape shape);  // "per_token", "fixed", "both", "no_slowdown"

// The extra cost per token between two lengths.
double segment_extra_ms_per_token(double n1, double n2, const double before[2], const double after[2]);

// M8: a rate from time to first token is a lower bound, as it holds the fixed cost (and the network). tok/s
double rate_tok_s(double tokens, double ms);
std::string lower_bound_words(double tokens, double ttft_ms);  // "≥ 783.8 tok/s"

// Length at which two lines cost the same: (F1 − F2) / (c2 − c1); null when it is not positive or they are parallel.
std::optional<double> crossing(const CostLine& a, const CostLine& b);
std::string crossing_words(const CostLine& a, const CostLine& b, const std::string& name_a, const std::string& name_b);

}  // namespace tally::lab::def
