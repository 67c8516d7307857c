#include "lab/def_percent.h"

#include <cmath>

#include "base/error.h"
#include "lab/def_amdahl.h"

namespace tally::lab::def {

namespace {

void need_rate(const char* what, double x) {
  if (!(x > 0 && std::isfinite(x))) fail(ErrorCode::BadInput, "{} is {}: must be finite and > 0", what, x);
}

}  // namespace

Percent percent(double ratio) {
  need_rate("ratio new/old", ratio);
  Percent p{.ratio = ratio, .faster = ratio - 1, .less_time = 1 - 1 / ratio};
  p.words = ratio >= 1 ? fmt::format("+{:.1f} % faster, {:.1f} % less time", 100 * p.faster, 100 * p.less_time)
                       : fmt::format("{:.1f} % slower, {:.1f} % more time", -100 * p.faster, -100 * p.less_time);
  return p;
}

Percent percent_of_rates(double before, double after) {
  need_rate("the rate before", before);
  need_rate("the rate after", after);
  return percent(after / before);
}

ClaimedPercent claimed_percent(double before, double after, double claimed, double tolerance) {
  Percent p = percent_of_rates(before, after);
  ClaimedPercent c;
  double gain = std::fabs(p.faster), share = std::fabs(p.less_time);
  if (std::fabs(claimed - gain) <= tolerance)
    c.readings.push_back(fmt::format("change as a share of the old rate ({:.1f} %)", 100 * gain));
  if (std::fabs(claimed - share) <= tolerance)
    c.readings.push_back(fmt::format("change as a share of the final rate ({:.1f} %)", 100 * share));
  if (std::fabs(claimed - 1 / (1 + p.faster)) <= tolerance)
    c.readings.push_back(fmt::format("the old rate as a share of the final one ({:.1f} %)", 100 / p.ratio));
  if (std::fabs(claimed - p.ratio) <= tolerance)
    c.readings.push_back(fmt::format("the final rate as a share of the old one ({:.1f} %)", 100 * p.ratio));
  std::string list;
  for (const std::string& r : c.readings) list += (list.empty() ? "" : "; or ") + r;
  c.words = c.readings.empty()
                ? fmt::format("\"{:.1f} %\" fits no reading of {} → {}: {}", 100 * claimed, before, after, p.words)
                : fmt::format("\"{:.1f} %\" is the {}; print both: {}", 100 * claimed, list, p.words);
  return c;
}

Undercount undercount(double y) {
  if (!(y >= 0 && y < 1)) fail(ErrorCode::BadInput, "undercounts by {}: a share in 0…1 (below 1) is expected", y);
  return {1 / (1 - y), 1 + y};
}

Chain chain(std::span<const Step> steps, double tolerance) {
  if (steps.empty()) fail(ErrorCode::BadInput, "no steps: at least one time before and after is needed");
  Chain c;
  for (size_t i = 0; i < steps.size(); ++i) {
    need_rate("a time before", steps[i].before);
    need_rate("a time after", steps[i].after);
    c.product *= steps[i].before / steps[i].after;
    if (i > 0 && c.broken_at < 0 && std::fabs(steps[i].before / steps[i - 1].after - 1) > tolerance)
      c.broken_at = static_cast<int>(i);
  }
  c.whole = steps.front().before / steps.back().after;
  c.composes = c.broken_at < 0;
  if (c.composes) {
    c.words =
        fmt::format("the steps compose: {:.3f} times from {} to {}", c.whole, steps.front().before, steps.back().after);
  } else {
    auto i = static_cast<size_t>(c.broken_at);
    c.words = fmt::format(
        "the gains do not multiply: step {} starts at {}, but the step before ended at {}; the product "
        "would say {:.3f} times, from first to last it is {:.3f}",
        i + 1, steps[i].before, steps[i - 1].after, c.product, c.whole);
  }
  return c;
}

double implied_share(double chain_gain, double local_gain) {
  need_rate("the gain in the chain", chain_gain);
  if (!(local_gain > 0) || local_gain == 1)
    fail(ErrorCode::BadInput, "local gain {}: must be > 0 and not 1, or nothing follows about its share", local_gain);
  return (1 - 1 / chain_gain) / (1 - 1 / local_gain);
}

StaleShare stale_share(double chain_gain, double local_gain, double recorded_share) {
  StaleShare s{.implied = implied_share(chain_gain, local_gain)};
  s.ceiling = amdahl(recorded_share, kInfinite);
  s.expected = amdahl(recorded_share, local_gain);
  s.stale = chain_gain > s.ceiling;
  s.words = s.stale ? fmt::format(
                          "the recorded share is stale: {:.2f} % allows {:.4f} times at most, the chain gained "
                          "{:.4f}; that needs a share of {:.2f} %",
                          100 * recorded_share, s.ceiling, chain_gain, 100 * s.implied)
                    : fmt::format(
                          "a gain of {:.4f} is possible with the recorded share of {:.2f} % (at most {:.4f}); it "
                          "implies {:.2f} %",
                          chain_gain, 100 * recorded_share, s.ceiling, 100 * s.implied);
  return s;
}

}  // namespace tally::lab::def
