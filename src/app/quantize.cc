#include "app/quantize.h"

#include <algorithm>
#include <filesystem>

#include "app/quantize_rules.h"
#include "app/requantize.h"
#include "base/error.h"
#include "gguf/writer.h"

namespace tally::app {
namespace {

using quant::TypeId;

struct TypeMap {
  TypeId from, to;
};

std::optional<TypeMap> parse_map(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const size_t equals = text.find('=');
  const auto plain_type = [&text](const std::string& name) {
    const quant::QuantType* type = quant::find_type(name);
    if (type == nullptr || (type->id != TypeId::F32 && type->id != TypeId::F16 && type->id != TypeId::BF16)) {
      fail(ErrorCode::Usage, "--map {}: expected FROM=TO, each of f32, f16, bf16, for instance bf16=f16", text);
    }
    return type->id;
  };
  const TypeId from = plain_type(text.substr(0, equals));
  return TypeMap{from, plain_type(equals == std::string::npos ? "" : text.substr(equals + 1))};
}

const Preset* parse_preset(const std::string& name) {
  if (name.empty()) return nullptr;
  if (const Preset* preset = find_preset(name)) return preset;
  std::string known;
  for (const Preset& preset : presets()) known += (known.empty() ? "" : ", ") + std::string(preset.name);
  fail(ErrorCode::Usage, "--type {}: unknown; known: {}", name, known);
}

void check_output(const gguf::File& file, const std::string& output) {
  std::error_code ignored;  // an output that does not exist yet is no input
  for (const std::string& input : file.shard_paths()) {
    if (!std::filesystem::equivalent(input, output, ignored)) continue;
    fail(ErrorCode::Usage, "quantize: the output {} is the input (or a shard of it); choose another name", output);
  }
}

std::vector<TypeId> target_types(const gguf::File& file, const Preset* preset, const std::optional<TypeMap>& map) {
  std::vector<TypeId> types;
  if (preset != nullptr) {
    types = choose_types(file.metadata(), file.tensors(), *preset);
  } else {
    for (const gguf::TensorInfo& tensor : file.tensors()) types.push_back(tensor.type->id);
  }
  for (TypeId& type : types) {
    if (map && type == map->from) type = map->to;
  }
  return types;
}

// As they are, but for the keys that describe the number formats and the split.
void copy_metadata(const gguf::File& file, const Preset* preset, gguf::Writer& writer) {
  constexpr const char* kFileType = "general.file_type";
  constexpr const char* kVersion = "general.quantization_version";
  const gguf::Metadata& metadata = file.metadata();
  const bool merged = metadata.find_int("split.count").value_or(1) > 1;
  for (const auto& [key, value] : metadata.entries()) {
    if (key.starts_with("split.") && (merged || preset != nullptr)) continue;
    if (preset != nullptr && key == kFileType) {
      writer.add_int(key, gguf::ValueType::Uint32, preset->file_type);
    } else if (preset != nullptr && key == kVersion) {
      writer.add_int(key, gguf::ValueType::Uint32, 2);
    } else {
      writer.copy(key, value);
    }
  }
  if (preset == nullptr) return;
  if (!metadata.has(kFileType)) writer.add_int(kFileType, gguf::ValueType::Uint32, preset->file_type);
  if (!metadata.has(kVersion)) writer.add_int(kVersion, gguf::ValueType::Uint32, 2);
}

void check_convertible(const std::string& path, const gguf::TensorInfo& tensor, const quant::QuantType& after) {
  if (tensor.type->id == after.id || (tensor.type->dequantize != nullptr && after.quantize != nullptr)) return;
  fail(ErrorCode::BadInput, "{}: tensor \"{}\": there is no way from type {} to {}", path, tensor.name,
       tensor.type->name, after.name);
}

// Copies in pieces, so that a large tensor's pages need not stay.
void copy_bytes(const gguf::TensorInfo& tensor, const gguf::Writer::Sink& sink,
                const std::function<void(uint64_t)>& progress) {
  constexpr uint64_t kPiece = uint64_t{16} << 20;
  for (uint64_t at = 0; at < tensor.bytes; at += kPiece) {
    const uint64_t n = std::min(tensor.bytes - at, kPiece);
    sink({tensor.data + at, n});
    progress(at + n);
  }
}

}  // namespace

std::vector<QuantizedTensor> quantize_file(const QuantizeOptions& options) {
  const Preset* preset = parse_preset(options.type);
  const auto map = parse_map(options.map);
  if (preset == nullptr && !map)
    fail(ErrorCode::Usage, "quantize: give --type, or --map to re-encode some tensors only");
  const gguf::File file = gguf::File::open(options.input);
  check_output(file, options.output);
  const std::vector<TypeId> types = target_types(file, preset, map);

  gguf::Writer writer;
  copy_metadata(file, preset, writer);
  std::vector<QuantizedTensor> results;
  for (size_t i = 0; i < types.size(); ++i) {
    const gguf::TensorInfo& tensor = file.tensors()[i];
    check_convertible(options.input, tensor, quant::type_of(types[i]));
    const std::span dims(tensor.dims, static_cast<size_t>(tensor.n_dims));
    const int number = writer.add_tensor(tensor.name, types[i], dims);
    results.push_back({tensor.name,
                       {dims.begin(), dims.end()},
                       tensor.type->id,
                       types[i],
                       tensor.bytes,
                       writer.tensor_bytes(number),
                       {}});
  }

  Requantizer requantizer(options.n_threads > 0 ? options.n_threads : available_cores());
  Progress progress("quantize", options.progress);
  progress.begin(0, file.total_bytes());
  uint64_t done = 0;
  writer.stream(options.output, [&](int number, const gguf::Writer::Sink& sink) {
    const auto i = static_cast<size_t>(number);
    const gguf::TensorInfo& tensor = file.tensors()[i];
    uint64_t released = 0;
    const auto report = [&](uint64_t bytes) {
      progress.update(done + bytes);
      file.release(tensor, released, bytes);
      released = bytes;
    };
    if (types[i] == tensor.type->id) {
      copy_bytes(tensor, sink, report);
    } else {
      results[i].change =
          requantizer.run(options.input, tensor, quant::type_of(types[i]), options.strict, sink, report);
    }
    done += tensor.bytes;
  });
  return results;
}

}  // namespace tally::app
