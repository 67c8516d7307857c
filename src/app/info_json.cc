// `tally info --json`.
#include <cmath>

#include "app/info.h"
#include "base/base64.h"
#include "gguf/value.h"
#include "ops/cost.h"
#include "ops/print.h"
#include "text/utf8.h"

namespace tally::app {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kArrayShown = 64;  // longer ones are lists of tokens and the like

ordered_json text_json(std::string_view text) {
  if (text::is_valid_utf8(text)) return text;
  return {{"bytes", base64_encode(text)}};
}

ordered_json real_json(double value, std::string& reason) {
  if (std::isfinite(value)) return value;
  reason = std::isnan(value) ? "is not a number" : value > 0 ? "is infinite" : "is negative infinity";
  return nullptr;
}

ordered_json integer_json(int64_t value, gguf::ValueType type) {
  if (type == gguf::ValueType::Bool) return value != 0;
  if (type == gguf::ValueType::Uint64) return static_cast<uint64_t>(value);
  return value;
}

bool is_real(gguf::ValueType type) { return type == gguf::ValueType::Float32 || type == gguf::ValueType::Float64; }

ordered_json array_json(const gguf::Value& value, std::string& reason) {
  ordered_json array = ordered_json::array();
  for (std::string_view text : value.strings) array.push_back(text_json(text));
  if (value.data == nullptr) return array;
  for (uint64_t i = 0; i < value.count; ++i) {
    const uint8_t* p = value.data + i * gguf::bytes_of(value.element);
    array.push_back(is_real(value.element) ? real_json(gguf::load_real(p, value.element), reason)
                                           : integer_json(gguf::load_integer(p, value.element), value.element));
  }
  return array;
}

ordered_json tensors_json(const gguf::File& file) {
  ordered_json tensors = ordered_json::array();
  for (const gguf::TensorInfo& t : file.tensors()) {
    ordered_json shape = ordered_json::array();
    for (int d = 0; d < t.n_dims; ++d) shape.push_back(t.dims[d]);
    ordered_json one = {{"name", text_json(t.name)},
                        {"type", t.type->name},
                        {"shape", shape},
                        {"offset", t.offset},
                        {"bytes", t.bytes}};
    if (file.shard_paths().size() > 1) one["shard"] = t.shard;
    tensors.push_back(std::move(one));
  }
  return tensors;
}

ordered_json context_json(const ModelInfo& info, const ContextNeed& c) {
  const ops::Cost cost = ops::decode_cost(*info.program, info.weights, c.need.context_length - 1);
  ordered_json one = {
      {"ctx", c.need.context_length},
      {"weight_bytes", c.need.weights},
      {"always_read_bytes", c.need.always_read},
      {"expert_bytes", c.need.experts},
      {"state_bytes", c.need.slots + c.need.pages},
      {"activation_bytes", c.need.activations},
      {"total_bytes", c.need.total()},
      {"verdict", name_of(c.verdict.fit)},
      {"missing_bytes", c.verdict.missing},
      {"reread_bytes_per_token", c.verdict.reread_per_token},
      {"text", c.verdict.text},
  };
  one["bytes_per_token"] = {{"weights", cost.weight_bytes}, {"state", cost.state_bytes}, {"flops", cost.flops}};
  return one;
}

void add_program(const ModelInfo& info, const InfoOptions& options, ordered_json& json) {
  const ops::Program& p = *info.program;
  json["active_parameters"] = info.n_active_parameters;
  json["n_layers"] = p.n_layers, json["hidden_size"] = p.hidden_size;
  json["vocab_size"] = p.vocab_size, json["context_length"] = p.context_length;
  json["mtp"] = info.mtp.has_value();
  const ops::Cost cost = ops::decode_cost(p, info.weights, 0);
  json["bytes_per_token"] = {{"weights", cost.weight_bytes}, {"state", cost.state_bytes}, {"flops", cost.flops}};
  ordered_json contexts = ordered_json::array();
  for (const ContextNeed& c : info.contexts) contexts.push_back(context_json(info, c));
  json["memory"]["by_context"] = std::move(contexts);
  if (!options.program) return;
  json["program_hash"] = fmt::format("{:016x}", ops::program_hash(p));
  json["program"] = ops::print(p);
}

}  // namespace

ordered_json metadata_json(const gguf::Value& value, bool full, std::string& reason) {
  if (value.type == gguf::ValueType::String) return text_json(value.text);
  if (is_real(value.type)) return real_json(value.real, reason);
  if (value.type != gguf::ValueType::Array) return integer_json(value.integer, value.type);
  if (value.count > kArrayShown && !full) return {{"type", gguf::name_of(value.element)}, {"count", value.count}};
  return array_json(value, reason);
}

ordered_json info_json(const gguf::File& file, const ModelInfo& info, const InfoOptions& options) {
  ordered_json json = {{"file", file.path()}, {"bytes", file.total_bytes()}, {"shards", file.shard_paths()}};
  json["architecture"] = text_json(info.architecture);
  json["supported"] = info.program.has_value();
  json["note"] = info.note;
  json["parameters"] = info.n_parameters;
  ordered_json types = ordered_json::array();
  for (const TypeShare& t : info.types)
    types.push_back(
        {{"type", t.type->name}, {"tensors", t.n_tensors}, {"parameters", t.n_parameters}, {"bytes", t.bytes}});
  json["types"] = std::move(types);
  ordered_json machine = {{"total_bytes", info.machine.total}, {"available_bytes", info.machine.available}};
  machine["limit_bytes"] = info.machine.limit ? ordered_json(*info.machine.limit) : ordered_json();
  machine["usable_bytes"] = info.machine.usable();
  json["memory"]["machine"] = std::move(machine);
  if (info.program) add_program(info, options, json);
  ordered_json metadata = ordered_json::object(), reasons = ordered_json::object();
  for (const auto& [key, value] : file.metadata().entries()) {
    std::string reason;
    metadata[key] = metadata_json(value, options.full, reason);
    if (!reason.empty()) reasons[key] = reason;
  }
  json["metadata"] = std::move(metadata);
  if (!reasons.empty()) json["metadata_reasons"] = std::move(reasons);
  json["tensors"] = tensors_json(file);
  return json;
}

}  // namespace tally::app
