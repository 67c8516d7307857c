// `tally info` for people.
#include <fmt/format.h>

#include <algorithm>

#include "app/info.h"
#include "app/jsonl.h"
#include "app/progress.h"
#include "ops/cost.h"
#include "ops/print.h"
#include "text/parse/parser.h"

namespace tally::app {
namespace {

constexpr size_t kTextShown = 100;  // characters of one value of metadata

void add_row(std::string& out, std::string_view what, const std::string& value) {
  if (!value.empty()) out += fmt::format("  {:<13} {}\n", what, value);
}

// Text of the file as it may stand on a terminal: one line, control characters escaped, not too long.
std::string safe_text(std::string_view text) {
  std::string shown = dump_json(std::string(text.substr(0, kTextShown)));
  shown = shown.substr(1, shown.size() - 2);
  return text.size() > kTextShown ? shown + "…" : shown;
}

std::string text_of(const gguf::File& file, std::string_view key) {
  const gguf::Value* value = file.metadata().find(key);
  return value != nullptr && value->type == gguf::ValueType::String ? safe_text(value->text) : "";
}

uint64_t count_of(const gguf::File& file, std::string_view key) {
  const gguf::Value* value = file.metadata().find(key);
  return value != nullptr && value->type == gguf::ValueType::Array ? value->count : 0;
}

// "34.66 B", "135 M"
std::string human_count(uint64_t n) {
  const auto x = static_cast<double>(n);
  if (n >= 1'000'000'000) return fmt::format("{:.2f} B", x * 1e-9);
  if (n >= 1'000'000) return fmt::format("{:.1f} M", x * 1e-6);
  return std::to_string(n);
}

std::string types_text(const ModelInfo& info) {
  std::string text;
  for (const TypeShare& t : info.types)
    text += fmt::format("{}{} ×{} ({})", text.empty() ? "" : ", ", t.type->name, t.n_tensors, human_bytes(t.bytes));
  return text;
}

std::string tokenizer_text(const gguf::File& file) {
  std::string model = text_of(file, "tokenizer.ggml.model");
  if (model.empty() || model == "no_vocab" || model == "none") return "none: the model takes and gives token ids";
  const std::string pre = text_of(file, "tokenizer.ggml.pre");
  const uint64_t n = count_of(file, "tokenizer.ggml.tokens"), n_merges = count_of(file, "tokenizer.ggml.merges");
  if (!pre.empty()) model += fmt::format(" ({})", pre);
  model += fmt::format(", {} tokens", n);
  return n_merges > 0 ? model + fmt::format(", {} merges", n_merges) : model;
}

std::string template_text(const gguf::File& file) {
  const gguf::Value* value = file.metadata().find("tokenizer.chat_template");
  if (value == nullptr || value->type != gguf::ValueType::String) return "none";
  const std::string_view family = parse::detect_family(value->text, text_of(file, "general.architecture"));
  return fmt::format("{} characters, output format {}", value->text.size(), family);
}

std::string license_text(const gguf::File& file) {
  const std::string name = text_of(file, "general.license.name"), id = text_of(file, "general.license");
  if (name.empty()) return id.empty() ? "not stated" : id;
  return id.empty() || id == name ? name : fmt::format("{} ({})", name, id);
}

void add_summary(std::string& out, const gguf::File& file, const ModelInfo& info) {
  add_row(out, "name", text_of(file, "general.name"));
  std::string architecture = info.architecture.empty() ? "not stated" : safe_text(info.architecture);
  if (info.program) {
    const ops::Program& p = *info.program;
    architecture += fmt::format(", {} layers, hidden size {}, {} token ids{}", p.n_layers, p.hidden_size, p.vocab_size,
                                info.mtp ? ", with a block for multi-token prediction" : "");
  }
  add_row(out, "architecture", architecture);
  if (info.n_parameters > 0) {
    std::string parameters = human_count(info.n_parameters);
    if (info.program)
      parameters += fmt::format(", {} of them active for a token", human_count(info.n_active_parameters));
    uint64_t bytes = 0;
    for (const TypeShare& t : info.types) bytes += t.bytes;
    parameters += fmt::format("; {:.2f} bits each", 8.0 * double(bytes) / double(info.n_parameters));
    add_row(out, "parameters", parameters);
  }
  const size_t n_shards = file.shard_paths().size();
  add_row(out, "file",
          fmt::format("{}{}, {} tensors", human_bytes(file.total_bytes()),
                      n_shards > 1 ? fmt::format(" in {} shards", n_shards) : "", file.tensors().size()));
  add_row(out, "types", types_text(info));
  if (info.program) add_row(out, "context", fmt::format("{} tokens", info.program->context_length));
  add_row(out, "tokenizer", tokenizer_text(file));
  add_row(out, "chat template", template_text(file));
  add_row(out, "licence", license_text(file));
  if (!info.note.empty()) add_row(out, "note", info.note);
}

void add_memory(std::string& out, const ModelInfo& info) {
  out += fmt::format("\nmemory: this machine has {}, of which {} can be used now\n", human_bytes(info.machine.total),
                     human_bytes(info.machine.usable()));
  out += fmt::format("  {:>8} {:>10} {:>10} {:>12} {:>10}  {:>14} {:>12}  {}\n", "context", "weights", "state",
                     "activations", "total", "weights/token", "state/token", "verdict");
  for (const ContextNeed& c : info.contexts) {
    const ops::Cost cost = ops::decode_cost(*info.program, info.weights, c.need.context_length - 1);
    const char* verdict = c.verdict.fit == Fit::Fits         ? "fits"
                          : c.verdict.fit == Fit::ReadsAgain ? "reads from disk again"
                                                             : "does not fit";
    out += fmt::format("  {:>8} {:>10} {:>10} {:>12} {:>10}  {:>14} {:>12}  {}\n", c.need.context_length,
                       human_bytes(c.need.weights), human_bytes(c.need.slots + c.need.pages),
                       human_bytes(c.need.activations), human_bytes(c.need.total()), human_bytes(cost.weight_bytes),
                       human_bytes(cost.state_bytes), verdict);
  }
  // The first context that does not simply fit, or the last.
  const auto worst = std::find_if(info.contexts.begin(), info.contexts.end(),
                                  [](const ContextNeed& c) { return c.verdict.fit != Fit::Fits; });
  const ContextNeed& shown = worst != info.contexts.end() ? *worst : info.contexts.back();
  out += fmt::format("  at {} tokens: {}\n", shown.need.context_length, shown.verdict.text);
}

void add_metadata(std::string& out, const gguf::File& file, bool full) {
  out += "\nmetadata\n";
  for (const auto& [key, value] : file.metadata().entries()) {
    std::string reason;
    std::string text = value.type == gguf::ValueType::String && !full ? safe_text(value.text)
                                                                      : dump_json(metadata_json(value, full, reason));
    out += fmt::format("  {} = {}\n", safe_text(key), reason.empty() ? text : reason);
  }
}

void add_tensors(std::string& out, const gguf::File& file) {
  out += "\ntensors\n";
  for (const gguf::TensorInfo& t : file.tensors()) {
    std::string shape;
    for (int d = 0; d < t.n_dims; ++d) shape += (d > 0 ? ", " : "") + std::to_string(t.dims[d]);
    out += fmt::format("  {:<40} {:<7} {:<24} at {}, {} bytes\n", safe_text(t.name), t.type->name, "[" + shape + "]",
                       t.offset, t.bytes);
  }
}

}  // namespace

std::string info_text(const gguf::File& file, const ModelInfo& info, const InfoOptions& options) {
  std::string out = file.path() + "\n";
  add_summary(out, file, info);
  if (info.program) add_memory(out, info);
  const bool unknown = !info.program;  // then these say what there is
  if (options.metadata || unknown) add_metadata(out, file, options.full);
  if (options.tensors || (unknown && !file.tensors().empty())) add_tensors(out, file);
  if (!options.program) return out;
  if (info.program)
    out += fmt::format("\nprogram {:016x}\n{}", ops::program_hash(*info.program), ops::print(*info.program));
  if (info.mtp) out += fmt::format("\nprogram of the multi-token prediction block\n{}", ops::print(*info.mtp));
  return out;
}

}  // namespace tally::app
