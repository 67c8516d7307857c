// M15 bandwidth and arithmetic position, M14 reconciling two engines. Bytes, GB = 1e9 bytes, ms, GFLOP = 1e9.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tally::lab::def {

// M15.
double weight_bytes(double rows, double cols, double bits_per_weight);
double gflop(double m, double n, double k);  // 2·m·n·k / 1e9
double tflop_s(double gflop, double ms);
double gb_s(double bytes, double ms);
double read_time_ms(double bytes, double times, double gb_s);   // bytes read so many times
double decode_gb_s(double gib_of_weights, double tok_s);        // GiB × 2^30 × tok/s / 1e9
long bank_conflict_degree(long stride_words, long banks = 32);  // gcd(stride, banks); Error unless both > 0

enum class Bound { Bandwidth, Arithmetic, Neither };
struct Position {
  double bytes = 0, gflop = 0, gb_s = 0, tflop_s = 0;
  double share_of_bandwidth = 0, share_of_arithmetic = 0;
  Bound bound = Bound::Neither;  // by the larger share; Neither when that is below 0.5
  bool impossible = false;       // above a peak (by more than 5 %): bytes, time or peak are wrong
  std::string words;
};
// Error unless ms and the peaks are > 0, and bytes and gflop ≥ 0.
Position position(double bytes, double gflop, double ms, double peak_gb_s, double peak_tflop_s);

// M14: time of one category in both engines, by replaying the same calls in place.
struct Category {
  std::string name;
  double ms1 = 0, ms2 = 0;
  // Where known: bytes read and weight bytes touched by engine 1 and 2 (0: not known).
  double bytes1 = 0, bytes2 = 0, weight_bytes = 0;
};
struct Reconciled {
  struct Row {
    std::string name;
    double ms1 = 0, ms2 = 0, gap_ms = 0, share_of_gap = 0;
  };
  double coverage1 = 0, coverage2 = 0;                // Σt / W
  bool coverage_ok = false;                           // both within 0.95…1.05
  std::vector<Row> rows;                              // by size of the gap
  double sum_ms = 0, gap_ms = 0, unexplained_ms = 0;  // Σ(t1 − t2), W1 − W2, their difference
  std::vector<std::string> complaints;  // κ outside, bandwidth above the peak, fewer bytes read than the weights have
  std::string words;
};
// peak_gb_s 0: not known. Error unless the wall times are > 0 and there is a category.
Reconciled reconcile(std::span<const Category> categories, double wall1_ms, double wall2_ms, double peak_gb_s);

// Coverage of one total by calls of a measured size: κ = calls·ms / total. The number of calls that would explain it
// is total/ms. Two measurements are of the same thing only when κ lies in 0.95…1.05.
struct Coverage {
  double kappa = 0, calls_that_explain = 0;
  bool same_thing = false;
  std::string words;
};
Coverage coverage_of_calls(double in_place_ms, double standalone_ms, double calls);

double gap_ms(double tokens, double own_tok_s, double other_tok_s);  // own time − other time
// Share of that gap which a gain on one's own rate closes: (own·(1+gain) as time against both).
double gap_closed_share(double own_tok_s, double other_tok_s, double gain);
double microbenchmark_factor(double in_place_ms, double standalone_ms);  // m = in place / alone; stored, not a phrase

}  // namespace tally::lab::def
