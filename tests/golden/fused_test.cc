// Fused projections are ranges of rows of one tensor: a file with qkv, or with the experts' gate and up, fused must
// give the same logits as the file with them apart.
#include <cstring>
#include <map>

#include "backend/reference/reference_backend.h"
#include "gguf/writer.h"
#include "golden_model.h"

namespace tally::test {
namespace {

// A new tensor made of rows of others, expert by expert.
struct Fusion {
  std::string name;
  std::vector<std::string> parts;
};

std::vector<uint8_t> bytes_of(const gguf::File& file, const Fusion& f) {
  std::vector<uint8_t> out;
  uint64_t n_experts = file.find(f.parts[0])->dims[2];
  for (uint64_t e = 0; e < n_experts; ++e)
    for (const std::string& part : f.parts) {
      const gguf::TensorInfo* t = file.find(part);
      uint64_t n = t->bytes / n_experts;
      out.insert(out.end(), t->data + e * n, t->data + (e + 1) * n);
    }
  return out;
}

// The file with each fusion in place of its parts.
std::vector<uint8_t> fuse(const gguf::File& file, const std::vector<Fusion>& fusions) {
  gguf::Writer writer;
  std::vector<std::vector<uint8_t>> data;
  for (const auto& [key, value] : file.metadata().entries()) writer.copy(key, value);
  std::map<std::string, bool> is_part;
  for (const Fusion& f : fusions)
    for (const std::string& part : f.parts) is_part[part] = true;
  for (const gguf::TensorInfo& t : file.tensors()) {
    if (is_part[t.name]) continue;
    writer.add_tensor(t.name, t.type->id, std::span(t.dims, t.n_dims));
    data.emplace_back(t.data, t.data + t.bytes);
  }
  for (const Fusion& f : fusions) {
    const gguf::TensorInfo* first = file.find(f.parts[0]);
    std::vector<uint64_t> dims(first->dims, first->dims + first->n_dims);
    size_t axis = first->n_dims == 1 ? 0 : 1;  // a bias is one row of values
    dims[axis] = 0;
    for (const std::string& part : f.parts) dims[axis] += file.find(part)->dims[axis];
    writer.add_tensor(f.name, first->type->id, dims);
    data.push_back(bytes_of(file, f));
  }
  std::vector<uint8_t> image = writer.header();
  image.resize(writer.total_bytes());
  for (size_t t = 0; t < data.size(); ++t)
    std::memcpy(image.data() + writer.data_offset() + writer.tensor_offset(int(t)), data[t].data(), data[t].size());
  return image;
}

void expect_same_logits(const std::string& name, const std::vector<Fusion>& fusions) {
  std::optional<std::filesystem::path> folder = golden_folder(name);
  if (!folder) GTEST_SKIP() << kNoSharedData;
  GoldenModel model = load_golden(name, *folder);
  std::vector<uint8_t> image = fuse(model.file, fusions);
  gguf::File fused = gguf::File::parse(image, "fused.gguf");
  auto backend = reference::make_reference_backend({});
  Runner apart(*backend, model.file, models::build_program(models::source_of(model.file)), 64);
  Runner together(*backend, fused, models::build_program(models::source_of(fused)), 64);
  apart.feed(model.sequence(64).tokens), together.feed(model.sequence(64).tokens);
  EXPECT_EQ(apart.logits, together.logits);
}

std::string in_layer(int layer, const std::string& name) { return "blk." + std::to_string(layer) + "." + name; }

TEST(Fused, GateAndUpOfExperts) {
  std::vector<Fusion> fusions;
  for (int i = 0; i < 4; ++i)
    fusions.push_back({in_layer(i, "ffn_gate_up_exps.weight"),
                       {in_layer(i, "ffn_gate_exps.weight"), in_layer(i, "ffn_up_exps.weight")}});
  expect_same_logits("qwen35moe", fusions);
}

std::vector<Fusion> fused_qkv(const std::string& suffix) {
  std::vector<Fusion> fusions;
  for (int i = 0; i < 4; ++i)
    fusions.push_back(
        {in_layer(i, "attn_qkv" + suffix),
         {in_layer(i, "attn_q" + suffix), in_layer(i, "attn_k" + suffix), in_layer(i, "attn_v" + suffix)}});
  return fusions;
}

TEST(Fused, Qkv) { expect_same_logits("llama", fused_qkv(".weight")); }

TEST(Fused, QkvWithBiases) {
  std::vector<Fusion> fusions = fused_qkv(".weight"), biases = fused_qkv(".bias");
  fusions.insert(fusions.end(), biases.begin(), biases.end());
  expect_same_logits("qwen2", fusions);
}

}  // namespace
}  // namespace tally::test
