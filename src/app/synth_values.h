// Random weights that keep activations near 1: matrices with standard deviation 1/sqrt(in), norms near 1, recurrences
// that decay. Every value depends on the seed, the tensor's name and its place alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/op.h"
#include "quant/types.h"

namespace tally::app {

// What a weight is for, which says how its values must lie.
enum class WeightRole : uint8_t {
  Matrix,        // normal, deviation 1/sqrt(in)
  Norm,          // 0.9 to 1.1
  Decay,         // of the delta net: −8 to −0.5
  DecayBias,     // −4 to 0
  Bias,          // −0.1 to 0.1
  RouteBias,     // −0.02 to 0.02: routing stays roughly uniform
  RopeDivisors,  // of Llama 3, with `rope_factor`
};

// By the ops that use them: [Program::weights].
std::vector<WeightRole> weight_roles(const ops::Program& program);

struct SynthTensor {
  std::string name;
  std::vector<uint64_t> dims;
  const quant::QuantType* type = nullptr;
  WeightRole role = WeightRole::Matrix;
  uint64_t bytes = 0;
};

// Matrices are drawn in units of kUnit values from pools: for each type and deviation a few thousand units of normal
// values, stored in the type once. So any type that can be written is filled at the speed of copying.
class SynthValues {
 public:
  static constexpr int kUnit = 256;

  // Makes the pools for the tensors. rope: what the divisors follow from. Error (Usage) for types that tally does not
  // write.
  SynthValues(uint64_t seed, const ops::Rope& rope, int rope_factor, std::span<const SynthTensor> tensors);

  // Bytes of one unit; a tensor's last one may be cut.
  static uint64_t unit_bytes(const SynthTensor& t);
  // The tensor's bytes from unit `first_unit` on. From any thread.
  void fill(const SynthTensor& t, uint64_t first_unit, std::span<uint8_t> out) const;

 private:
  using PoolKey = std::pair<quant::TypeId, uint64_t>;  // type, in
  float special(const SynthTensor& t, uint64_t seed, uint64_t i) const;
  float divisor(uint64_t pair) const;

  uint64_t seed_;
  ops::Rope rope_;
  int rope_factor_;
  std::map<PoolKey, std::vector<uint8_t>> pools_;
};

}  // namespace tally::app
