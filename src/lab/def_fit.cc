#include "lab/def_fit.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tally::lab::def {

namespace {

void need_point(double n, double ms) {
  if (!(n > 0 && std::isfinite(n) && ms > 0 && std::isfinite(ms)))
    fail(ErrorCode::BadInput, "point of {} tokens in {} ms: both must be finite and > 0", n, ms);
}

std::vector<Point> by_length(std::span<const Point> points) {
  std::vector<Point> p(points.begin(), points.end());
  for (const Point& q : p) need_point(q.n, q.ms);
  std::sort(p.begin(), p.end(), [](const Point& a, const Point& b) { return a.n < b.n; });
  for (size_t i = 1; i < p.size(); ++i)
    if (p[i].n == p[i - 1].n)
      fail(ErrorCode::BadInput, "length {} occurs twice; give one time (the mean) a length", p[i].n);
  return p;
}

CostLine line_of(const std::vector<Point>& p) {
  if (p.size() < 2)
    fail(ErrorCode::BadInput, "fixed and per-token cost: {} lengths; at least two are needed", p.size());
  const Point& last = p.back();
  for (size_t i = p.size() - 1; i-- > 0;)
    if (2 * p[i].n <= last.n) return two_point(p[i].n, p[i].ms, last.n, last.ms);
  return two_point(p.front().n, p.front().ms, last.n, last.ms);  // says what is wrong
}

}  // namespace

CostLine two_point(double n1, double t1, double n2, double t2) {
  need_point(n1, t1);
  need_point(n2, t2);
  if (n2 < 2 * n1)
    fail(ErrorCode::BadInput,
         "lengths {} and {}: the second must be at least twice the first, or noise decides the "
         "intercept",
         n1, n2);
  if (t2 <= t1)
    fail(ErrorCode::BadInput,
         "{} tokens take {} ms and {} take {} ms: the time does not rise with the length, so no "
         "cost per token follows; measure longer prompts or more rounds",
         n1, t1, n2, t2);
  CostLine l{.per_token_ms = (t2 - t1) / (n2 - n1), .from_n = n1, .to_n = n2};
  l.fixed_ms = t1 - l.per_token_ms * n1;
  l.ceiling_tok_s = 1000 / l.per_token_ms;
  return l;
}

CostFit fit_cost(std::span<const Point> points) {
  std::vector<Point> p = by_length(points);
  CostFit f{.two_point = line_of(p)};
  if (p.size() >= 3) {
    std::vector<double> n, t;
    for (const Point& q : p) n.push_back(q.n), t.push_back(q.ms);
    stats::Line s = stats::least_squares(n, t);
    if (s.slope > 0) f.squares = CostLine{s.slope, s.intercept, 1000 / s.slope, n.front(), n.back()};
    f.residuals = s.residuals;
  }
  auto words = [](const CostLine& l) {
    return fmt::format("{:.4g} ms per token and {:.1f} ms fixed over {:.0f}…{:.0f} tokens, ceiling {:.1f} tok/s",
                       l.per_token_ms, l.fixed_ms, l.from_n, l.to_n, l.ceiling_tok_s);
  };
  f.words = words(f.two_point);
  if (f.squares) f.words += "; least squares: " + words(*f.squares);
  if (f.two_point.fixed_ms < 0)
    f.words +=
        "; the fixed cost is negative: the cost per token rises with the length (attention), a straight line "
        "does not hold over this range";
  return f;
}

HeldOut held_out(const CostLine& line, std::span<const Point> points, double tolerance) {
  HeldOut h;
  for (const Point& p : by_length(points)) h.rows.push_back({p.n, p.ms, line.at(p.n), line.at(p.n) / p.ms - 1});
  if (h.rows.empty()) fail(ErrorCode::BadInput, "held-out check: no point was held out; measure one more length");
  h.valid_from = line.from_n;
  bool within = true;
  for (size_t i = h.rows.size(); i-- > 0;) {
    const HeldOut::Row& r = h.rows[i];
    bool ok = std::fabs(r.error) <= tolerance;
    h.holds = h.holds && ok;
    within = within && ok;
    if (within) h.valid_from = std::min(h.valid_from, r.n);
    h.words += fmt::format("{}{:.0f} tokens: predicted {:.1f}, measured {:.1f} ms ({:+.1f} %)",
                           h.words.empty() ? "" : "; ", r.n, r.predicted, r.measured, 100 * r.error);
  }
  double above = 0;
  for (const HeldOut::Row& r : h.rows)
    if (std::fabs(r.error) > tolerance && r.n >= line.from_n) above = std::max(above, r.n);
  if (above > 0)
    h.words += fmt::format("; the fit is invalid: it misses {:.0f} tokens inside or above its own range", above);
  else if (!h.holds)
    h.words += fmt::format("; the fit is invalid below {:.0f} tokens", h.valid_from);
  return h;
}

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::PerToken:
      return "per_token";
    case Shape::Fixed:
      return "fixed";
    case Shape::Both:
      return "both";
    case Shape::NoSlowdown:
      return "no_slowdown";
  }
  return "both";
}

