#include "lab/verdict.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "lab/def_percent.h"
#include "lab/stats_distributions.h"

namespace tally::lab {

namespace {

double sd_of_logs(std::span<const double> ratios) {
  std::vector<double> logs;
  for (double r : ratios) logs.push_back(std::log(r));
  return stats::summarize(logs).sd;
}

// How far the null run's interval reaches from 1, as |ln|.
double reach(const stats::Interval& i) { return std::max(std::fabs(std::log(i.low)), std::fabs(std::log(i.high))); }

std::string interval_words(const stats::RatioInterval& r) {
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", r.geometric_mean, r.interval.low, r.interval.high);
}

void check_same(const std::string& what, const std::string& a, const std::string& b, Verdict& v) {
  if (a.empty() || b.empty()) {
    v.notes.push_back(
        fmt::format("{} not known on {}: taken as the same", what, a.empty() && b.empty() ? "both sides" : "one side"));
  } else if (a != b) {
    v.reasons.push_back(fmt::format("different {}: A has {}, B has {}; compare the same", what, a, b));
  }
}

// (c): everything that makes the session unfit for a verdict.
void check_session(const VerdictInput& in, Verdict& v) {
  check_same("weights", in.weights_a, in.weights_b, v);
  check_same("fingerprint", in.fingerprint_a, in.fingerprint_b, v);
  if (v.n < in.min_rounds) v.reasons.push_back(fmt::format("{} rounds; at least {} are needed", v.n, in.min_rounds));
  if (v.spread > in.max_spread)
    v.reasons.push_back(
        fmt::format("session contaminated: the largest round ratio is {:.2f} times the smallest "
                    "(at most {:.2f}); find what disturbs single rounds, no round is dropped",
                    v.spread, in.max_spread));
  if (v.steady.known && !v.steady.steady) v.reasons.push_back("round ratios " + v.steady.words);
  if (in.clock_mhz.empty()) v.notes.push_back("the clock could not be read: that it stayed is not checked");
}

// A clock that moved during the session, against the gain that is claimed. Rounds are paired, so what counts is that a
// change this large could make a difference of this size.
void check_clock(const VerdictInput& in, Verdict& v) {
  if (in.clock_mhz.size() < 2) return;
  stats::Summary s = stats::summarize(in.clock_mhz);
  v.clock_change = s.mean > 0 ? (s.max - s.min) / s.mean : 0;
  double gain = std::fabs(v.effect.geometric_mean - 1);
  bool claims = v.kind == VerdictKind::Faster || v.kind == VerdictKind::Slower;
  if (claims && v.clock_change > gain) {
    v.reasons.push_back(
        fmt::format("the clock moved by {:.1f} % during the session, more than the difference of "
                    "{:.1f} %",
                    100 * v.clock_change, 100 * gain));
    v.kind = VerdictKind::NotValid;
  }
}

VerdictKind decide(const VerdictInput& in, const Verdict& v) {
  double log_effect = std::log(v.effect.geometric_mean), bound = std::log1p(in.equivalence);
  const stats::Interval& i = v.effect.interval;
  bool equal = i.within(std::exp(-bound), std::exp(bound));
  if (!i.excludes(1)) return equal ? VerdictKind::NoDifference : VerdictKind::TooNoisy;
  if (v.null && std::fabs(log_effect) <= reach(v.null->interval))
    return equal || std::fabs(log_effect) <= bound ? VerdictKind::NoDifference : VerdictKind::TooNoisy;
  return log_effect > 0 ? VerdictKind::Faster : VerdictKind::Slower;
}

std::string decision_words(const VerdictInput& in, const Verdict& v) {
  double ratio = v.effect.geometric_mean;
  switch (v.kind) {
    case VerdictKind::Faster:
      return "B is faster: " + def::percent(ratio).words;
    case VerdictKind::Slower:
      return "B is slower: " + def::percent(ratio).words;
    case VerdictKind::NoDifference:
      return v.null && v.effect.interval.excludes(1)
                 ? fmt::format("no difference: {:+.2f} % is no more than two identical runs differ by here",
                               100 * (ratio - 1))
                 : fmt::format("no difference above {:.1f} %", 100 * in.equivalence);
    case VerdictKind::TooNoisy:
      return v.rounds_needed > 0 ? fmt::format("too noisy to say after {} rounds; about {} rounds would settle it", v.n,
                                               v.rounds_needed)
                                 : fmt::format("too noisy to say after {} rounds", v.n);
    case VerdictKind::NotValid:
      break;
  }
  std::string all;
  for (const std::string& r : v.reasons) all += (all.empty() ? "" : "; ") + r;
  return "not valid: " + all;
}

std::string sentence(const VerdictInput& in, const Verdict& v) {
  std::string text = decision_words(in, v);
  text += fmt::format(" (ratio {}, n {}, {} of {} rounds won, sign test p {:.3g}, ", interval_words(v.effect), v.n,
                      v.wins, v.wins + v.losses, v.sign_p);
  text += v.null ? fmt::format("null run {} n {}, ", interval_words(*v.null), v.null->n) : "no null run, ";
  return text + fmt::format("spread {:.3f})", v.spread);
}

}  // namespace

const char* name_of(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::Faster:
      return "faster";
    case VerdictKind::Slower:
      return "slower";
    case VerdictKind::NoDifference:
      return "no_difference";
    case VerdictKind::TooNoisy:
      return "too_noisy";
    case VerdictKind::NotValid:
      return "not_valid";
  }
  return "not_valid";
}

