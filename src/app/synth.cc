#include "app/synth.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>

#include "app/quantize_rules.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "gguf/output_file.h"
#include "gguf/writer.h"
#include "models/registry.h"
#include "models/weights.h"

namespace tally::app {
namespace {

constexpr uint64_t kChunkBytes = 1 << 19;  // stays in a core's cache between filling and writing

struct SynthModel {
  std::vector<SynthTensor> tensors;
  ops::Rope rope;
};

// Metadata as a file would hold it, and the answer to "does the file have this tensor?", give the Programs; these say
// which tensors there are.
SynthModel plan_model(const SynthShape& shape, const Preset& preset) {
  gguf::Writer writer;
  add_synth_metadata(shape, preset.file_type, writer);
  const std::vector<uint8_t> image = writer.header();
  const gguf::File file = gguf::File::parse(image, "synth");
  const gguf::TensorInfo present;
  const models::ModelSource source{file.metadata(), [&](std::string_view name) -> const gguf::TensorInfo* {
                                     return has_optional_tensor(shape, name) ? &present : nullptr;
                                   }};
  std::vector<ops::Program> programs{models::build_program(source)};
  if (shape.mtp) programs.push_back(models::build_mtp_program(source).value());

  SynthModel model;
  std::vector<gguf::TensorInfo> originals;  // in float32, as a trained model would be
  std::set<std::string> known;              // a fused tensor is several weights, a tied head the embedding again
  for (const ops::Program& p : programs) {
    const std::vector<WeightRole> roles = weight_roles(p);
    for (size_t i = 0; i < p.weights.size(); ++i) {
      if (!known.insert(p.weights[i].name).second) continue;
      SynthTensor tensor{.name = p.weights[i].name, .dims = models::stored_shape(p.weights[i]), .role = roles[i]};
      gguf::TensorInfo& original = originals.emplace_back();
      original.name = tensor.name, original.type = &quant::type_of(quant::TypeId::F32);
      original.n_dims = static_cast<int>(tensor.dims.size());
      std::copy(tensor.dims.begin(), tensor.dims.end(), original.dims);
      model.tensors.push_back(std::move(tensor));
    }
    for (const ops::Op& op : p.ops)
      if (const auto* attention = std::get_if<ops::Attention>(&op)) model.rope = attention->rope;
  }
  const std::vector<quant::TypeId> chosen = choose_types(file.metadata(), originals, preset);
  for (size_t i = 0; i < chosen.size(); ++i) model.tensors[i].type = &quant::type_of(chosen[i]);
  return model;
}

const Preset& find_types(const std::string& name) {
  if (const Preset* preset = find_preset(name)) return *preset;
  std::string names;
  for (const Preset& preset : presets()) names += (names.empty() ? "" : ", ") + std::string(preset.name);
  fail(ErrorCode::Usage, "--types is \"{}\", expected one of {}", name, names);
}

// A piece of a tensor, as one thread fills and writes it.
struct Chunk {
  const SynthTensor* tensor;
  uint64_t first_unit, offset, bytes;
};

std::vector<Chunk> cut_chunks(const std::vector<SynthTensor>& tensors, const gguf::Writer& writer,
                              uint64_t data_begin) {
  std::vector<Chunk> chunks;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const uint64_t unit = SynthValues::unit_bytes(tensors[t]), n_units = std::max<uint64_t>(1, kChunkBytes / unit);
    for (uint64_t at = 0; at < tensors[t].bytes; at += n_units * unit)
      chunks.push_back({&tensors[t], at / unit, data_begin + writer.tensor_offset(static_cast<int>(t)) + at,
                        std::min(n_units * unit, tensors[t].bytes - at)});
  }
  return chunks;
}

void write_chunks(const std::vector<Chunk>& chunks, const SynthValues& values, const gguf::OutputFile& file,
                  ThreadTeam& team, Progress& progress) {
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> done{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  team.run([&](int worker) {
    std::vector<uint8_t> buffer(kChunkBytes);
    try {
      for (size_t i; (i = next.fetch_add(1)) < chunks.size();) {
        const Chunk& c = chunks[i];
        const std::span out(buffer.data(), c.bytes);
        values.fill(*c.tensor, c.first_unit, out);
        file.write_at(c.offset, out);
        done += c.bytes;
        if (worker == 0) progress.update(done);
      }
    } catch (...) {
      next = chunks.size();
      const std::lock_guard lock(error_mutex);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  progress.update(done);
}

SynthShape shape_of(const SynthOptions& options) {
  SynthShape shape{.size = &find_synth_size(options.architecture, options.size), .mtp = options.mtp};
  if (options.n_layers < 0 || options.n_layers > 500)
    fail(ErrorCode::Usage, "--layers is {}, expected 1 to 500", options.n_layers);
  shape.n_layers = options.n_layers > 0 ? options.n_layers : shape.size->n_layers;
  return shape;
}

}  // namespace

std::vector<SynthTensor> synth_tensors(const SynthShape& shape, const std::string& types) {
  return plan_model(shape, find_types(types)).tensors;
}

SynthResult synthesize(const SynthOptions& options) {
  const uint64_t begin = now_ns();
  const SynthShape shape = shape_of(options);
  const Preset& preset = find_types(options.types);
  SynthModel model = plan_model(shape, preset);

  gguf::Writer writer;
  add_synth_metadata(shape, preset.file_type, writer);
  writer.add_text("tokenizer.ggml.model", "no_vocab");
  SynthResult result{.n_tensors = model.tensors.size()};
  for (SynthTensor& t : model.tensors) {
    t.bytes = writer.tensor_bytes(writer.add_tensor(t.name, t.type->id, t.dims));
    result.n_parameters += t.bytes / static_cast<uint64_t>(t.type->block_bytes) * t.type->block_elements;
  }
  result.bytes = writer.total_bytes();

  gguf::OutputFile file(options.path, result.bytes);  // checks that the disk has room
  file.reserve(result.bytes);
  const SynthValues values(options.seed, model.rope, shape.size->rope_factor, model.tensors);
  const std::vector<uint8_t> header = writer.header();
  file.write_at(0, header);
  const std::vector<Chunk> chunks = cut_chunks(model.tensors, writer, header.size());
  ThreadTeam team(options.n_threads > 0 ? options.n_threads : available_cores());
  Progress progress(options.path, options.progress);
  progress.begin(0, result.bytes);
  write_chunks(chunks, values, file, team, progress);
  file.finish();
  result.seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  return result;
}

}  // namespace tally::app
