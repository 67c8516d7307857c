// The ledger as a trace in the form that Chrome and Perfetto open.
#pragma once

#include <cstdint>
#include <string>

#include "ledger/ledger.h"

namespace tally::app {

// Writes the dispatches that `ledger` kept (Ledger::keep) between two readings of now_ns() as "X" events on the track
// "dispatches": name = segment, cat = op, args = kernel, shape, layer, rows, bytes, flop, plan, step, run (which run of
// a plan) and dispatch (its number). Every gap before, between and after them is an event on the track "unattributed",
// so that all durations together are end_ns − begin_ns exactly. Times are in µs from begin_ns, with three decimals.
// When more was dispatched than kept, the trace ends with the last kept one and "not_kept" says how many follow.
// Error when the file cannot be written.
void write_trace(const std::string& path, const ledger::Ledger& ledger, uint64_t begin_ns, uint64_t end_ns,
                 const std::string& provenance_json);

}  // namespace tally::app
