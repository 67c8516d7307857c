// The parser. Layout of the format: magic, version, counts, metadata, tensor directory, padding, tensor data.
#include "gguf/image.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/checked.h"
#include "gguf/cursor.h"
#include "gguf/value.h"

namespace tally::gguf {
namespace {

constexpr uint64_t kHeaderBytes = 24;
constexpr uint64_t kEntryBytesMin = 8 + 1 + 4 + 1;           // key of one byte, value of one byte
constexpr uint64_t kTensorBytesMin = 8 + 1 + 4 + 0 + 4 + 8;  // name of one byte, no dimensions

// What people open by mistake.
const char* guess_content(std::string_view start) {
  if (start.starts_with("version https://git-lfs"))
    return "; it is a Git LFS pointer: fetch the file that it stands for";
  if (start.starts_with("<")) return "; it looks like a web page: the download went wrong";
  if (start.starts_with("\x1f\x8b") || start.starts_with("PK\x03\x04")) return "; it is compressed: unpack it first";
  if (start.size() > 8 && start[8] == '{') return "; it looks like a safetensors file: convert it to GGUF first";
  return "";
}

void check_header(Cursor& in, std::span<const uint8_t> bytes) {
  const std::string& name = in.name();
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 64));
  if (!start.starts_with("GGUF")) {
    fail(ErrorCode::BadInput, "{}: not a GGUF file: it starts with \"{}\", expected \"GGUF\"{}", name,
         printable(start.substr(0, 4)), guess_content(start));
  }
  if (bytes.size() < kHeaderBytes) {
    fail(ErrorCode::BadInput, "{}: truncated: the header needs {} bytes, the file has {} bytes; fetch it again", name,
         kHeaderBytes, bytes.size());
  }
  in.take(4, "magic");
  const uint32_t version = in.read<uint32_t>("version");
  if (version != 0 && (version & 0xFFFF) == 0) {
    fail(ErrorCode::BadInput,
         "{}: the file is big-endian (its version reads {:#x}); tally reads little-endian files: convert it", name,
         version);
  }
  if (version != 2 && version != 3) {
    fail(
        ErrorCode::BadInput, "{}: GGUF version {}, expected 2 or 3; {}", name, version,
        version < 2 ? "convert the model again with a current tool" : "the file is damaged or newer than this program");
  }
}

uint64_t read_count(Cursor& in, const char* what, uint64_t max) {
  const uint64_t at = in.position();
  const uint64_t count = in.read<uint64_t>(what);
  if (count > max) {
    fail(ErrorCode::BadInput, "{}: {} at byte {} is {}, the limit is {}; the file is damaged", in.name(), what, at,
         count, max);
  }
  return count;
}

// Against the rest of the file, before anything is reserved.
void check_room(const Cursor& in, const char* what, uint64_t count, uint64_t bytes_each) {
  if (count > in.remaining() / bytes_each) {
    fail(ErrorCode::BadInput,
         "{}: truncated: {} {} need at least {} bytes each, {} bytes remain at byte {}; fetch it again", in.name(),
         count, what, bytes_each, in.remaining(), in.position());
  }
}

ValueType read_type(Cursor& in, const std::string& key, const char* what) {
  const uint64_t at = in.position();
  const uint32_t id = in.read<uint32_t>(what);
  if (!is_value_type(id)) {
    fail(ErrorCode::BadInput, "{}: metadata key \"{}\": {} at byte {} is {}, expected 0 to 12; the file is damaged",
         in.name(), printable(key), what, at, id);
  }
  return static_cast<ValueType>(id);
}

void read_array(Cursor& in, const std::string& key, Value& value) {
  value.element = read_type(in, key, "array element type");
  if (value.element == ValueType::Array) {
    fail(ErrorCode::BadInput, "{}: metadata key \"{}\" at byte {} is an array of arrays, which is not supported",
         in.name(), printable(key), in.position());
  }
  value.count = in.read<uint64_t>("array length");
  const uint64_t bytes_each = value.element == ValueType::String ? 8 : bytes_of(value.element);
  if (value.count > kArrayElementsMax || value.count > in.remaining() / bytes_each) {
    fail(ErrorCode::BadInput,
         "{}: metadata key \"{}\": an array of {} elements of at least {} bytes does not fit into the {} bytes that "
         "remain "
         "at byte {} (limit {} elements); the file is truncated or damaged, fetch it again",
         in.name(), printable(key), value.count, bytes_each, in.remaining(), in.position(), kArrayElementsMax);
  }
  if (value.element != ValueType::String) {
    value.data = in.take(value.count * bytes_each, "array");
    return;
  }
  value.strings.reserve(value.count);  // each takes at least 8 bytes of the file, checked above
  for (uint64_t i = 0; i < value.count; ++i) value.strings.push_back(in.read_text(kTextBytesMax, "array string"));
}

