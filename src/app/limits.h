// What this machine can do at most, measured once and remembered in the cache folder (limits.json) per processor and
// thread count; `fresh` measures again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/thread_team.h"

namespace tally::app {

// Bytes per second that `n_threads` threads read from memory far larger than a cache; about half a second.
double read_bandwidth(int n_threads, bool fresh = false);

// Operations per second (a multiply-add counts as two) on registers: float32, and 8-bit integers into 32-bit sums.
// isa: instruction-set level ("": the best).
enum class Multiply { F32, Int8 };
double multiply_rate(int n_threads, Multiply type, const std::string& isa = "", bool fresh = false);

// Nanoseconds of an inert dispatch, by `measure` when it is not known.
double dispatch_ns(int n_threads, bool fresh, const std::function<double()>& measure);

// The measurements behind these, on a team that exists; the best of some rounds of about 20 ms each. Nothing is stored.
// bytes: working set of all workers together; a copy counts the bytes read and those written.
double measure_read(ThreadTeam& team, size_t bytes);
double measure_copy(ThreadTeam& team, size_t bytes);
double measure_multiply(ThreadTeam& team, Multiply type, const std::string& isa = "");

}  // namespace tally::app
