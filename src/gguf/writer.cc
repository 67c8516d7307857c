#include "gguf/writer.h"

#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "gguf/output_file.h"
#include "gguf/value.h"

namespace tally::gguf {
namespace {

constexpr uint32_t kVersion = 3;

template <typename T>
void append(std::vector<uint8_t>& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

void append_text(std::vector<uint8_t>& out, std::string_view text) {
  append<uint64_t>(out, text.size());
  out.insert(out.end(), text.begin(), text.end());
}

void append_array_head(std::vector<uint8_t>& out, ValueType element, uint64_t count) {
  append(out, static_cast<uint32_t>(element));
  append(out, count);
}

// The low bytes of a two's complement integer are the integer at its smaller width.
void append_integer(std::vector<uint8_t>& out, ValueType type, int64_t value) {
  const size_t at = out.size();
  out.resize(at + bytes_of(type));
  std::memcpy(out.data() + at, &value, bytes_of(type));
}

}  // namespace

void Writer::begin(std::string_view key, ValueType type) {
  append_text(metadata_, key);
  append(metadata_, static_cast<uint32_t>(type));
  ++n_metadata_;
}

void Writer::add_int(std::string_view key, ValueType type, int64_t value) {
  CHECK(bytes_of(type) > 0 && type != ValueType::Float32 && type != ValueType::Float64, "key {}", key);
  if (key == "general.alignment") {
    CHECK(value > 0 && (value & (value - 1)) == 0 && tensors_.empty(), "alignment {}", value);
    alignment_ = static_cast<uint64_t>(value);
  }
  begin(key, type);
  append_integer(metadata_, type, value);
}

void Writer::add_real(std::string_view key, ValueType type, double value) {
  CHECK(type == ValueType::Float32 || type == ValueType::Float64, "key {}", key);
  begin(key, type);
  if (type == ValueType::Float64) {
    append(metadata_, value);
  } else {
    append(metadata_, static_cast<float>(value));
  }
}

void Writer::add_text(std::string_view key, std::string_view value) {
  begin(key, ValueType::String);
  append_text(metadata_, value);
}

void Writer::add_ints(std::string_view key, ValueType element, std::span<const int64_t> values) {
  CHECK(bytes_of(element) > 0 && element != ValueType::Float32 && element != ValueType::Float64, "key {}", key);
  begin(key, ValueType::Array);
  append_array_head(metadata_, element, values.size());
  for (int64_t value : values) append_integer(metadata_, element, value);
}

void Writer::add_reals(std::string_view key, std::span<const float> values) {
  begin(key, ValueType::Array);
  append_array_head(metadata_, ValueType::Float32, values.size());
  for (float value : values) append(metadata_, value);
}

void Writer::add_texts(std::string_view key, std::span<const std::string_view> values) {
  begin(key, ValueType::Array);
  append_array_head(metadata_, ValueType::String, values.size());
  for (std::string_view value : values) append_text(metadata_, value);
}

void Writer::copy(std::string_view key, const Value& value) {
  if (value.type == ValueType::String) return add_text(key, value.text);
  if (value.type == ValueType::Float32 || value.type == ValueType::Float64)
    return add_real(key, value.type, value.real);
  if (value.type != ValueType::Array) return add_int(key, value.type, value.integer);
  if (value.element == ValueType::String) return add_texts(key, value.strings);
  begin(key, ValueType::Array);
  append_array_head(metadata_, value.element, value.count);
  metadata_.insert(metadata_.end(), value.data, value.data + value.count * bytes_of(value.element));
}

int Writer::add_tensor(std::string_view name, quant::TypeId type_id, std::span<const uint64_t> dims) {
  const quant::QuantType& type = quant::type_of(type_id);
  CHECK(!name.empty() && name.size() <= 63 && dims.size() <= 4, "tensor {}", name);
  uint64_t n_elements = 1;
  for (uint64_t dim : dims) CHECK(dim > 0 && checked_mul(n_elements, dim, &n_elements), "tensor {}", name);
  const uint64_t row = dims.empty() ? 1 : dims[0], block = static_cast<uint64_t>(type.block_elements);
  CHECK(row % block == 0, "tensor {}: rows of {} values as {}", name, row, type.name);
  uint64_t bytes;
  CHECK(checked_mul(n_elements / block, static_cast<uint64_t>(type.block_bytes), &bytes), "tensor {}", name);
  const uint64_t offset = tensors_.empty() ? 0 : round_up(tensors_.back().offset + tensors_.back().bytes, alignment_);
  tensors_.push_back({std::string(name), &type, {dims.begin(), dims.end()}, bytes, offset});
  return static_cast<int>(tensors_.size()) - 1;
}

uint64_t Writer::tensor_bytes(int tensor) const { return tensors_.at(static_cast<size_t>(tensor)).bytes; }
uint64_t Writer::tensor_offset(int tensor) const { return tensors_.at(static_cast<size_t>(tensor)).offset; }
uint64_t Writer::data_offset() const { return header().size(); }

uint64_t Writer::total_bytes() const {
  if (tensors_.empty()) return data_offset();
  return data_offset() + round_up(tensors_.back().offset + tensors_.back().bytes, alignment_);
}

std::vector<uint8_t> Writer::header() const {
  std::vector<uint8_t> out = {'G', 'G', 'U', 'F'};
  append(out, kVersion);
  append<uint64_t>(out, tensors_.size());
  append(out, n_metadata_);
  out.insert(out.end(), metadata_.begin(), metadata_.end());
  for (const Tensor& tensor : tensors_) {
    append_text(out, tensor.name);
    append(out, static_cast<uint32_t>(tensor.dims.size()));
    for (uint64_t dim : tensor.dims) append(out, dim);
    append(out, static_cast<int32_t>(tensor.type->id));
    append(out, tensor.offset);
  }
  out.resize(round_up(out.size(), alignment_));
  return out;
}

void Writer::stream(const std::string& path, const std::function<void(int, const Sink&)>& produce) const {
  OutputFile file(path, total_bytes());
  const std::vector<uint8_t> head = header();
  file.append(head);
  const Sink sink = [&file](std::span<const uint8_t> bytes) { file.append(bytes); };
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const uint64_t end = head.size() + tensors_[i].offset + tensors_[i].bytes;
    produce(static_cast<int>(i), sink);
    CHECK(file.position() == end, "tensor {}: at byte {}, expected {}", tensors_[i].name, file.position(), end);
    file.append_zeros(round_up(tensors_[i].bytes, alignment_) - tensors_[i].bytes);
  }
  file.finish();
}

void Writer::write(const std::string& path, const std::function<void(int, std::span<uint8_t>)>& fill) const {
  std::vector<uint8_t> buffer;
  stream(path, [&](int tensor, const Sink& sink) {
    buffer.assign(tensor_bytes(tensor), 0);
    fill(tensor, buffer);
    sink(buffer);
  });
}

}  // namespace tally::gguf