Value read_value(Cursor& in, const std::string& key) {
  Value value;
  value.type = read_type(in, key, "value type");
  if (value.type == ValueType::String) {
    value.text = in.read_text(kTextBytesMax, "metadata string");
  } else if (value.type == ValueType::Array) {
    read_array(in, key, value);
  } else {
    const uint8_t* p = in.take(bytes_of(value.type), "metadata value");
    if (value.type == ValueType::Float32 || value.type == ValueType::Float64) {
      value.real = load_real(p, value.type);
    } else {
      value.integer = load_integer(p, value.type);
    }
  }
  return value;
}

void read_metadata(Cursor& in, uint64_t count, Metadata& metadata) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = in.position();
    const std::string key(in.read_text(kKeyBytesMax, "metadata key"));
    const bool plain = std::ranges::none_of(key, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
    if (key.empty() || !plain) {
      fail(ErrorCode::BadInput, "{}: metadata key {} at byte {} is {}; the file is damaged", in.name(), i, at,
           key.empty() ? "empty" : "not plain text (it holds control bytes)");
    }
    metadata.add(key, read_value(in, key));
  }
}

uint64_t read_alignment(const Metadata& metadata) {
  const Value* value = metadata.find("general.alignment");
  if (value == nullptr) return 32;
  const uint64_t alignment = value->type == ValueType::Uint32 ? static_cast<uint64_t>(value->integer) : 0;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kAlignmentMax) {
    fail(ErrorCode::BadInput,
         "{}: metadata key \"general.alignment\" is {} of type {}, expected a uint32 that is a power of two up to {}; "
         "the "
         "file is damaged",
         metadata.file(), value->integer, name_of(value->type), kAlignmentMax);
  }
  return alignment;
}

void read_dims(Cursor& in, TensorInfo& tensor) {
  const uint32_t n_dims = in.read<uint32_t>("number of dimensions");
  if (n_dims > 4) {
    fail(ErrorCode::BadInput, "{}: tensor \"{}\" has {} dimensions, expected at most 4; the file is damaged", in.name(),
         tensor.name, n_dims);
  }
  tensor.n_dims = static_cast<int>(n_dims);
  uint64_t n_elements = 1;
  for (uint32_t i = 0; i < n_dims; ++i) {
    tensor.dims[i] = in.read<uint64_t>("dimension");
    const bool fits = tensor.dims[i] != 0 && checked_mul(n_elements, tensor.dims[i], &n_elements) &&
                      n_elements < static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!fits) {
      fail(
          ErrorCode::BadInput,
          "{}: tensor \"{}\": dimension {} is {}, expected at least 1 and fewer than 2^63 elements in all; the file is "
          "damaged",
          in.name(), tensor.name, i, static_cast<int64_t>(tensor.dims[i]));
    }
  }
}

void read_tensor_type(Cursor& in, TensorInfo& tensor) {
  const int32_t id = in.read<int32_t>("tensor type");
  tensor.type = quant::find_type(id);
  if (tensor.type == nullptr) {
    const bool removed = id == 4 || id == 5 || (id >= 31 && id <= 33) || (id >= 36 && id <= 38);
    fail(ErrorCode::BadInput, "{}: tensor \"{}\" has type id {}, which is {}; {}", in.name(), tensor.name, id,
         removed ? "a format that no longer exists" : "unknown",
         removed ? "convert the model again" : "the file is damaged or newer than this program");
  }
  const auto block = static_cast<uint64_t>(tensor.type->block_elements);
  if (tensor.dims[0] % block != 0) {
    fail(ErrorCode::BadInput,
         "{}: tensor \"{}\" has rows of {} values, expected a multiple of {} (the block of type {}); the file is "
         "damaged",
         in.name(), tensor.name, tensor.dims[0], block, tensor.type->name);
  }
  const uint64_t n_blocks = tensor.n_elements() / block;
  if (!checked_mul(n_blocks, static_cast<uint64_t>(tensor.type->block_bytes), &tensor.bytes) ||
      tensor.bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    fail(ErrorCode::BadInput, "{}: tensor \"{}\" of {} values is larger than can be addressed; the file is damaged",
         in.name(), tensor.name, tensor.n_elements());
  }
}

