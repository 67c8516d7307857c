#include "app/info.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "models/registry.h"
#include "models/weights.h"
#include "ops/fields.h"

namespace tally::app {
namespace {

std::vector<TypeShare> count_types(const gguf::File& file) {
  std::map<quant::TypeId, TypeShare> by_id;
  for (const gguf::TensorInfo& t : file.tensors()) {
    TypeShare& share = by_id[t.type->id];
    share.type = t.type;
    ++share.n_tensors, share.n_parameters += t.n_elements(), share.bytes += t.bytes;
  }
  std::vector<TypeShare> types;
  for (const auto& [id, share] : by_id) types.push_back(share);
  std::stable_sort(types.begin(), types.end(),
                   [](const TypeShare& a, const TypeShare& b) { return a.bytes > b.bytes; });
  return types;
}

// Each weight once: of the experts those that a token is sent to, of the embedding one row.
uint64_t active_parameters(const ops::Program& program) {
  std::map<std::string, uint64_t> active;  // by tensor and rows
  for (const ops::Op& op : program.ops) {
    const auto* experts = std::get_if<ops::Experts>(&op);
    const bool is_embedding = std::holds_alternative<ops::Embed>(op);
    ops::weights_of(op, [&](ops::WeightRef ref) {
      const ops::WeightInfo& w = program.info(ref);
      uint64_t n = static_cast<uint64_t>(w.in) * static_cast<uint64_t>(is_embedding ? 1 : w.out);
      n *= static_cast<uint64_t>(experts ? experts->n_used : w.experts);
      uint64_t& known = active[fmt::format("{} {}", w.name, w.row_begin)];
      known = std::max(known, n);
    });
  }
  uint64_t sum = 0;
  for (const auto& [name, n] : active) sum += n;
  return sum;
}

void build_programs(const gguf::File& file, ModelInfo& info) {
  if (file.tensors().empty()) {
    info.note = "the file holds no tensors: a vocabulary or metadata alone";
    return;
  }
  try {
    const models::ModelSource source = models::source_of(file);
    ops::Program program = models::build_program(source);
    info.weights = models::bind_weights(program, file);
    info.mtp = models::build_mtp_program(source);
    if (info.mtp) models::bind_weights(*info.mtp, file);
    info.program = std::move(program);
  } catch (const Error& e) {
    info.mtp.reset();
    info.note = fmt::format("tally cannot run it: {}", e.what());
  }
}

std::vector<int> contexts_to_show(const ops::Program& program, const InfoOptions& options) {
  if (options.context_length > 0) return {options.context_length};
  std::vector<int> contexts;
  for (int n : {4096, 16384, 32768})
    if (n < program.context_length) contexts.push_back(n);
  contexts.push_back(program.context_length);
  return contexts;
}

}  // namespace

ModelInfo read_info(const gguf::File& file, const InfoOptions& options, const MachineMemory& machine) {
  if (options.context_length < 0) fail(ErrorCode::Usage, "--ctx is {}, expected at least 1", options.context_length);
  ModelInfo info{.architecture = std::string(file.metadata().find_text("general.architecture").value_or("")),
                 .machine = machine};
  info.types = count_types(file);
  for (const TypeShare& share : info.types) info.n_parameters += share.n_parameters;
  build_programs(file, info);
  if (!info.program) return info;
  info.n_active_parameters = active_parameters(*info.program);
  for (int context : contexts_to_show(*info.program, options)) {
    ContextNeed each{.need = memory_need(file, *info.program, nullptr, {.context_length = context})};
    each.verdict = check_fit(each.need, machine);
    info.contexts.push_back(std::move(each));
  }
  return info;
}

}  // namespace tally::app
