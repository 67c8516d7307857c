// What a model needs and what this machine has: said before loading, so that a hopeless start is refused in time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gguf/gguf.h"
#include "ops/op.h"
#include "runtime/engine.h"

namespace tally::app {

struct MachineMemory {
  uint64_t total = 0;             // MemTotal
  uint64_t available = 0;         // MemAvailable: free, and what the system gives back (file pages) when asked
  std::optional<uint64_t> limit;  // of the control group with the least room
  uint64_t used = 0;              // by that group, without file pages that it gives back
  // What this process can hold in memory, mapped file pages included.
  uint64_t usable() const;
};

// Reads /proc and the control groups (version 1 and 2) under `root`, "" but for tests. Error (Internal) when there is
// no readable meminfo.
MachineMemory read_machine_memory(const std::string& root = "");

// What a model needs with its options.
struct MemoryNeed {
  // Mapped from the file: they need no memory of their own, but are read again from the disk where they do not stay.
  uint64_t weights = 0;           // all that is read at some time
  uint64_t always_read = 0;       // of these, for every token: all but experts and the embedding's rows
  uint64_t experts = 0;           // of these, the experts
  uint64_t routed = 0;            // of the experts, for one token
  uint64_t slots = 0, pages = 0;  // state: recurrent, and keys and values of the whole context
  uint64_t activations = 0;       // estimate
  int context_length = 0, n_sequences = 1, chunk = 0;
  double bits_per_weight = 0;

  uint64_t anonymous() const { return slots + pages + activations; }
  uint64_t total() const { return weights + anonymous(); }
};

// Error (BadInput) when the file is no model that tally runs.
MemoryNeed memory_need(const gguf::File& file, const runtime::EngineOptions& options);
// The same for Programs that are built (mtp: null unless the options want it).
MemoryNeed memory_need(const gguf::File& file, const ops::Program& program, const ops::Program* mtp,
                       const runtime::EngineOptions& options);

enum class Fit : uint8_t {
  Fits,
  ReadsAgain,  // a part of the experts (or of the embedding) does not stay in memory
  Hopeless,    // what every token needs does not fit
};
const char* name_of(Fit fit);  // "fits", "reads_again", "hopeless"

struct FitVerdict {
  Fit fit = Fit::Fits;
  uint64_t room = 0;              // bytes this machine has for the model
  uint64_t missing = 0;           // bytes that do not find room
  uint64_t reread_per_token = 0;  // estimate for ReadsAgain, if experts are chosen evenly
  std::string text;               // for people; Hopeless: with what would help
};

// Pure: the same need and machine give the same verdict.
FitVerdict check_fit(const MemoryNeed& need, const MachineMemory& machine);

// Error (Resources) when it is hopeless and not `force`. For devices that use this machine's memory.
void require_fit(const gguf::File& file, const runtime::EngineOptions& options, bool force);

// One line that says what is needed and whether it fits.
std::string fit_line(const gguf::File& file, const runtime::EngineOptions& options);

}  // namespace tally::app