TensorInfo read_tensor(Cursor& in, uint64_t number) {
  const uint64_t at = in.position();
  const std::string_view name = in.read_text(kTextBytesMax, "tensor name");
  const bool plain = std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (name.empty() || name.size() > kTensorNameBytesMax || !plain) {
    fail(ErrorCode::BadInput,
         "{}: name \"{}\" of tensor {} at byte {} has {} bytes, expected 1 to {} without control bytes", in.name(),
         printable(name), number, at, name.size(), kTensorNameBytesMax);
  }
  TensorInfo tensor;
  tensor.name = name;
  read_dims(in, tensor);
  read_tensor_type(in, tensor);
  tensor.offset = in.read<uint64_t>("tensor offset");
  return tensor;
}

// Offsets are relative to `data_start` in the file; each must follow the tensor before it, padded. That one rule covers
// misaligned, overlapping and unordered data. Turns them into offsets from the start of the file and sets `data`.
void place_tensors(std::span<const uint8_t> bytes, const std::string& name, uint64_t alignment, uint64_t data_start,
                   std::vector<TensorInfo>& tensors) {
  uint64_t expected = 0, end = 0;
  for (TensorInfo& tensor : tensors) {
    if (tensor.offset != expected) {
      const char* how = tensor.offset % alignment != 0 ? "it is not aligned"
                        : tensor.offset < expected     ? "it overlaps the tensor before it, or the order is wrong"
                                                       : "there is a gap before it, or the order is wrong";
      fail(ErrorCode::BadInput, "{}: tensor \"{}\" has offset {}, expected {} (alignment {}): {}; the file is damaged",
           name, tensor.name, tensor.offset, expected, alignment, how);
    }
    uint64_t padded_end;
    if (!checked_add(expected, tensor.bytes, &end) || !checked_add(end, alignment - 1, &padded_end) ||
        !checked_add(end, data_start, &end)) {
      fail(ErrorCode::BadInput, "{}: tensor \"{}\" ends beyond what can be addressed; the file is damaged", name,
           tensor.name);
    }
    expected = padded_end / alignment * alignment;
    tensor.offset += data_start;
  }
  if (end > bytes.size()) {
    fail(ErrorCode::BadInput, "{}: truncated: tensor data ends at byte {}, the file has {} bytes; fetch it again", name,
         end, bytes.size());
  }
  for (TensorInfo& tensor : tensors) tensor.data = bytes.data() + tensor.offset;
}

}  // namespace

Image parse_image(std::span<const uint8_t> bytes, const std::string& name) {
  Cursor in(bytes, name);
  check_header(in, bytes);
  const uint64_t n_tensors = read_count(in, "tensor count", kTensorsMax);
  const uint64_t n_entries = read_count(in, "metadata count", kMetadataEntriesMax);
  check_room(in, "metadata entries", n_entries, kEntryBytesMin);
  Image image{Metadata(name), {}, 0};
  read_metadata(in, n_entries, image.metadata);
  check_room(in, "tensors", n_tensors, kTensorBytesMin);
  const uint64_t alignment = read_alignment(image.metadata);
  image.tensors.reserve(n_tensors);
  std::unordered_set<std::string_view> names;
  for (uint64_t i = 0; i < n_tensors; ++i) {
    image.tensors.push_back(read_tensor(in, i));
    if (!names.insert(image.tensors.back().name).second) {
      fail(ErrorCode::BadInput, "{}: tensor \"{}\" appears twice; the file is damaged", name,
           image.tensors.back().name);
    }
  }
  image.directory_bytes = in.position();
  place_tensors(bytes, name, alignment, round_up(in.position(), alignment), image.tensors);
  return image;
}

}  // namespace tally::gguf
