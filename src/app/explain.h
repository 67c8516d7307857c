// Where the time went: the ledger's totals as a table by segment, with bytes, share of the limit and dispatches.
#pragma once

#include <string>
#include <vector>

#include "ledger/ledger.h"
#include "runtime/engine.h"

namespace tally::app {

struct ExplainRow {
  std::string segment;
  double n_dispatches = 0;  // a fused step counts for its segments in shares
  double ns = 0, bytes = 0, flops = 0;
  double int8_flops = 0;  // those of flops that kernels on 8-bit activations do
};

struct Explanation {
  std::string title;  // "prompt", "decode"
  uint64_t n_tokens = 0, n_steps = 0;
  double wall_ns = 0;  // measured around the steps
  double n_dispatches = 0;
  std::vector<ExplainRow> rows;    // most time first; a fused step's time is divided by the bytes of the ops it covers
  double unattributed_ns() const;  // wall time that no dispatch covers
};

// What the ledger's totals hold (reset_totals() begins a new part), against `wall_ns`.
Explanation explain(const std::string& title, const ledger::Ledger& ledger, const runtime::Engine& engine,
                    uint64_t wall_ns, uint64_t n_tokens);

// As text for people. bandwidth: bytes per second that this machine reads.
std::string explain_text(const Explanation& e, double bandwidth);

}  // namespace tally::app
