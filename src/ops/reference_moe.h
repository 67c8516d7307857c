// The definitions of the mixture-of-experts ops.
#pragma once

#include <algorithm>
#include <numeric>

#include "ops/reference.h"

namespace tally::ops {

// The chosen experts of one row, best first (ties: lower index), from their scores; ids and weights have n_used
// entries.
template <typename Real>
void choose_experts(const Route& o, const std::vector<Real>& score, const std::vector<Real>& bias, int* ids,
                    Real* weights) {
  std::vector<Real> choice(score);
  for (int e = 0; e < o.n_experts; ++e) choice[e] += bias.empty() ? Real(0) : bias[e];
  std::vector<int> order;
  if (o.n_groups > 1) {
    int size = o.n_experts / o.n_groups;
    std::vector<Real> group(o.n_groups);
    for (int g = 0; g < o.n_groups; ++g) {
      std::vector<Real> best(choice.begin() + g * size, choice.begin() + (g + 1) * size);
      std::partial_sort(best.begin(), best.begin() + std::min(2, size), best.end(), std::greater<Real>());
      group[g] = best[0] + (size > 1 ? best[1] : Real(0));
    }
    std::vector<int> groups(o.n_groups);
    std::iota(groups.begin(), groups.end(), 0);
    std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) { return group[a] > group[b]; });
    for (int g = 0; g < o.n_groups_used; ++g)
      for (int e = 0; e < size; ++e) order.push_back(groups[g] * size + e);
    std::sort(order.begin(), order.end());
  } else {
    order.resize(o.n_experts);
    std::iota(order.begin(), order.end(), 0);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return choice[a] > choice[b]; });
  Real sum = 0;
  for (int i = 0; i < o.n_used; ++i) {
    ids[i] = order[i];
    weights[i] = score[order[i]];
    sum += weights[i];
  }
  Real factor = Real(o.scale) / (o.normalize ? std::max(sum, Real(6.103515625e-5)) : Real(1));
  for (int i = 0; i < o.n_used; ++i) weights[i] *= factor;
}

// Router logits → scores, in place.
template <typename Real>
void route_scores(RouteScore kind, std::vector<Real>& x) {
  if (kind == RouteScore::Sigmoid) {
    for (Real& v : x) v = sigmoid(v);
    return;
  }
  Real top = *std::max_element(x.begin(), x.end()), sum = 0;
  for (Real& v : x) sum += v = std::exp(v - top);
  for (Real& v : x) v /= sum;
}

template <typename Real>
void reference(const Route& o, Env<Real>& env) {
  std::vector<Real> score(o.n_experts), bias;
  std::vector<int> ids(o.n_used);
  if (o.bias) bias = env.vector(o.bias);
  for (int t = 0; t < env.rows(o.x); ++t) {
    Real* out = env.value(o.out) + int64_t(t) * 2 * o.n_used;
    matrix_vector(env, o.w, 0, env.value(o.x) + int64_t(t) * env.cols(o.x), score.data());
    route_scores(o.score, score);
    choose_experts(o, score, bias, ids.data(), out + o.n_used);
    for (int i = 0; i < o.n_used; ++i) out[i] = Real(ids[i]);
  }
}

template <typename Real>
void reference(const Experts& o, Env<Real>& env) {
  int hidden = env.cols(o.x), f = o.intermediate_size;
  std::vector<Real> gate(f), up(f), down(hidden);
  for (int t = 0; t < env.rows(o.x); ++t) {
    const Real* x = env.value(o.x) + int64_t(t) * hidden;
    const Real* route = env.value(o.route) + int64_t(t) * 2 * o.n_used;
    Real* out = env.value(o.out) + int64_t(t) * hidden;
    if (!o.accumulate) std::fill(out, out + hidden, Real(0));
    for (int i = 0; i < o.n_used; ++i) {
      int64_t e = static_cast<int64_t>(route[i]);
      matrix_vector(env, o.gate, e, x, gate.data());
      matrix_vector(env, o.up, e, x, up.data());
      for (int j = 0; j < f; ++j) gate[j] = silu(gate[j]) * up[j];
      matrix_vector(env, o.down, e, gate.data(), down.data());
      for (int j = 0; j < hidden; ++j) out[j] += route[o.n_used + i] * down[j];
    }
  }
}

template <typename Real>
void reference(const SharedExpert& o, Env<Real>& env) {
  int hidden = env.cols(o.x), f = o.intermediate_size;
  std::vector<Real> gate(f), up(f), down(hidden), gate_input;
  if (o.gate_input) gate_input = env.vector(o.gate_input);
  for (int t = 0; t < env.rows(o.x); ++t) {
    const Real* x = env.value(o.x) + int64_t(t) * hidden;
    Real* out = env.value(o.out) + int64_t(t) * hidden;
    matrix_vector(env, o.gate, 0, x, gate.data());
    matrix_vector(env, o.up, 0, x, up.data());
    for (int j = 0; j < f; ++j) gate[j] = silu(gate[j]) * up[j];
    matrix_vector(env, o.down, 0, gate.data(), down.data());
    Real factor = 1;
    if (o.gate_input) factor = sigmoid(std::inner_product(x, x + hidden, gate_input.begin(), Real(0)));
    for (int j = 0; j < hidden; ++j) out[j] = (o.accumulate ? out[j] : Real(0)) + factor * down[j];
  }
}

}  // namespace tally::ops
