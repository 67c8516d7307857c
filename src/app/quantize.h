// Writing a model with other number formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/progress.h"
#include "gguf/gguf.h"
#include "quant/types.h"

namespace tally::app {

struct QuantizeOptions {
  std::string input, output;
  std::string type;     // a preset's name (quantize_rules.h), or empty: all tensors keep theirs
  std::string map;      // "FROM=TO" with FROM and TO of f32, f16, bf16: tensors of type FROM become TO; or empty
  bool strict = false;  // refuse to change a value when re-encoding to f32, f16 or bf16
  int n_threads = 0;    // 0: all cores at hand
  ProgressMode progress = ProgressMode::Auto;
};

// How far values moved.
struct Change {
  double rmse = 0;         // root of the mean squared error
  double error_max = 0;    // largest absolute error
  uint64_t n_changed = 0;  // values that are not what they were
  uint64_t n_zeroed = 0;   // of those, values that became zero
};

struct QuantizedTensor {
  std::string name;
  std::vector<uint64_t> dims;
  quant::TypeId before, after;
  uint64_t bytes_before = 0, bytes_after = 0;
  Change change;
};

// Reads `input` (shards are merged), writes `output`, which appears under its name only when complete: a refused run
// leaves no file. Tensors whose type stays are copied byte by byte. With a preset general.file_type and
// general.quantization_version are set; with a map alone the metadata stay as they are. Errors (BadInput) name the
// tensor: a value that is not finite, overflows the new format, or changes under `strict`.
std::vector<QuantizedTensor> quantize_file(const QuantizeOptions& options);

}  // namespace tally::app
