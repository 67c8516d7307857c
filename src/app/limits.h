// What this machine can do at most: the read bandwidth of memory, measured once and remembered.
#pragma once

#include <cstdint>

namespace tally::app {

// Bytes per second that `n_threads` threads read from memory far larger than a cache. Measured in about half a second,
// kept in the cache folder per processor and thread count; `fresh` measures again.
double read_bandwidth(int n_threads, bool fresh = false);

}  // namespace tally::app
