// Re-encoding one tensor, in pieces and on many threads.
#pragma once

#include <functional>
#include <span>

#include "app/quantize.h"
#include "base/thread_team.h"

namespace tally::app {

class Requantizer {
 public:
  explicit Requantizer(int n_threads) : team_(n_threads) {}

  // The tensor's values as `after`, handed to `sink` in order. `progress` gets the bytes of the tensor read so far.
  // Error (BadInput) naming `file` and tensor: see quantize_file.
  Change run(const std::string& file, const gguf::TensorInfo& tensor, const quant::QuantType& after, bool strict,
             const std::function<void(std::span<const uint8_t>)>& sink, const std::function<void(uint64_t)>& progress);

 private:
  ThreadTeam team_;
};

}  // namespace tally::app
