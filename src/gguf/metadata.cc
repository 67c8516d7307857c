// Typed access to metadata. Writers in the wild disagree about integer widths and about scalars against arrays of one,
// so any integer type that fits is accepted and a scalar counts as an array of length 1.
#include <cstring>
#include <limits>

#include "base/error.h"
#include "gguf/gguf.h"
#include "gguf/value.h"

namespace tally::gguf {
namespace {

bool is_integer(ValueType type) {
  return type != ValueType::Float32 && type != ValueType::Float64 && type != ValueType::String &&
         type != ValueType::Array;
}
bool is_real(ValueType type) { return type == ValueType::Float32 || type == ValueType::Float64; }

std::string describe(const Value& value) {
  if (value.type != ValueType::Array) return name_of(value.type);
  return std::string("array of ") + name_of(value.element);
}

[[noreturn]] void wrong_type(const std::string& file, std::string_view key, const Value& value, const char* expected) {
  fail(ErrorCode::BadInput,
       "{}: metadata key \"{}\" is {}, expected {}; the file is damaged or was converted by an older tool", file, key,
       describe(value), expected);
}

// uint64 values from 2^63 wrap to negative numbers when widened.
int64_t checked_integer(const std::string& file, std::string_view key, const Value& value, int64_t integer,
                        ValueType type) {
  if (type == ValueType::Uint64 && integer < 0) wrong_type(file, key, value, "an integer below 2^63");
  return integer;
}

}  // namespace

const char* name_of(ValueType type) {
  switch (type) {
    case ValueType::Uint8:
      return "uint8";
    case ValueType::Int8:
      return "int8";
    case ValueType::Uint16:
      return "uint16";
    case ValueType::Int16:
      return "int16";
    case ValueType::Uint32:
      return "uint32";
    case ValueType::Int32:
      return "int32";
    case ValueType::Float32:
      return "float32";
    case ValueType::Bool:
      return "bool";
    case ValueType::String:
      return "string";
    case ValueType::Array:
      return "array";
    case ValueType::Uint64:
      return "uint64";
    case ValueType::Int64:
      return "int64";
    case ValueType::Float64:
      return "float64";
  }
  return "unknown";
}

size_t bytes_of(ValueType type) {
  switch (type) {
    case ValueType::Uint8:
    case ValueType::Int8:
    case ValueType::Bool:
      return 1;
    case ValueType::Uint16:
    case ValueType::Int16:
      return 2;
    case ValueType::Uint32:
    case ValueType::Int32:
    case ValueType::Float32:
      return 4;
    case ValueType::Uint64:
    case ValueType::Int64:
    case ValueType::Float64:
      return 8;
    case ValueType::String:
    case ValueType::Array:
      return 0;
  }
  return 0;
}

int64_t load_integer(const uint8_t* p, ValueType type) {
  const auto load = [p]<typename T>(T v) {
    std::memcpy(&v, p, sizeof v);
    return static_cast<int64_t>(v);
  };
  switch (type) {
    case ValueType::Uint8:
      return load(uint8_t{});
    case ValueType::Int8:
      return load(int8_t{});
    case ValueType::Uint16:
      return load(uint16_t{});
    case ValueType::Int16:
      return load(int16_t{});
    case ValueType::Uint32:
      return load(uint32_t{});
    case ValueType::Int32:
      return load(int32_t{});
    case ValueType::Uint64:
      return load(uint64_t{});
    case ValueType::Int64:
      return load(int64_t{});
    case ValueType::Bool:
      return *p != 0;
    default:
      return 0;
  }
}

double load_real(const uint8_t* p, ValueType type) {
  if (type == ValueType::Float64) {
    double v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  float v;
  std::memcpy(&v, p, sizeof v);
  return static_cast<double>(v);
}

const Value* Metadata::find(std::string_view key) const {
  const auto found = index_.find(std::string(key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void Metadata::add(std::string key, Value value) {
  if (!index_.emplace(key, entries_.size()).second) {
    fail(ErrorCode::BadInput, "{}: metadata key \"{}\" appears twice; the file is damaged", file_, key);
  }
  entries_.emplace_back(std::move(key), std::move(value));
}

std::optional<int64_t> Metadata::find_int(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!is_integer(value->type)) wrong_type(file_, key, *value, "an integer");
  return checked_integer(file_, key, *value, value->integer, value->type);
}

std::optional<double> Metadata::find_real(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (is_real(value->type)) return value->real;
  if (!is_integer(value->type)) wrong_type(file_, key, *value, "a number");
  return static_cast<double>(checked_integer(file_, key, *value, value->integer, value->type));
}

std::optional<bool> Metadata::find_bool(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!is_integer(value->type)) wrong_type(file_, key, *value, "a bool");
  return value->integer != 0;
}

std::optional<std::string_view> Metadata::find_text(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::String) wrong_type(file_, key, *value, "a string");
  return value->text;
}

std::optional<std::vector<int64_t>> Metadata::find_ints(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::Array) return std::vector<int64_t>{*find_int(key)};
  if (!is_integer(value->element)) wrong_type(file_, key, *value, "an array of integers");
  std::vector<int64_t> integers(value->count);
  const size_t size = bytes_of(value->element);
  for (size_t i = 0; i < integers.size(); ++i) {
    const int64_t integer = load_integer(value->data + i * size, value->element);
    integers[i] = checked_integer(file_, key, *value, integer, value->element);
  }
  return integers;
}

std::optional<std::vector<float>> Metadata::find_reals(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::Array) return std::vector<float>{static_cast<float>(*find_real(key))};
  if (!is_real(value->element) && !is_integer(value->element)) wrong_type(file_, key, *value, "an array of numbers");
  std::vector<float> reals(value->count);
  const size_t size = bytes_of(value->element);
  for (size_t i = 0; i < reals.size(); ++i) {
    const uint8_t* p = value->data + i * size;
    reals[i] =
        is_real(value->element)
            ? static_cast<float>(load_real(p, value->element))
            : static_cast<float>(checked_integer(file_, key, *value, load_integer(p, value->element), value->element));
  }
  return reals;
}

std::optional<std::vector<std::string_view>> Metadata::find_texts(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type == ValueType::String) return std::vector<std::string_view>{value->text};
  if (value->type != ValueType::Array || value->element != ValueType::String) {
    wrong_type(file_, key, *value, "an array of strings");
  }
  return value->strings;
}

namespace {

[[noreturn]] void missing(const std::string& file, std::string_view key) {
  fail(ErrorCode::BadInput,
       "{}: metadata key \"{}\" is missing; the file is not a complete model or was converted by an older tool", file,
       key);
}

}  // namespace

int64_t Metadata::get_int(std::string_view key) const {
  const auto value = find_int(key);
  if (!value) missing(file_, key);
  return *value;
}

double Metadata::get_real(std::string_view key) const {
  const auto value = find_real(key);
  if (!value) missing(file_, key);
  return *value;
}

std::string_view Metadata::get_text(std::string_view key) const {
  const auto value = find_text(key);
  if (!value) missing(file_, key);
  return *value;
}

}  // namespace tally::gguf
