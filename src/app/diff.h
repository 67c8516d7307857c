// Two backends over the same batch, value by value: where do they part?
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "runtime/engine.h"

namespace tally::app {

struct DiffOptions {
  std::string device_a = "reference", device_b = "cpu";
  runtime::EngineOptions engine;  // threads, isa, exact, kernels: for both
  bool feed = false;              // each op of b gets a's inputs, so that one bad kernel cannot hide behind another
  int layer = -1;                 // only ops of this layer (−1: all)
  std::string op;                 // only ops of this kind ("": all)
};

struct DiffRow {
  int op = 0, layer = -1;
  std::string kind, value, kernel;  // kernel: b's
  double error = 0;                 // rms(b − a) / rms(a)
  double max_abs = 0;
  double allowed = 0;  // what b's kernel's numerics allow
  bool bad() const { return !(error <= allowed); }
};

// Relative rms error that a kernel may add to what it computes from exact inputs, by the numerics in its name. Rounding
// activations to 8 bit in groups of 32 costs about max/rms/127/√12 of a product: 1 % for ordinary rows, more where a
// group has outliers; the F16 cache 2⁻¹¹ per cell; float32 sums of n terms n·2⁻²⁴ at most.
double kernel_allowance(const std::string& kernel);

// Runs `tokens` as one segment on both. Rows in order of the Program, of the ops asked for.
std::vector<DiffRow> diff(const gguf::File& file, std::span<const int32_t> tokens, const DiffOptions& options);

}  // namespace tally::app
