// Small GGUF v3 writer: tests make their own models with it, `quantize` and `synth` write theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"

namespace tally::gguf {

class Writer {
 public:
  // Metadata, written in the order of the calls.
  void add_int(std::string_view key, ValueType type, int64_t value);  // any integer type or bool
  void add_real(std::string_view key, ValueType type, double value);  // float32 or float64
  void add_text(std::string_view key, std::string_view value);
  void add_ints(std::string_view key, ValueType element, std::span<const int64_t> values);
  void add_reals(std::string_view key, std::span<const float> values);
  void add_texts(std::string_view key, std::span<const std::string_view> values);
  void copy(std::string_view key, const Value& value);  // as it was read

  // Tensors, laid out in the order of the calls. `dims` in GGUF order, [0] contiguous. Returns the tensor's number.
  int add_tensor(std::string_view name, quant::TypeId type, std::span<const uint64_t> dims);
  uint64_t tensor_bytes(int tensor) const;

  // Writes header and directory, then asks `fill(tensor, out)` for each tensor's bytes (out has tensor_bytes(tensor));
  // fill is called in order from one thread. The file appears under its name only when complete (written beside it as
  // NAME.partial and renamed); an exception leaves no file. Error (Resources) when the disk is full.
  void write(const std::string& path, const std::function<void(int tensor, std::span<uint8_t> out)>& fill) const;

  // The same in pieces, for tensors too large to hold: `produce(tensor, sink)` hands the tensor's bytes to `sink` in
  // order, in as many calls as it likes.
  using Sink = std::function<void(std::span<const uint8_t> bytes)>;
  void stream(const std::string& path, const std::function<void(int tensor, const Sink& sink)>& produce) const;

  // Header, directory and padding up to the tensor data; tensor t starts at data_offset() + tensor_offset(t).
  std::vector<uint8_t> header() const;
  uint64_t data_offset() const;
  uint64_t tensor_offset(int tensor) const;
  uint64_t total_bytes() const;

 private:
  struct Tensor {
    std::string name;
    const quant::QuantType* type;
    std::vector<uint64_t> dims;
    uint64_t bytes, offset;
  };
  void begin(std::string_view key, ValueType type);

  std::vector<uint8_t> metadata_;
  uint64_t n_metadata_ = 0;
  uint64_t alignment_ = 32;
  std::vector<Tensor> tensors_;
};

}  // namespace tally::gguf
