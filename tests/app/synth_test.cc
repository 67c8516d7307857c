#include "app/synth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "app/quantize_rules.h"
#include "base/error.h"
#include "gguf/output_file.h"
#include "models/registry.h"
#include "models/weights.h"
#include "runtime/engine.h"
#include "support.h"

namespace tally::app {
namespace {

SynthOptions tiny(const std::string& architecture, const std::string& path) {
  return {.architecture = architecture, .size = "tiny", .path = path, .progress = ProgressMode::Off};
}

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (const models::Architecture& a : models::architectures()) names.push_back(a.name);
  return names;
}

class SynthArchitecture : public ::testing::TestWithParam<std::string> {};

// Finite, not all equal, and of the size that unit activations give.
void check_logits(std::span<const float> logits, size_t n) {
  ASSERT_EQ(logits.size(), n);
  double sum = 0, squares = 0;
  for (float x : logits) {
    ASSERT_TRUE(std::isfinite(x));
    sum += x, squares += double(x) * x;
  }
  const double mean = sum / double(n), deviation = std::sqrt(squares / double(n) - mean * mean);
  EXPECT_GT(deviation, 0.05);
  EXPECT_LT(deviation, 20);
}

TEST_P(SynthArchitecture, RunsWithFiniteLogits) {
  test::TemporaryFolder folder;
  const std::string path = folder.file("model.gguf");
  const SynthResult result = synthesize(tiny(GetParam(), path));
  EXPECT_EQ(result.bytes, std::filesystem::file_size(path));
  const gguf::File file = gguf::File::open(path);
  EXPECT_EQ(file.tensors().size(), result.n_tensors);
  const ops::Program program = models::build_program(models::source_of(file));
  EXPECT_TRUE(models::unused_tensors({&program}, file).empty());

  runtime::Engine engine(file, {.n_threads = 1, .context_length = 256, .chunk = 32});
  runtime::Sequence sequence = engine.open();
  std::vector<int32_t> tokens(100);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 37 % 512);
  int n_rows = 0;
  const std::vector<int> wanted{0, 31, 32, 99};
  engine.consume(sequence, tokens, wanted, [&](int, std::span<const float> logits) {
    check_logits(logits, size_t(engine.vocab_size()));
    ++n_rows;
  });
  EXPECT_EQ(n_rows, 4);
  for (int i = 0; i < 4; ++i) check_logits(engine.decode(sequence, 7 * i), size_t(engine.vocab_size()));
}

INSTANTIATE_TEST_SUITE_P(All, SynthArchitecture, ::testing::ValuesIn(architectures()),
                         [](const auto& test_case) { return test_case.param; });

TEST(Synth, EqualSeedsGiveEqualFiles) {
  test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, uint64_t seed, int n_threads) {
    SynthOptions options = tiny("qwen35moe", folder.file(name));
    options.seed = seed, options.n_threads = n_threads;
    synthesize(options);
    return test::read_file(options.path);
  };
  const std::vector<uint8_t> first = write("a", 5, 1);
  EXPECT_EQ(first, write("b", 5, 3));
  EXPECT_NE(first, write("c", 6, 1));
}

// Parameters and bytes of the tensors, without writing them.
std::pair<uint64_t, uint64_t> sums(const std::vector<SynthTensor>& tensors) {
  uint64_t n_parameters = 0, bytes = 0;
  for (const SynthTensor& t : tensors) {
    const uint64_t n = std::accumulate(t.dims.begin(), t.dims.end(), uint64_t{1}, std::multiplies<>());
    n_parameters += n;
    bytes += n / static_cast<uint64_t>(t.type->block_elements) * static_cast<uint64_t>(t.type->block_bytes);
  }
  return {n_parameters, bytes};
}

