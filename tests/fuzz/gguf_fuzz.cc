// Parses bytes as a GGUF file and reads everything that the result points to; sanitizers watch.
#include <cstdint>

#include "base/error.h"
#include "gguf/gguf.h"

namespace {

uint64_t touch(const tally::gguf::File& file) {
  uint64_t sum = file.hash() + file.total_bytes();
  const auto& metadata = file.metadata();
  for (const auto& entry : metadata.entries()) {
    const std::string& key = entry.first;
    const tally::gguf::Value& value = entry.second;
    for (char c : value.text) sum += static_cast<uint8_t>(c);
    for (const auto text : value.strings) {
      for (char c : text) sum += static_cast<uint8_t>(c);
    }
    // Each accessor either converts or refuses.
    const auto attempt = [&sum](auto read) {
      try {
        sum += read() ? 1 : 0;
      } catch (const tally::Error&) {
      }
    };
    attempt([&] { return metadata.find_int(key).has_value(); });
    attempt([&] { return metadata.find_real(key).has_value(); });
    attempt([&] { return metadata.find_bool(key).has_value(); });
    attempt([&] { return metadata.find_text(key).has_value(); });
    attempt([&] { return metadata.find_ints(key).has_value(); });
    attempt([&] { return metadata.find_reals(key).has_value(); });
    attempt([&] { return metadata.find_texts(key).has_value(); });
  }
  for (const auto& tensor : file.tensors()) {
    for (uint64_t i = 0; i < tensor.bytes; ++i) sum += tensor.data[i];
    if (tensor.type->dequantize == nullptr) continue;
    float values[256];
    tensor.type->dequantize(tensor.data, values, 1);
    sum += file.find(tensor.name) == &tensor;
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static volatile uint64_t sink = 0;  // keeps the reads
  try {
    sink = touch(tally::gguf::File::parse({data, size}, "input"));
  } catch (const tally::Error&) {
  }
  return 0;
}
