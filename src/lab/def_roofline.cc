#include "lab/def_roofline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace tally::lab::def {

namespace {

void need(const char* what, double x) {
  if (!(x > 0 && std::isfinite(x))) fail(ErrorCode::BadInput, "{} is {}: must be finite and > 0", what, x);
}

void need_count(const char* what, double x) {
  if (!(x >= 0 && std::isfinite(x))) fail(ErrorCode::BadInput, "{} is {}: must be finite and ≥ 0", what, x);
}

constexpr double kCoverageLow = 0.95, kCoverageHigh = 1.05;

bool covers(double kappa) { return kappa >= kCoverageLow && kappa <= kCoverageHigh; }

}  // namespace

double weight_bytes(double rows, double cols, double bits_per_weight) {
  need("rows", rows);
  need("columns", cols);
  need("bits per weight", bits_per_weight);
  return rows * cols * bits_per_weight / 8;
}

double gflop(double m, double n, double k) {
  need("m", m);
  need("n", n);
  need("k", k);
  return 2 * m * n * k / 1e9;
}

double tflop_s(double gflop_, double ms) {
  need("time in ms", ms);
  need_count("GFLOP", gflop_);
  return gflop_ / ms;
}

double gb_s(double bytes, double ms) {
  need("time in ms", ms);
  need_count("bytes", bytes);
  return bytes / ms / 1e6;
}

double read_time_ms(double bytes, double times, double gb_s_) {
  need("bandwidth in GB/s", gb_s_);
  need_count("bytes", bytes);
  need_count("times", times);
  return bytes * times / gb_s_ / 1e6;
}

double decode_gb_s(double gib_of_weights, double tok_s) {
  need("GiB of weights", gib_of_weights);
  need("rate", tok_s);
  return gib_of_weights * 1024 * 1024 * 1024 * tok_s / 1e9;
}

long bank_conflict_degree(long stride_words, long banks) {
  if (stride_words <= 0 || banks <= 0)
    fail(ErrorCode::BadInput, "bank conflicts: stride {} words, {} banks; both must be > 0", stride_words, banks);
  return std::gcd(stride_words, banks);
}

Position position(double bytes, double gflop_, double ms, double peak_gb_s, double peak_tflop_s) {
  need("peak GB/s", peak_gb_s);
  need("peak TFLOP/s", peak_tflop_s);
  Position p{.bytes = bytes, .gflop = gflop_, .gb_s = gb_s(bytes, ms), .tflop_s = tflop_s(gflop_, ms)};
  p.share_of_bandwidth = p.gb_s / peak_gb_s;
  p.share_of_arithmetic = p.tflop_s / peak_tflop_s;
  double larger = std::max(p.share_of_bandwidth, p.share_of_arithmetic);
  p.impossible = larger > 1.05;
  bool memory = p.share_of_bandwidth >= p.share_of_arithmetic;
  if (larger >= 0.5) p.bound = memory ? Bound::Bandwidth : Bound::Arithmetic;
  std::string verdict = p.bound == Bound::Bandwidth    ? "bandwidth-bound"
                        : p.bound == Bound::Arithmetic ? "arithmetic-bound"
                        : memory                       ? "neither: not bandwidth-bound"
                                                       : "neither: not arithmetic-bound";
  if (p.impossible) verdict = "above the peak: the bytes, the time or the peak are wrong";
  p.words =
      fmt::format("{:.1f} GB/s ({:.0f} % of {:.0f}), {:.3f} TFLOP/s ({:.0f} % of {:.3g}): {}", p.gb_s,
                  100 * p.share_of_bandwidth, peak_gb_s, p.tflop_s, 100 * p.share_of_arithmetic, peak_tflop_s, verdict);
  return p;
}

namespace {

void check_bytes(const Category& c, double peak_gb_s, std::vector<std::string>& complaints) {
  auto one = [&](int engine, double bytes, double ms) {
    if (bytes <= 0 || ms <= 0) return;
    if (peak_gb_s > 0 && gb_s(bytes, ms) > 1.05 * peak_gb_s)
      complaints.push_back(fmt::format("{}, engine {}: {:.1f} GB/s, above the peak of {:.1f}; bytes or time are wrong",
                                       c.name, engine, gb_s(bytes, ms), peak_gb_s));
    if (c.weight_bytes > 0 && bytes < c.weight_bytes)
      complaints.push_back(fmt::format("{}, engine {}: reads {:.0f} bytes, fewer than the {:.0f} of its weights",
                                       c.name, engine, bytes, c.weight_bytes));
  };
  one(1, c.bytes1, c.ms1);
  one(2, c.bytes2, c.ms2);
}

}  // namespace

