#include "app/synth_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "ops/fields.h"

namespace tally::app {
namespace {

constexpr uint64_t kPoolUnits = 2048;  // a power of two; at 4.5 bits a pool is 300 kB

struct RoleOf {
  std::vector<WeightRole>& roles;
  void set(ops::WeightRef w, WeightRole role) const {
    if (w) roles[static_cast<size_t>(w.id)] = role;
  }
  void operator()(const ops::RmsNorm& o) const { set(o.w, WeightRole::Norm); }
  void operator()(const ops::GatedNorm& o) const { set(o.w, WeightRole::Norm); }
  void operator()(const ops::Linear& o) const { set(o.bias, WeightRole::Bias); }
  void operator()(const ops::Route& o) const { set(o.bias, WeightRole::RouteBias); }
  void operator()(const ops::Attention& o) const {
    set(o.q_norm, WeightRole::Norm), set(o.k_norm, WeightRole::Norm);
    set(o.rope.divisors, WeightRole::RopeDivisors);
  }
  void operator()(const ops::GatedDelta& o) const {
    set(o.a, WeightRole::Decay), set(o.dt_bias, WeightRole::DecayBias);
  }
  template <typename Other>
  void operator()(const Other&) const {}
};

// Box and Muller's two normal values from two uniform ones; the first is kept.
std::vector<float> normal_values(uint64_t seed, uint64_t n) {
  std::vector<float> values(n);
  for (uint64_t i = 0; i < n; ++i) {
    const double u = 1 - random_unit(seed, 2 * i), v = random_unit(seed, 2 * i + 1);
    values[i] = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v));
  }
  return values;
}

// A permutation of a pool's units, so that the rows of a small matrix all differ: multiply and xor-shift, twice, with
// constants of its own for each run of kPoolUnits units.
class Shuffle {
 public:
  Shuffle(uint64_t seed, uint64_t run) : a_(random_u64(seed, 2 * run)), b_(random_u64(seed, 2 * run + 1)) {}
  uint64_t operator()(uint64_t i) const {
    i = (i * (a_ | 1) + (a_ >> 32)) % kPoolUnits;
    i ^= i >> 5;
    i = (i * (b_ | 1) + (b_ >> 32)) % kPoolUnits;
    return i ^ i >> 6;
  }

 private:
  uint64_t a_, b_;
};

uint64_t tensor_seed(uint64_t seed, const SynthTensor& t) { return hash_bytes(t.name.data(), t.name.size(), seed); }

}  // namespace

std::vector<WeightRole> weight_roles(const ops::Program& program) {
  std::vector<WeightRole> roles(program.weights.size(), WeightRole::Matrix);
  for (const ops::Op& op : program.ops) std::visit(RoleOf{roles}, op);
  return roles;
}

SynthValues::SynthValues(uint64_t seed, const ops::Rope& rope, int rope_factor, std::span<const SynthTensor> tensors)
    : seed_(mix64(seed)), rope_(rope), rope_factor_(rope_factor) {
  const std::vector<float> normal = normal_values(seed_, kPoolUnits * kUnit);
  std::vector<float> scaled(normal.size());
  for (const SynthTensor& t : tensors) {
    if (t.role != WeightRole::Matrix) continue;
    std::vector<uint8_t>& pool = pools_[{t.type->id, t.dims[0]}];
    if (!pool.empty()) continue;
    if (t.type->quantize == nullptr)
      fail(ErrorCode::Usage, "tensor \"{}\" shall be of type {}, which tally does not write", t.name, t.type->name);
    const auto deviation = static_cast<float>(1 / std::sqrt(static_cast<double>(t.dims[0])));
    std::transform(normal.begin(), normal.end(), scaled.begin(), [=](float x) { return x * deviation; });
    pool.resize(kPoolUnits * unit_bytes(t));
    t.type->quantize(scaled.data(), pool.data(), static_cast<int64_t>(scaled.size()) / t.type->block_elements);
  }
}

uint64_t SynthValues::unit_bytes(const SynthTensor& t) {
  CHECK(kUnit % t.type->block_elements == 0, "{}", t.type->name);
  return static_cast<uint64_t>(kUnit / t.type->block_elements * t.type->block_bytes);
}

void SynthValues::fill(const SynthTensor& t, uint64_t first_unit, std::span<uint8_t> out) const {
  const uint64_t seed = tensor_seed(seed_, t);
  if (t.role != WeightRole::Matrix) {
    CHECK(t.type->id == quant::TypeId::F32, "{} as {}", t.name, t.type->name);
    for (uint64_t i = 0; i < out.size() / sizeof(float); ++i) {
      const float value = special(t, seed, first_unit * kUnit + i);
      std::memcpy(out.data() + i * sizeof(float), &value, sizeof value);
    }
    return;
  }
  const uint8_t* pool = pools_.at({t.type->id, t.dims[0]}).data();
  const uint64_t unit = unit_bytes(t);
  Shuffle shuffle(seed, first_unit / kPoolUnits);
  for (uint64_t at = 0, i = first_unit; at < out.size(); at += unit, ++i) {
    if (i % kPoolUnits == 0) shuffle = Shuffle(seed, i / kPoolUnits);
    std::memcpy(out.data() + at, pool + shuffle(i % kPoolUnits) * unit, std::min(unit, out.size() - at));
  }
}

float SynthValues::special(const SynthTensor& t, uint64_t seed, uint64_t i) const {
  const auto between = [=](double low, double high) {
    return static_cast<float>(low + (high - low) * random_unit(seed, i));
  };
  switch (t.role) {
    case WeightRole::Norm:
      return between(0.9, 1.1);
    case WeightRole::Decay:
      return between(-8, -0.5);
    case WeightRole::DecayBias:
      return between(-4, 0);
    case WeightRole::Bias:
      return between(-0.1, 0.1);
    case WeightRole::RouteBias:
      return between(-0.02, 0.02);
    case WeightRole::RopeDivisors:
      return divisor(i);
    case WeightRole::Matrix:
      break;
  }
  CHECK(false, "{}", t.name);
  return 0;
}

// Llama 3.1's rope: waves longer than the original context turn `factor` times slower, short ones as they did, with a
// ramp between.
float SynthValues::divisor(uint64_t pair) const {
  constexpr double kOriginalContext = 8192, kLow = 1, kHigh = 4;
  const double wave = 2 * M_PI * std::pow(double(rope_.theta), 2 * static_cast<double>(pair) / rope_.dim);
  if (wave < kOriginalContext / kHigh) return 1;
  if (wave > kOriginalContext / kLow) return static_cast<float>(rope_factor_);
  const double ramp = (kOriginalContext / wave - kLow) / (kHigh - kLow);
  return static_cast<float>(1 / ((1 - ramp) / rope_factor_ + ramp));
}

}  // namespace tally::app
