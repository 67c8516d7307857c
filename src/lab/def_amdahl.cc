#include "lab/def_amdahl.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tally::lab::def {

double amdahl(double p, double s) {
  if (!(p >= 0 && p <= 1)) fail(ErrorCode::BadInput, "share p = {}: must lie in 0…1", p);
  if (!(s > 0)) fail(ErrorCode::BadInput, "local speed-up s = {}: must be > 0 (\"inf\" for a segment at no cost)", s);
  return 1 / (1 - p + (std::isinf(s) ? 0 : p / s));
}

double known_share(std::span<const double> shares) {
  double sum = 0;
  for (double p : shares) {
    if (!(p >= 0 && p <= 1)) fail(ErrorCode::BadInput, "share p = {}: must lie in 0…1", p);
    sum += p;
  }
  if (sum > 1 + 1e-6)
    fail(ErrorCode::BadInput,
         "the shares add up to {:.4f}: more than the whole; segments overlap, or are of "
         "different runs",
         sum);
  return std::min(sum, 1.0);
}

KnownFree known_free(std::span<const double> shares, double rate, double target) {
  if (!(rate > 0 && std::isfinite(rate))) fail(ErrorCode::BadInput, "current rate {}: must be finite and > 0", rate);
  if (!(target > 0 && std::isfinite(target)))
    fail(ErrorCode::BadInput, "target rate {}: must be finite and > 0", target);
  KnownFree k{.share = known_share(shares), .rate = rate, .target = target};
  k.ceiling = amdahl(k.share, kInfinite);
  k.best_rate = rate * k.ceiling;
  k.missing = target / k.best_rate;
  k.reachable = k.best_rate >= target;
  k.words =
      k.reachable
          ? fmt::format("reachable: with all {:.2f} % that are known at no cost {:.1f} tok/s, the target is {:.2f}",
                        100 * k.share, k.best_rate, target)
          : fmt::format(
                "unreachable by kernels: with all {:.2f} % that are known at no cost {:.1f} tok/s "
                "({:.3f} times); the target of {:.2f} is {:.2f} times away",
                100 * k.share, k.best_rate, k.ceiling, target, k.missing);
  return k;
}

Unattributed unattributed(double profiled_ms, std::span<const double> segments_ms, std::optional<double> wall_ms) {
  if (!(profiled_ms > 0 && std::isfinite(profiled_ms)))
    fail(ErrorCode::BadInput, "profiled total {} ms: must be finite and > 0", profiled_ms);
  if (wall_ms && !(*wall_ms > 0 && std::isfinite(*wall_ms)))
    fail(ErrorCode::BadInput, "wall time without the profiler {} ms: must be finite and > 0", *wall_ms);
  Unattributed u{.profiled = profiled_ms, .wall = wall_ms};
  for (double t : segments_ms) {
    if (!(t >= 0 && std::isfinite(t))) fail(ErrorCode::BadInput, "segment time {} ms: must be finite and ≥ 0", t);
    u.known += t;
  }
  u.ms = u.profiled - u.known;
  u.share = u.ms / u.profiled;
  u.double_counted = u.ms < -1e-9 * u.profiled;
  u.words = fmt::format("unattributed {:.1f} of {:.1f} ms ({:.2f} %)", u.ms, u.profiled, 100 * u.share);
  if (u.double_counted)
    u.warning = fmt::format(
        "the segments hold {:.1f} ms, more than the profiled {:.1f} ms: they overlap, or are of "
        "another run",
        u.known, u.profiled);
  if (wall_ms) {
    u.overhead = u.profiled / *wall_ms;
    u.shares_warned = *u.overhead > kOverheadLimit;
    if (u.shares_warned)
      u.warning += fmt::format(
          "{}the profiled run took {:.3f} times as long as one without the profiler ({:.1f} ms; at "
          "most {:.2f} expected): profiler overhead or another build, and the shares inherit it",
          u.warning.empty() ? "" : "; ", *u.overhead, *wall_ms, kOverheadLimit);
  }
  return u;
}

}  // namespace tally::lab::def