double segment_extra_ms_per_token(double n1, double n2, const double before[2], const double after[2]) {
  if (!(n2 > n1)) fail(ErrorCode::BadInput, "segment {}…{}: the second length must be larger", n1, n2);
  return ((after[1] - after[0]) - (before[1] - before[0])) / (n2 - n1);
}

namespace {

Shape shape_of(const Slowdown& s) {
  bool differs = false;
  for (double r : s.ratios) differs = differs || std::fabs(r - 1) > 0.02;
  if (!differs) return Shape::NoSlowdown;
  double fixed = std::max(std::fabs(s.before.fixed_ms), 1e-9);
  if (s.rising && std::fabs(s.fixed_change_ms) < 0.10 * fixed) return Shape::PerToken;
  bool towards_one = std::fabs(s.ratios.back() - 1) < std::fabs(s.ratios.front() - 1);
  if (s.falling && towards_one && s.ratios.back() > 0.98) return Shape::Fixed;
  return Shape::Both;
}

std::string shape_words(const Slowdown& s) {
  std::string numbers =
      fmt::format("ratio {:.2f} at {:.0f} tokens, {:.2f} at {:.0f}; per token {:+.4g} ms, fixed {:+.1f} ms",
                  s.ratios.front(), s.n.front(), s.ratios.back(), s.n.back(), s.per_token_change_ms, s.fixed_change_ms);
  switch (s.shape) {
    case Shape::PerToken:
      return "the slowdown is per token: " + numbers;
    case Shape::Fixed:
      return "the slowdown is a fixed cost: " + numbers;
    case Shape::NoSlowdown:
      return "the curves agree within 2 %: " + numbers;
    case Shape::Both:
      break;
  }
  return "neither per token alone nor fixed alone: " + numbers;
}

}  // namespace

Slowdown slowdown(std::span<const Point> before, std::span<const Point> after) {
  std::vector<Point> a = by_length(before), b = by_length(after);
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = a[i].n == b[i].n;
  if (!same || a.size() < 2)
    fail(ErrorCode::BadInput,
         "shape of a slowdown: both curves need the same two or more lengths; found {} and {} points", a.size(),
         b.size());
  Slowdown s{.rising = true, .falling = true, .before = line_of(a), .after = line_of(b)};
  for (size_t i = 0; i < a.size(); ++i) {
    s.n.push_back(a[i].n);
    s.ratios.push_back(b[i].ms / a[i].ms);
    if (i == 0) continue;
    const double old_ms[] = {a[i - 1].ms, a[i].ms}, new_ms[] = {b[i - 1].ms, b[i].ms};
    s.extra_ms.push_back(segment_extra_ms_per_token(a[i - 1].n, a[i].n, old_ms, new_ms));
    s.rising = s.rising && s.ratios[i] > s.ratios[i - 1];
    s.falling = s.falling && s.ratios[i] < s.ratios[i - 1];
  }
  s.fixed_change_ms = s.after.fixed_ms - s.before.fixed_ms;
  s.per_token_change_ms = s.after.per_token_ms - s.before.per_token_ms;
  s.shape = shape_of(s);
  s.words = shape_words(s);
  return s;
}

double rate_tok_s(double tokens, double ms) {
  if (!(ms > 0 && std::isfinite(ms))) fail(ErrorCode::BadInput, "rate: a time of {} ms; must be finite and > 0", ms);
  if (!(tokens >= 0 && std::isfinite(tokens))) fail(ErrorCode::BadInput, "rate: {} tokens; must be ≥ 0", tokens);
  return 1000 * tokens / ms;
}

std::string lower_bound_words(double tokens, double ttft_ms) {
  return fmt::format("≥ {:.1f} tok/s", rate_tok_s(tokens, ttft_ms));
}

std::optional<double> crossing(const CostLine& a, const CostLine& b) {
  double slopes = b.per_token_ms - a.per_token_ms;
  if (slopes == 0) return std::nullopt;
  double n = (a.fixed_ms - b.fixed_ms) / slopes;
  if (!(n > 0 && std::isfinite(n))) return std::nullopt;
  return n;
}

std::string crossing_words(const CostLine& a, const CostLine& b, const std::string& name_a, const std::string& name_b) {
  std::optional<double> n = crossing(a, b);
  const std::string& steep = a.per_token_ms > b.per_token_ms ? name_a : name_b;
  const std::string& flat = a.per_token_ms > b.per_token_ms ? name_b : name_a;
  if (!n) {
    bool a_first = a.fixed_ms + a.per_token_ms <= b.fixed_ms + b.per_token_ms;
    return fmt::format("the curves do not cross: {} is ahead at every length", a_first ? name_a : name_b);
  }
  return fmt::format(
      "the curves cross at {:.0f} tokens: {} is ahead below, {} above; a ranking at one length says "
      "nothing about the other side",
      *n, steep, flat);
}

}  // namespace tally::lab::def
