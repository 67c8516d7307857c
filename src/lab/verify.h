// M23: the correctness gate. Every op of the model at the model's own shapes, and the whole model, against the
// definitions in double, through the plans that the engine runs; then again with a fault that must be found.
#pragma once

#include <string>
#include <vector>

#include "gguf/gguf.h"
#include "lab/def_agent.h"
#include "lab/output.h"
#include "runtime/engine.h"

namespace tally::lab {

struct VerifyOptions {
  int n_tokens = 24;           // random ones; the reference reads each about as slowly as a large model answers
  double tolerance_scale = 1;  // for tests of the gate itself
  // The fault: in every eighth input row each element is off by so many times the row's rms, up or down (and its token
  // is replaced by the next id).
  double fault = 1;
  uint64_t seed = 1;
};

// What became of one kind of op in one plan.
struct VerifiedOps {
  std::string op, kernels;
  int plan_rows = 0, n_ops = 0;
  def::GateCount clean, faulty;  // max_error: in tolerances
  int n_failed = 0;              // ops with an element out of tolerance
  int n_blind = 0;               // ops in which the fault was not found (less than 1 % out of tolerance)
};

struct Verified {
  std::vector<VerifiedOps> ops;
  struct Model {
    std::string path;  // "prompt in chunks of 512", "token by token"
    def::GateCount clean, faulty;
    def::Gate gate;
    bool same_path = true;  // the engine's logits are, bit for bit, those of the plan that was looked into
  };
  std::vector<Model> model;
  std::vector<std::string> not_covered;  // kernels that the engine dispatched and no checked plan holds
  bool passed = false;
};

// Runs the gate with the device and settings of `engine`. Tolerance of an element: four times what its kernel's
// numerics allow (app/diff.h), relative to the rms of the reference and to the element; for what accumulates, of what
// was added. For the whole model the kernels' errors add in squares over the layers;
// experts are those that the reference chose.
Verified verify(const gguf::File& file, const runtime::EngineOptions& engine, const VerifyOptions& options);

// Writes blocks "verify.ops" and "verify.model"; returns whether the gate passed.
bool write_verified(const Verified& v, const VerifyOptions& options, Output& out);

}  // namespace tally::lab
