// One GGUF image (a whole file, or one shard of a split model), parsed and checked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gguf/gguf.h"

namespace tally::gguf {

struct Image {
  Metadata metadata;
  std::vector<TensorInfo> tensors;  // in the order of the file, which is that of their data
  uint64_t directory_bytes = 0;     // header, metadata and tensor directory: bytes 0 to here
};

// Everything is bounded by the size of `bytes` before it is allocated. `name` stands in front of messages.
Image parse_image(std::span<const uint8_t> bytes, const std::string& name);

// Limits beyond those that the size of the file sets.
inline constexpr uint64_t kMetadataEntriesMax = 65536;
inline constexpr uint64_t kTensorsMax = 1'000'000;
inline constexpr uint64_t kKeyBytesMax = 65535;
inline constexpr uint64_t kTextBytesMax = uint64_t{64} << 20;
inline constexpr uint64_t kArrayElementsMax = uint64_t{1} << 30;
inline constexpr uint64_t kTensorNameBytesMax = 63;
inline constexpr uint64_t kAlignmentMax = uint64_t{1} << 20;

}  // namespace tally::gguf
