#include "app/requantize.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tally::app {
namespace {

// Work is cut into units, each a multiple of every block size; a piece of many units is converted, then written.
constexpr uint64_t kUnitElements = 1 << 16;
constexpr uint64_t kUnitsPerPiece = 64;  // 4 Mi values: at most 16 MiB of output

struct UnitResult {
  double squared = 0, error_max = 0;
  uint64_t n_changed = 0, n_zeroed = 0;
  int64_t bad = -1;  // a value that is not finite or makes its block so
  float bad_value = 0;
};

struct Unit {
  const uint8_t* in;
  uint8_t* out;
  uint64_t n_elements;
};

struct Scratch {
  std::vector<float> before = std::vector<float>(kUnitElements), after = std::vector<float>(kUnitElements);
};

// The value in a block that spoiled it: one that is not finite, otherwise the largest.
int64_t culprit_in_block(const float* values, int64_t n) {
  int64_t culprit = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i])) return i;
    if (std::fabs(values[i]) > std::fabs(values[culprit])) culprit = i;
  }
  return culprit;
}

// Converts, reads back and compares. Whatever the values are, it does not throw.
UnitResult convert(const quant::QuantType& from, const quant::QuantType& to, const Unit& unit, Scratch& scratch) {
  UnitResult result;
  const auto n = static_cast<int64_t>(unit.n_elements);
  float* before = scratch.before.data();
  float* after = scratch.after.data();
  from.dequantize(unit.in, before, n / from.block_elements);
  to.quantize(before, unit.out, n / to.block_elements);
  to.dequantize(unit.out, after, n / to.block_elements);
  for (int64_t i = 0; i < n; ++i) {
    const double error = std::fabs(static_cast<double>(after[i]) - static_cast<double>(before[i]));
    if (!std::isfinite(error)) {
      const int64_t block = i / to.block_elements * to.block_elements;
      result.bad = block + culprit_in_block(before + block, to.block_elements);
      result.bad_value = before[result.bad];
      return result;
    }
    result.squared += error * error;
    result.error_max = std::max(result.error_max, error);
    result.n_changed += error != 0;
    result.n_zeroed += before[i] != 0 && after[i] == 0;
  }
  return result;
}

[[noreturn]] void refuse_value(const std::string& file, const gguf::TensorInfo& tensor, const quant::QuantType& after,
                               uint64_t index, float value) {
  if (!std::isfinite(value)) {
    fail(ErrorCode::BadInput, "{}: tensor \"{}\": value {} is {}, expected a finite number; the model is damaged", file,
         tensor.name, index, value);
  }
  fail(ErrorCode::BadInput,
       "{}: tensor \"{}\": value {} is {}, which overflows type {}; choose a type with a wider range", file,
       tensor.name, index, value, after.name);
}

void add_unit(Change& change, double& squared, const UnitResult& unit) {
  squared += unit.squared;
  change.error_max = std::max(change.error_max, unit.error_max);
  change.n_changed += unit.n_changed;
  change.n_zeroed += unit.n_zeroed;
}

}  // namespace

Change Requantizer::run(const std::string& file, const gguf::TensorInfo& tensor, const quant::QuantType& after,
                        bool strict, const std::function<void(std::span<const uint8_t>)>& sink,
                        const std::function<void(uint64_t)>& progress) {
  const quant::QuantType& before = *tensor.type;
  const auto bytes_of = [](const quant::QuantType& type, uint64_t n) {
    return n / static_cast<uint64_t>(type.block_elements) * static_cast<uint64_t>(type.block_bytes);
  };
  std::vector<Scratch> scratch(static_cast<size_t>(team_.size()));
  std::vector<uint8_t> out(bytes_of(after, std::min(tensor.n_elements(), kUnitElements * kUnitsPerPiece)));
  Change change;
  double squared = 0;
  for (uint64_t first = 0; first < tensor.n_elements(); first += kUnitElements * kUnitsPerPiece) {
    const uint64_t n_elements = std::min(tensor.n_elements() - first, kUnitElements * kUnitsPerPiece);
    const uint64_t n_units = (n_elements + kUnitElements - 1) / kUnitElements;
    UnitResult results[kUnitsPerPiece];
    std::atomic<uint64_t> next{0};
    team_.run([&](int worker) {
      for (uint64_t u = next++; u < n_units; u = next++) {
        const uint64_t at = u * kUnitElements;
        const Unit unit{tensor.data + bytes_of(before, first + at), out.data() + bytes_of(after, at),
                        std::min(n_elements - at, kUnitElements)};
        results[u] = convert(before, after, unit, scratch[static_cast<size_t>(worker)]);
      }
    });
    for (uint64_t u = 0; u < n_units; ++u) {
      if (results[u].bad >= 0) {
        refuse_value(file, tensor, after, first + u * kUnitElements + static_cast<uint64_t>(results[u].bad),
                     results[u].bad_value);
      }
      add_unit(change, squared, results[u]);
    }
    sink({out.data(), bytes_of(after, n_elements)});
    progress(bytes_of(before, first + n_elements));
  }
  change.rmse = std::sqrt(squared / static_cast<double>(tensor.n_elements()));
  if (strict && after.block_elements == 1 && change.n_changed > 0) {
    fail(ErrorCode::BadInput,
         "{}: tensor \"{}\": {} of {} values change from {} to {} ({} become zero, by {} at most), which --strict "
         "refuses",
         file, tensor.name, change.n_changed, tensor.n_elements(), before.name, after.name, change.n_zeroed,
         change.error_max);
  }
  return change;
}

}  // namespace tally::app
