// Files and split models.
#include "gguf/gguf.h"

#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "gguf/image.h"
#include "gguf/mapping.h"

namespace tally::gguf {
namespace {

// "-00001-of-00003.gguf"
std::string shard_suffix(int64_t number, int64_t count) {
  return fmt::format("-{:05}-of-{:05}.gguf", number + 1, count);
}

// The name of the model without its suffix; the file given must be the first shard.
std::string shard_prefix(const std::string& path, const Metadata& metadata, int64_t count) {
  const auto number = metadata.find_int("split.no");
  if (count > 99999 || !number || *number < 0 || *number >= count) {
    fail(ErrorCode::BadInput,
         "{}: metadata keys \"split.no\" and \"split.count\" are {} and {}, expected a shard number "
         "below a count of at most 99999; the file is damaged",
         path, number ? std::to_string(*number) : "missing", count);
  }
  const std::string suffix = shard_suffix(*number, count);
  if (!path.ends_with(suffix)) {
    fail(ErrorCode::BadInput, "{}: it is shard {} of {} of a split model, so its name must end in \"{}\"; rename it",
         path, *number + 1, count, suffix);
  }
  const std::string prefix = path.substr(0, path.size() - suffix.size());
  if (*number != 0) {
    fail(ErrorCode::BadInput, "{}: it is shard {} of {}, expected the first one; open {}{} instead", path, *number + 1,
         count, prefix, shard_suffix(0, count));
  }
  return prefix;
}

void check_shard(const std::string& path, const Metadata& metadata, int64_t number, int64_t count) {
  const auto found_number = metadata.find_int("split.no"), found_count = metadata.find_int("split.count");
  if (found_number == number && found_count == count) return;
  fail(ErrorCode::BadInput,
       "{}: metadata says that it is shard {} of {} (counted from 0), expected {} of {}; the shards do "
       "not belong together, fetch them again",
       path, found_number ? std::to_string(*found_number) : "?", found_count ? std::to_string(*found_count) : "?",
       number, count);
}

}  // namespace

void File::add_image(std::span<const uint8_t> bytes, const std::string& name, int shard) {
  Image image = parse_image(bytes, name);
  for (TensorInfo& tensor : image.tensors) {
    tensor.shard = shard;
    if (!index_.emplace(tensor.name, tensors_.size()).second) {
      fail(ErrorCode::BadInput, "{}: tensor \"{}\" is in another shard too; the shards do not belong together", name,
           tensor.name);
    }
    tensors_.push_back(std::move(tensor));
  }
  shard_paths_.push_back(name);
  total_bytes_ += bytes.size();
  directory_hash_ = hash_bytes(bytes.data(), image.directory_bytes, directory_hash_);
  if (shard == 0) {
    metadata_ = std::move(image.metadata);
  } else {
    check_shard(name, image.metadata, shard, *metadata_.find_int("split.count"));
  }
}

File File::parse(std::span<const uint8_t> data, const std::string& name_for_messages) {
  File file;
  file.path_ = name_for_messages;
  file.add_image(data, name_for_messages, 0);
  return file;
}

File File::open(const std::string& path) {
  File file;
  file.path_ = path;
  const auto add_file = [&file](const std::string& name, int shard) {
    const auto mapping = std::make_shared<Mapping>(name);
    file.add_image(mapping->bytes(), name, shard);
    file.mappings_.push_back(mapping);
  };
  add_file(path, 0);
  const int64_t count = file.metadata_.find_int("split.count").value_or(1);
  if (count <= 1) return file;
  const std::string prefix = shard_prefix(path, file.metadata_, count);
  for (int64_t shard = 1; shard < count; ++shard) {
    const std::string name = prefix + shard_suffix(shard, count);
    std::error_code ignored;
    if (!std::filesystem::exists(name, ignored)) {
      fail(ErrorCode::BadInput, "{}: shard {} of {} is missing: {}; fetch it into the same folder", path, shard + 1,
           count, name);
    }
    add_file(name, static_cast<int>(shard));
  }
  const int64_t n_expected = file.metadata_.get_int("split.tensors.count");
  if (n_expected != static_cast<int64_t>(file.tensors_.size())) {
    fail(ErrorCode::BadInput,
         "{}: the {} shards hold {} tensors, expected {} (metadata key \"split.tensors.count\"); the "
         "shards do not belong together",
         path, count, file.tensors_.size(), n_expected);
  }
  return file;
}

const TensorInfo* File::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

void File::release(const TensorInfo& tensor, uint64_t begin, uint64_t end) const {
  if (mappings_.empty()) return;  // parsed from memory
  mappings_[static_cast<size_t>(tensor.shard)]->release(tensor.offset + begin, end - begin);
}

uint64_t File::hash() const { return directory_hash_; }

}  // namespace tally::gguf
