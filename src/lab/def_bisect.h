// M9 release bisect, M10 ablation with a positive control, M12 error bars and ranks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/stats.h"

namespace tally::lab::def {

// M9: one measured version; mean and sd of a rate (tok/s) on the same weights.
struct VersionRate {
  std::string name;
  double mean = 0;
  std::optional<double> sd;    // not known: the step cannot be flagged
  std::string session;         // versions of one session were measured together; empty: the same
  std::string weights_sha256;  // empty: not known
};
struct BisectStep {
  std::string from, to;
  double d = 0;                 // ln(x_i / x_{i−1})
  double change = 0;            // e^d − 1
  std::optional<double> sigma;  // √(cv_i² + cv_{i−1}²)
  bool flagged = false;         // |d| > 3σ and more than 2 %
  bool paired = true;           // measured in the same session
  std::string words;
};
struct Bisect {
  std::vector<BisectStep> steps;
  int worst = -1;  // flagged step with the largest drop, −1: none
  std::string words;
};
// Error for fewer than two versions, rates not > 0, or different weights (which versions is said).
Bisect bisect(std::span<const VersionRate> versions, const std::string& phase);
// Further runs that a binary search needs among k candidate steps: ⌈log2 k⌉. Error for k < 1.
int bisect_runs(long k);
// Prefill and decode side by side: says when decode alone would have let a step pass.
std::string bisect_words(const Bisect& prefill, const Bisect& decode);

// M10: components switched off one at a time.
struct Ablation {
  std::string name;
  double without_ms = 0;      // T_X
  double expected_share = 0;  // p_X, from M3 or from bytes
};
struct AblationRow {
  std::string name;
  double saving_ms = 0, saving_share = 0, effectiveness = 0, expected_share = 0;
  bool control = false;  // p ≥ 0.10: can prove that the switch works
  bool live = false;     // e ≥ 0.5 and saving > 3σ
};
struct AblationSession {
  bool valid = false;
  std::vector<AblationRow> rows;
  std::string words;  // "switch dead: …" when no control has moved the clock: every ablation of the session is void
};
// base and sd of one measurement in ms. Error when base is not > 0, sd < 0, a share is outside 0…1, or none is given.
AblationSession ablate(double base_ms, double sd_ms, std::span<const Ablation> parts);

// Best of k tried settings (values: larger is better): what of the gain is left when the expected maximum of k noise
// draws is taken off. sd is that of one value as it is compared (for means of n runs: sd/√n, done here).
struct BestOf {
  double expected_sd = 0;          // 1.668 for 13
  double expected_best = 0;        // base + expected_sd·sd/√n: the best of k equal settings
  double gain = 0, gain_left = 0;  // (best − base)/base, and with the expected maximum in the base's place
  bool shown = false;              // best > expected_best
  std::string words;
};
BestOf best_of(double base, double best, int k, double sd_single, int n);

// M12.
struct RankItem {
  std::string name;
  double mean = 0, sd = 0;   // larger mean is better
  int n = 1;                 // 1: sd not known
  bool lower_bound = false;  // "≥"
};
// (m1 − m2) / √(sd1² + sd2²); Error when both sds are 0.
double separation(double mean1, double sd1, double mean2, double sd2);
struct RankRow {
  std::string name;
  int rank = 0;  // ties share the best rank among them
  bool tie_with_next = false;
  bool tie_with_first = false;
  std::optional<stats::Welch> against_next;  // this − next
};
// By mean, descending. Two items tie when the 95 % interval of their difference contains 0, or when neither noise is
// known; the tie is said between neighbours.
std::vector<RankRow> rank(std::span<const RankItem> items);

}  // namespace tally::lab::def