Reconciled reconcile(std::span<const Category> categories, double wall1_ms, double wall2_ms, double peak_gb_s) {
  need("wall time of engine 1", wall1_ms);
  need("wall time of engine 2", wall2_ms);
  if (categories.empty()) fail(ErrorCode::BadInput, "reconcile: no category with a time in either engine");
  Reconciled r{.gap_ms = wall1_ms - wall2_ms};
  double sum1 = 0, sum2 = 0;
  for (const Category& c : categories) {
    need_count("time of a category", c.ms1);
    need_count("time of a category", c.ms2);
    sum1 += c.ms1;
    sum2 += c.ms2;
    double gap = c.ms1 - c.ms2;
    r.rows.push_back({c.name, c.ms1, c.ms2, gap, r.gap_ms != 0 ? gap / r.gap_ms : 0});
    check_bytes(c, peak_gb_s, r.complaints);
  }
  std::stable_sort(r.rows.begin(), r.rows.end(),
                   [](const auto& a, const auto& b) { return std::fabs(a.gap_ms) > std::fabs(b.gap_ms); });
  r.coverage1 = sum1 / wall1_ms;
  r.coverage2 = sum2 / wall2_ms;
  r.coverage_ok = covers(r.coverage1) && covers(r.coverage2);
  r.sum_ms = sum1 - sum2;
  r.unexplained_ms = r.gap_ms - r.sum_ms;
  for (int i : {1, 2}) {
    double kappa = i == 1 ? r.coverage1 : r.coverage2;
    if (!covers(kappa))
      r.complaints.push_back(
          fmt::format("engine {}: the categories cover {:.2f} of the wall time (0.95…1.05 expected): {}", i, kappa,
                      kappa < 1 ? "time outside every category" : "overlapping calls, or times of another run"));
  }
  r.words = fmt::format(
      "coverage {:.3f} and {:.3f}; gap {:+.2f} ms, of which the categories explain {:+.2f}, {:+.2f} stay open",
      r.coverage1, r.coverage2, r.gap_ms, r.sum_ms, r.unexplained_ms);
  if (!r.coverage_ok) r.words += "; not reconciled: the coverage is outside 0.95…1.05";
  return r;
}

Coverage coverage_of_calls(double in_place_ms, double standalone_ms, double calls) {
  need("time in place", in_place_ms);
  need("time of a standalone call", standalone_ms);
  need("number of calls", calls);
  Coverage c{.kappa = in_place_ms / (standalone_ms * calls), .calls_that_explain = in_place_ms / standalone_ms};
  c.same_thing = covers(c.kappa);
  c.words =
      fmt::format("{:.1f} ms in place are {:.1f} calls of {:.1f} ms; with {:.0f} calls the coverage is {:.2f}: {}",
                  in_place_ms, c.calls_that_explain, standalone_ms, calls, c.kappa,
                  c.same_thing ? "consistent" : "the two measurements are not of the same thing");
  return c;
}

double gap_ms(double tokens, double own_tok_s, double other_tok_s) {
  need("tokens", tokens);
  need("own rate", own_tok_s);
  need("other rate", other_tok_s);
  return 1000 * tokens / own_tok_s - 1000 * tokens / other_tok_s;
}

double gap_closed_share(double own_tok_s, double other_tok_s, double gain) {
  if (!(gain > -1)) fail(ErrorCode::BadInput, "gain {}: must be above −1", gain);
  double whole = gap_ms(1, own_tok_s, other_tok_s);
  if (whole == 0) fail(ErrorCode::BadInput, "both engines run at {} tok/s: there is no gap to close", own_tok_s);
  return gap_ms(1, own_tok_s, own_tok_s * (1 + gain)) / whole;
}

double microbenchmark_factor(double in_place_ms, double standalone_ms) {
  need("time in place", in_place_ms);
  need("time alone", standalone_ms);
  return in_place_ms / standalone_ms;
}

}  // namespace tally::lab::def
