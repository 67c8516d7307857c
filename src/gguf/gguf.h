// GGUF v2/v3 reader over a mapped file: bounds-checked, split files joined. Everything points into the mapping, nothing
// is copied. Errors are thrown as tally::Error (BadInput) naming file, place, found, expected and what to do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quant/types.h"

namespace tally::gguf {

enum class ValueType : uint32_t {
  Uint8 = 0,
  Int8 = 1,
  Uint16 = 2,
  Int16 = 3,
  Uint32 = 4,
  Int32 = 5,
  Float32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  Uint64 = 10,
  Int64 = 11,
  Float64 = 12
};

// One metadata value. Scalars are widened; `type` keeps the stored type.
struct Value {
  ValueType type = ValueType::Uint32;
  int64_t integer = 0;                    // integers and bool; uint64 values ≥ 2^63 wrap, accessors reject them
  double real = 0;                        // float32 and float64
  std::string_view text;                  // string, raw bytes of the file
  ValueType element = ValueType::Uint32;  // arrays only
  uint64_t count = 0;                     // arrays only
  const uint8_t* data = nullptr;          // arrays of fixed-size elements: little-endian, unaligned
  std::vector<std::string_view> strings;  // arrays of strings
};

class Metadata {
 public:
  explicit Metadata(std::string file = "") : file_(std::move(file)) {}

  const std::string& file() const { return file_; }  // for messages
  const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }
  const Value* find(std::string_view key) const;  // null when absent
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Absent → nullopt; present with a type that does not fit → Error naming key, found and expected type.
  std::optional<int64_t> find_int(std::string_view key) const;  // any integer type, or bool
  std::optional<double> find_real(std::string_view key) const;  // any float or integer type
  std::optional<bool> find_bool(std::string_view key) const;    // bool or integer
  std::optional<std::string_view> find_text(std::string_view key) const;
  // A scalar counts as an array of length 1. Integer arrays accept bool elements.
  std::optional<std::vector<int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<float>> find_reals(std::string_view key) const;
  std::optional<std::vector<std::string_view>> find_texts(std::string_view key) const;

  // Required: absent → Error.
  int64_t get_int(std::string_view key) const;
  double get_real(std::string_view key) const;
  std::string_view get_text(std::string_view key) const;

  // general.architecture.
  std::string_view architecture() const { return get_text("general.architecture"); }

  void add(std::string key, Value value);  // a duplicate key → Error

 private:
  std::string file_;
  std::vector<std::pair<std::string, Value>> entries_;
  std::unordered_map<std::string, size_t> index_;
};

struct TensorInfo {
  std::string name;
  const quant::QuantType* type = nullptr;
  int n_dims = 0;
  uint64_t dims[4] = {1, 1, 1, 1};  // dims[0] is contiguous (in-features); missing dims are 1
  uint64_t offset = 0;              // from the start of its shard's file
  uint64_t bytes = 0;
  const uint8_t* data = nullptr;  // in the mapping; may be unaligned
  int shard = 0;
  uint64_t n_elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

class File {
 public:
  // Opens a model (and the further shards when it is the first of a split model).
  static File open(const std::string& path);
  // Parses a whole GGUF image in memory (fuzzing, tests); `data` must outlive the File.
  static File parse(std::span<const uint8_t> data, const std::string& name_for_messages);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& shard_paths() const { return shard_paths_; }  // one for an ordinary model
  const Metadata& metadata() const { return metadata_; }
  std::span<const TensorInfo> tensors() const { return tensors_; }
  const TensorInfo* find(std::string_view name) const;   // null when absent; valid while this File lives
  uint64_t total_bytes() const { return total_bytes_; }  // of all shards
  // The tensor's bytes begin..end are not needed soon: their pages may leave memory (they come back from the file when
  // read again).
  void release(const TensorInfo& tensor, uint64_t begin, uint64_t end) const;
  uint64_t hash() const;  // of header, metadata and tensor directory

  class Mapping;  // a read-only mapped file, shared by copies of File

 private:
  void add_image(std::span<const uint8_t> bytes, const std::string& name, int shard);

  std::string path_;
  std::vector<std::string> shard_paths_;
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::shared_ptr<Mapping>> mappings_;
  uint64_t total_bytes_ = 0;
  uint64_t directory_hash_ = 0;
};

}  // namespace tally::gguf
