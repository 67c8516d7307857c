// Model files made for one test: a tiny model with keys or tensors changed, its weights all zero.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "models/registry.h"
#include "models/weights.h"
#include "support.h"

namespace tally::test {

struct TensorEdit {
  quant::TypeId type = quant::TypeId::F32;
  std::vector<uint64_t> dims;
};

struct Edit {
  std::map<std::string, std::function<void(gguf::Writer&, const std::string& key)>> keys;  // null: left out
  std::map<std::string, std::optional<TensorEdit>> tensors;                                // nullopt: left out
};

inline gguf::File tiny_model(const std::string& name) {
  return gguf::File::open((std::filesystem::path(TALLY_SOURCE_DIR) / "tests/data/tiny" / (name + ".gguf")).string());
}

// A whole GGUF image.
inline std::vector<uint8_t> edited(const gguf::File& file, const Edit& edit) {
  gguf::Writer writer;
  std::map<std::string, bool> done;
  for (const auto& [key, value] : file.metadata().entries()) {
    auto change = edit.keys.find(key);
    if (change == edit.keys.end()) {
      writer.copy(key, value);
      continue;
    }
    if (change->second) change->second(writer, key);
    done[key] = true;
  }
  for (const auto& [key, change] : edit.keys)
    if (!done[key] && change) change(writer, key);
  for (const gguf::TensorInfo& t : file.tensors()) {
    auto change = edit.tensors.find(t.name);
    if (change == edit.tensors.end())
      writer.add_tensor(t.name, t.type->id, std::span(t.dims, t.n_dims));
    else if (change->second)
      writer.add_tensor(t.name, change->second->type, change->second->dims);
  }
  for (const auto& [name, change] : edit.tensors)
    if (change && file.find(name) == nullptr) writer.add_tensor(name, change->type, change->dims);
  std::vector<uint8_t> image = writer.header();
  image.resize(writer.total_bytes());
  return image;
}

inline auto integer(int64_t value) {
  return [value](gguf::Writer& w, const std::string& key) { w.add_int(key, gguf::ValueType::Int64, value); };
}
inline auto integers(std::vector<int64_t> values) {
  return [values](gguf::Writer& w, const std::string& key) { w.add_ints(key, gguf::ValueType::Int32, values); };
}
inline auto real(double value) {
  return [value](gguf::Writer& w, const std::string& key) { w.add_real(key, gguf::ValueType::Float32, value); };
}
inline auto text(std::string value) {
  return [value](gguf::Writer& w, const std::string& key) { w.add_text(key, value); };
}

// What opening the model says: the message of the Error, or "" when it opens. Trunk and MTP block alike.
inline std::string opening_error(const gguf::File& file) {
  try {
    models::bind_weights(models::build_program(models::source_of(file)), file);
    if (auto mtp = models::build_mtp_program(models::source_of(file))) models::bind_weights(*mtp, file);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadInput) << e.what();
    return e.what();
  }
  return "";
}

inline std::string opening_error(const std::string& tiny, const Edit& edit) {
  std::vector<uint8_t> image = edited(tiny_model(tiny), edit);
  return opening_error(gguf::File::parse(image, "model.gguf"));
}

}  // namespace tally::test
