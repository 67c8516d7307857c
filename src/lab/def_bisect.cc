#include "lab/def_bisect.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "lab/stats_distributions.h"

namespace tally::lab::def {

namespace {

void check_versions(std::span<const VersionRate> versions, const std::string& phase) {
  if (versions.size() < 2) fail(ErrorCode::BadInput, "bisect: {} versions; at least two are needed", versions.size());
  const VersionRate* known = nullptr;
  for (const VersionRate& v : versions) {
    if (!(v.mean > 0 && std::isfinite(v.mean)))
      fail(ErrorCode::BadInput, "bisect: {} of version {} is {} tok/s; must be finite and > 0", phase, v.name, v.mean);
    if (v.sd && !(*v.sd >= 0))
      fail(ErrorCode::BadInput, "bisect: standard deviation of version {} is {}; must be ≥ 0", v.name, *v.sd);
    if (v.weights_sha256.empty()) continue;
    if (known && known->weights_sha256 != v.weights_sha256)
      fail(ErrorCode::BadInput,
           "bisect: versions {} and {} ran different weights ({:.12} and {:.12}); a step between "
           "them means nothing, run all on the same file",
           known->name, v.name, known->weights_sha256, v.weights_sha256);
    known = &v;
  }
}

BisectStep step_of(const VersionRate& a, const VersionRate& b) {
  BisectStep s{.from = a.name, .to = b.name, .d = std::log(b.mean / a.mean), .paired = a.session == b.session};
  s.change = std::expm1(s.d);
  if (a.sd && b.sd) {
    double ca = *a.sd / a.mean, cb = *b.sd / b.mean;
    s.sigma = std::sqrt(ca * ca + cb * cb);
    s.flagged = std::fabs(s.d) > 3 * *s.sigma && std::fabs(s.change) > 0.02;
  }
  s.words = fmt::format("{} → {}: {:+.1f} % (d = {:+.3f}{})", a.name, b.name, 100 * s.change, s.d,
                        s.sigma ? fmt::format(", σ = {:.3f}", *s.sigma) : ", noise not known: cannot be flagged");
  if (s.flagged) s.words += s.d < 0 ? ", slower" : ", faster";
  if (!s.paired) s.words += ", not paired: measured in different sessions";
  return s;
}

}  // namespace

Bisect bisect(std::span<const VersionRate> versions, const std::string& phase) {
  check_versions(versions, phase);
  Bisect b;
  for (size_t i = 1; i < versions.size(); ++i) {
    b.steps.push_back(step_of(versions[i - 1], versions[i]));
    const BisectStep& s = b.steps.back();
    if (s.flagged && s.d < 0 && (b.worst < 0 || s.d < b.steps[static_cast<size_t>(b.worst)].d))
      b.worst = static_cast<int>(i - 1);
  }
  std::string flagged;
  for (const BisectStep& s : b.steps)
    if (s.flagged) flagged += (flagged.empty() ? "" : "; ") + s.words;
  b.words = phase + ": " + (flagged.empty() ? "no step beyond its noise (3σ) and 2 %" : flagged);
  return b;
}

int bisect_runs(long k) {
  if (k < 1) fail(ErrorCode::BadInput, "binary search among {} steps: at least one candidate is needed", k);
  int runs = 0;
  for (long reach = 1; reach < k && runs < 62; reach *= 2) ++runs;
  return runs;
}

std::string bisect_words(const Bisect& prefill, const Bisect& decode) {
  std::string text = prefill.words + ". " + decode.words + ".";
  for (size_t i = 0; i < prefill.steps.size() && i < decode.steps.size(); ++i) {
    const BisectStep &p = prefill.steps[i], &d = decode.steps[i];
    if (p.flagged && p.d < 0 && !(d.flagged && d.d < 0))
      text += fmt::format(
          " At {} → {} prefill changed by {:+.1f} % and decode by {:+.1f} %: decode alone would have let "
          "this pass.",
          p.from, p.to, 100 * p.change, 100 * d.change);
  }
  return text;
}

AblationSession ablate(double base_ms, double sd_ms, std::span<const Ablation> parts) {
  if (!(base_ms > 0 && std::isfinite(base_ms)))
    fail(ErrorCode::BadInput, "ablation: baseline of {} ms; must be finite and > 0", base_ms);
  if (!(sd_ms >= 0)) fail(ErrorCode::BadInput, "ablation: noise of {} ms; must be ≥ 0", sd_ms);
  if (parts.empty()) fail(ErrorCode::BadInput, "ablation: no component was switched off");
  AblationSession s;
  bool control = false;
  for (const Ablation& a : parts) {
    if (!(a.expected_share >= 0 && a.expected_share <= 1))
      fail(ErrorCode::BadInput, "ablation: expected share of {} is {}; must lie in 0…1", a.name, a.expected_share);
    AblationRow r{.name = a.name, .saving_ms = base_ms - a.without_ms, .expected_share = a.expected_share};
    r.saving_share = r.saving_ms / base_ms;
    r.effectiveness = a.expected_share > 0 ? r.saving_share / a.expected_share : 0;
    r.control = a.expected_share >= 0.10;
    r.live = r.control && r.effectiveness >= 0.5 && r.saving_ms > 3 * sd_ms;
    control = control || r.control;
    s.valid = s.valid || r.live;
    s.rows.push_back(r);
  }
  const AblationRow& best = *std::max_element(s.rows.begin(), s.rows.end(), [](const auto& a, const auto& b) {
    return (a.control ? a.effectiveness : -1e300) < (b.control ? b.effectiveness : -1e300);
  });
  if (s.valid)
    s.words = fmt::format("switch live: without {} {:.1f} ms less, {:.2f} of the expected share", best.name,
                          best.saving_ms, best.effectiveness);
  else if (!control)
    s.words =
        "no positive control: no component with an expected share of at least 10 % was switched off; every "
        "ablation of this session is void";
  else
    s.words = fmt::format(
        "switch dead: without {} only {:.2f} % less where {:.1f} % were expected (effectiveness {:.3f}, "
        "0.5 and 3σ needed); every ablation of this session is void",
        best.name, 100 * best.saving_share, 100 * best.expected_share, best.effectiveness);
  return s;
}

BestOf best_of(double base, double best, int k, double sd_single, int n) {
  if (!(base > 0 && best > 0))
    fail(ErrorCode::BadInput, "best of {}: base {} and best {}; both must be > 0", k, base, best);
  if (!(sd_single >= 0) || n < 1)
    fail(ErrorCode::BadInput, "best of {}: sd {} of n = {} runs; sd ≥ 0 and n ≥ 1 expected", k, sd_single, n);
  BestOf b{.expected_sd = stats::expected_maximum(k)};
  b.expected_best = base + b.expected_sd * sd_single / std::sqrt(n);
  b.gain = best / base - 1;
  b.gain_left = best / b.expected_best - 1;
  b.shown = best > b.expected_best;
  b.words = fmt::format(
      "best of {} settings: {:.4g} against {:.4g} is {:+.2f} %; the best of {} equal ones is expected at "
      "{:.1f} (n = {}, sd of one run {:.3g}): {}",
      k, best, base, 100 * b.gain, k, b.expected_best, n, sd_single,
      b.shown ? fmt::format("{:+.2f} % are left", 100 * b.gain_left) : "no gain shown");
  return b;
}

double separation(double mean1, double sd1, double mean2, double sd2) {
  if (!(sd1 >= 0 && sd2 >= 0 && sd1 + sd2 > 0))
    fail(ErrorCode::BadInput, "separation: standard deviations {} and {}; both ≥ 0 and one > 0 expected", sd1, sd2);
  return (mean1 - mean2) / std::hypot(sd1, sd2);
}

std::vector<RankRow> rank(std::span<const RankItem> items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items[a].mean > items[b].mean; });
  auto tie = [](const RankItem& a, const RankItem& b, std::optional<stats::Welch>& w) {
    if (a.n < 2 && b.n < 2) return true;  // no noise known: no order can be claimed
    w = stats::welch(a.mean, a.sd, a.n, b.mean, b.sd, b.n);
    return w->low <= 0 && w->high >= 0;
  };
  std::vector<RankRow> rows;
  for (size_t i = 0; i < order.size(); ++i) {
    const RankItem& item = items[order[i]];
    RankRow row{.name = item.name, .rank = static_cast<int>(i) + 1};
    std::optional<stats::Welch> ignored;
    if (i > 0 && rows.back().tie_with_next) row.rank = rows.back().rank;
    if (i > 0) row.tie_with_first = tie(items[order[0]], item, ignored);
    if (i + 1 < order.size()) row.tie_with_next = tie(item, items[order[i + 1]], row.against_next);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace tally::lab::def