TEST(Synth, FlagshipHasItsPublishedSizes) {
  const SynthShape shape{.size = &find_synth_size("qwen35moe", "35b-a3b"), .n_layers = 40};
  const std::vector<SynthTensor> tensors = synth_tensors(shape, "q4_k_m");
  EXPECT_EQ(tensors.size(), 733u);
  EXPECT_EQ(sums(tensors).first, 34'660'610'688u);
  EXPECT_EQ(sums(tensors).second, 21'155'768'832u);
  EXPECT_EQ(sums(synth_tensors(shape, "q4_k_s")).second, 19'878'914'560u);
  EXPECT_EQ(sums(synth_tensors(shape, "q5_k_m")).second, 24'718'141'952u);
  EXPECT_EQ(sums(synth_tensors(shape, "q6_k")).second, 28'503'163'392u);
  EXPECT_EQ(sums(synth_tensors(shape, "q8_0")).second, 36'892'150'272u);
}

TEST(Synth, KnownParameterCounts) {
  const auto billions = [](const char* architecture, const char* size) {
    const SynthSize& s = find_synth_size(architecture, size);
    return static_cast<double>(sums(synth_tensors({.size = &s, .n_layers = s.n_layers}, "f16")).first) * 1e-9;
  };
  EXPECT_NEAR(billions("llama", "135m"), 0.1345, 0.0005);
  EXPECT_NEAR(billions("llama", "1.7b"), 1.711, 0.002);
  EXPECT_NEAR(billions("llama", "llama-3.1-8b"), 8.03, 0.01);
  EXPECT_NEAR(billions("qwen2", "0.5b"), 0.494, 0.001);
  EXPECT_NEAR(billions("qwen3", "0.6b"), 0.596, 0.001);
  EXPECT_NEAR(billions("qwen3moe", "30b-a3b"), 30.53, 0.02);
  EXPECT_NEAR(billions("gemma3", "270m"), 0.268, 0.001);
  EXPECT_NEAR(billions("gemma3", "1b"), 1.0, 0.001);
  EXPECT_NEAR(billions("lfm2moe", "8b-a1b"), 8.34, 0.05);
  EXPECT_NEAR(billions("bailingmoe2", "16b"), 16.26, 0.05);
}

TEST(Synth, LayersAndMtpBlock) {
  test::TemporaryFolder folder;
  SynthOptions options = tiny("qwen35moe", folder.file("model.gguf"));
  options.n_layers = 2, options.mtp = true, options.types = "ud";
  synthesize(options);
  const gguf::File file = gguf::File::open(options.path);
  EXPECT_EQ(models::build_program(models::source_of(file)).n_layers, 2);
  const auto mtp = models::build_mtp_program(models::source_of(file));
  ASSERT_TRUE(mtp);
  EXPECT_NO_THROW(models::bind_weights(*mtp, file));
  EXPECT_EQ(file.find("blk.0.ffn_gate_exps.weight")->type->id, quant::TypeId::Q4_K);
  EXPECT_EQ(file.find("blk.0.ffn_down_exps.weight")->type->id, quant::TypeId::Q6_K);
  EXPECT_EQ(file.find("blk.0.attn_qkv.weight")->type->id, quant::TypeId::Q8_0);
  EXPECT_EQ(file.find("token_embd.weight")->type->id, quant::TypeId::Q6_K);
  EXPECT_EQ(file.find("blk.0.ffn_gate_inp.weight")->type->id, quant::TypeId::F32);
}

// The values of a matrix have deviation 1/sqrt(in) in every type.
TEST(Synth, MatricesHaveUnitGain) {
  test::TemporaryFolder folder;
  for (const char* types : {"f32", "bf16", "q8_0", "q4_k_m", "q4_0", "mxfp4_moe"}) {
    SynthOptions options = tiny("qwen3moe", folder.file(types));
    options.types = types;
    synthesize(options);
    const gguf::File file = gguf::File::open(options.path);
    const gguf::TensorInfo& t = *file.find("blk.1.ffn_gate_exps.weight");
    std::vector<float> values(t.n_elements());
    t.type->dequantize(t.data, values.data(), static_cast<int64_t>(values.size()) / t.type->block_elements);
    double squares = 0;
    for (float x : values) squares += double(x) * x;
    EXPECT_NEAR(squares / double(values.size()) * double(t.dims[0]), 1, 0.05) << types << " " << t.type->name;
  }
}

// Equal rows of the head would give equal logits, and a choice between them that says nothing.
TEST(Synth, RowsOfASmallMatrixDiffer) {
  test::TemporaryFolder folder;
  const SynthOptions options = tiny("qwen35moe", folder.file("model.gguf"));
  synthesize(options);
  const gguf::File file = gguf::File::open(options.path);
  const gguf::TensorInfo& t = *file.find("output.weight");
  const size_t row = t.bytes / t.dims[1];
  std::set<std::string> rows;
  for (uint64_t r = 0; r < t.dims[1]; ++r) rows.emplace(reinterpret_cast<const char*>(t.data) + r * row, row);
  EXPECT_EQ(rows.size(), t.dims[1]);
}

void expect_error(ErrorCode code, const std::string& part, const SynthOptions& options) {
  try {
    synthesize(options);
    ADD_FAILURE() << "no error with " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
  EXPECT_FALSE(std::filesystem::exists(options.path));
  EXPECT_FALSE(std::filesystem::exists(options.path + ".partial"));
}

TEST(Synth, SaysWhatIsWrong) {
  test::TemporaryFolder folder;
  const std::string path = folder.file("model.gguf");
  expect_error(ErrorCode::Usage, "qwen35moe", tiny("gpt7", path));
  SynthOptions options = tiny("llama", path);
  options.size = "9b";
  expect_error(ErrorCode::Usage, "1.7b", options);
  options = tiny("llama", path), options.types = "q9";
  expect_error(ErrorCode::Usage, "q4_k_m", options);
  options = tiny("llama", path), options.mtp = true;
  expect_error(ErrorCode::Usage, "--mtp", options);
  options = tiny("llama", folder.file("no/such/model.gguf"));
  expect_error(ErrorCode::BadInput, "cannot create", options);
}

TEST(Synth, DiskWithoutRoomIsRefused) {
  test::TemporaryFolder folder;
  try {
    gguf::OutputFile file(folder.file("model.gguf"), uint64_t{1} << 60);
    ADD_FAILURE() << "a disk with room for an exabyte?";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Resources);
    EXPECT_NE(std::string(e.what()).find("make room"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tally::app