int rounds_to_settle(double effect_log, double sd_log, double null_sd_log, double equivalence) {
  double aim = std::max(std::fabs(effect_log), std::log1p(equivalence));
  double sd = std::max(sd_log, null_sd_log);
  if (!(aim > 0) || !std::isfinite(aim) || !std::isfinite(sd)) return 0;
  int n = 6;
  for (; n < 100'000; n += std::max(1, n / 50))
    if (stats::t_quantile(0.975, n - 1) * sd / std::sqrt(n) < aim) break;
  return std::min(n, 100'000);
}

Verdict judge(const VerdictInput& in) {
  if (in.best_of < 1) fail(ErrorCode::BadInput, "best of {}: at least one variant is tried", in.best_of);
  Verdict v{.n = static_cast<int>(in.ratios.size())};
  double level = 1 - 0.05 / in.best_of;
  v.effect = stats::bootstrap_ratio(in.ratios, level);
  if (in.null_ratios.size() >= 2) v.null = stats::bootstrap_ratio(in.null_ratios, level);
  if (!v.null) v.notes.push_back("no null run: what two identical runs differ by is not known");
  for (double r : in.ratios) {
    v.wins += r > 1;
    v.losses += r < 1;
  }
  v.sign_p = stats::sign_test(v.wins, v.wins + v.losses);
  auto [lo, hi] = std::minmax_element(in.ratios.begin(), in.ratios.end());
  v.spread = *hi / *lo;
  v.drift = stats::trend(in.ratios);
  v.steady = stats::steady(in.ratios, 0.02);
  v.outliers = stats::outlier_words(in.ratios);
  if (!v.outliers.empty()) v.notes.push_back(v.outliers);
  if (in.best_of > 1) v.notes.push_back(fmt::format("best of {}: intervals at {:.2f} %", in.best_of, 100 * level));
  check_session(in, v);
  v.kind = v.reasons.empty() ? decide(in, v) : VerdictKind::NotValid;
  check_clock(in, v);
  if (v.kind == VerdictKind::TooNoisy) {
    double null_sd = v.null ? sd_of_logs(in.null_ratios) : 0;
    v.rounds_needed = std::max(
        v.n + 1, rounds_to_settle(std::log(v.effect.geometric_mean), sd_of_logs(in.ratios), null_sd, in.equivalence));
  }
  v.words = sentence(in, v);
  return v;
}

Equivalence equivalent(std::span<const double> null_ratios, double bound) {
  if (!(bound > 0)) fail(ErrorCode::BadInput, "equivalence bound {}: must be > 0", bound);
  Equivalence e{.interval = stats::bootstrap_ratio(null_ratios, 0.90)};
  e.smallest_bound = std::expm1(reach(e.interval.interval));
  e.equivalent = e.smallest_bound <= bound;
  e.words = fmt::format("two identical runs are {} within {:.1f} %: ratio {}, n {}, smallest bound {:.2f} %",
                        e.equivalent ? "equal" : "not shown to be equal", 100 * bound, interval_words(e.interval),
                        e.interval.n, 100 * e.smallest_bound);
  return e;
}

}  // namespace tally::lab
