#include "ops/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "base/rng.h"

namespace tally::ops {

namespace {

struct Candidate {
  float logit;
  int32_t id;
};

bool better(const Candidate& a, const Candidate& b) { return a.logit > b.logit || (a.logit == b.logit && a.id < b.id); }

void apply_penalties(std::vector<Candidate>& c, std::span<const int32_t> history, const SamplingSettings& s) {
  size_t n = s.penalty_last_n < 0 ? history.size() : std::min<size_t>(history.size(), s.penalty_last_n);
  std::unordered_map<int32_t, int> counts;
  for (int32_t id : history.last(n)) ++counts[id];
  for (auto [id, count] : counts) {
    if (id < 0 || id >= static_cast<int32_t>(c.size())) continue;
    float& x = c[id].logit;
    x = x > 0 ? x / s.repeat_penalty : x * s.repeat_penalty;
    x -= s.presence_penalty + s.frequency_penalty * count;
  }
}

// Sorts the best `n` candidates to the front and drops the rest.
void keep_best(std::vector<Candidate>& c, size_t n) {
  n = std::min(n, c.size());
  std::partial_sort(c.begin(), c.begin() + n, c.end(), better);
  c.resize(n);
}

// Probabilities of sorted candidates (best first), relative to the best.
std::vector<double> weights_of(const std::vector<Candidate>& c) {
  std::vector<double> w(c.size());
  for (size_t i = 0; i < c.size(); ++i) w[i] = std::exp(double(c[i].logit) - c[0].logit);
  return w;
}

bool has_bit(std::span<const uint64_t> row, size_t id) {
  return id / 64 < row.size() && (row[id / 64] >> (id % 64) & 1);
}

// −1 when an id that may be chosen has a finite logit, else the lowest that may be chosen.
int32_t only_choice(const std::vector<Candidate>& c, std::span<const int32_t> banned,
                    std::span<const uint64_t> allowed) {
  for (const Candidate& x : c)
    if (x.logit > -std::numeric_limits<float>::infinity()) return -1;
  for (const Candidate& x : c)
    if (has_bit(allowed, static_cast<size_t>(x.id)) && std::find(banned.begin(), banned.end(), x.id) == banned.end())
      return x.id;
  fail(ErrorCode::BadInput, "no token of the vocabulary may come next: it cannot spell what the constraint asks for");
}

}  // namespace

void check_settings(const SamplingSettings& s) {
  auto in = [](const char* name, double x, double low, double high) {
    if (!(x >= low && x <= high)) fail(ErrorCode::Usage, "{} is {}, expected {} to {}", name, x, low, high);
  };
  in("temperature", s.temperature, -1, 100);
  in("top_k", s.top_k, 0, 1 << 30);
  in("top_p", s.top_p, 0, 1);
  in("min_p", s.min_p, 0, 1);
  in("repeat_penalty", s.repeat_penalty, 0.01, 100);
  in("presence_penalty", s.presence_penalty, -100, 100);
  in("frequency_penalty", s.frequency_penalty, -100, 100);
  in("penalty_last_n", s.penalty_last_n, -1, 1 << 30);
}

int32_t argmax(std::span<const float> logits) {
  int32_t best = 0;
  float top = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > top) top = logits[i], best = static_cast<int32_t>(i);
  return best;
}

int32_t sample(std::span<const float> logits, std::span<const int32_t> history, const SamplingSettings& s,
               uint64_t position, std::span<const int32_t> banned, std::span<const uint64_t> allowed) {
  bool greedy = s.temperature <= 0;
  if (greedy && !s.has_penalties() && banned.empty() && allowed.empty()) return argmax(logits);
  std::vector<Candidate> c(logits.size());
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = {std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i], static_cast<int32_t>(i)};
  if (s.has_penalties()) apply_penalties(c, history, s);
  for (int32_t id : banned)
    if (id >= 0 && id < static_cast<int32_t>(c.size())) c[id].logit = -std::numeric_limits<float>::infinity();
  if (!allowed.empty()) {
    for (size_t id = 0; id < c.size(); ++id)
      if (!has_bit(allowed, id)) c[id].logit = -std::numeric_limits<float>::infinity();
    if (const int32_t only = only_choice(c, banned, allowed); only >= 0) return only;
  }
  if (greedy) return std::min_element(c.begin(), c.end(), better)->id;
  for (Candidate& x : c) x.logit /= s.temperature;
  if (s.top_k > 0)
    keep_best(c, s.top_k);
  else if (s.top_p < 1.f || s.min_p > 0.f)
    keep_best(c, c.size());
  else
    std::iter_swap(c.begin(), std::min_element(c.begin(), c.end(), better));  // only the best must stand first
  std::vector<double> w = weights_of(c);
  double total = 0;
  for (double x : w) total += x;
  if (s.top_p < 1.f) {
    double mass = 0, kept = 0;
    size_t n = 0;
    while (n < w.size() && (n == 0 || mass < s.top_p * total)) mass += w[n++];
    kept = mass;
    w.resize(n);
    total = kept;
  }
  if (s.min_p > 0.f) {
    size_t n = 1;
    double sum = w[0];
    while (n < w.size() && w[n] >= s.min_p) sum += w[n++];
    w.resize(n);
    total = sum;
  }
  double at = random_unit(s.seed, position) * total;
  for (size_t i = 0; i < w.size(); ++i)
    if ((at -= w[i]) < 0) return c[i].id;
  return c[0].id;
}

}  // namespace tally::ops
