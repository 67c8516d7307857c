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

// Runs `tokens` as one segment on both. Rows in order of the Program, of the ops asked for.
std::vector<DiffRow> diff(const gguf::File& file, std::span<const int32_t> tokens, const DiffOptions& options);

}  // namespace tally::app
