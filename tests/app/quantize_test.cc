// Whole runs on small files: values, bytes, metadata, shards, refusals.
#include "app/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/rng.h"
#include "gguf/writer.h"
#include "quant/half.h"
#include "support.h"

namespace tally::app {
namespace {

using gguf::ValueType;
using quant::TypeId;

float value_at(uint64_t tensor, uint64_t i) { return 0.1f * static_cast<float>(random_unit(tensor, i) - 0.5); }

void fill_f32(int tensor, std::span<uint8_t> out) {
  for (size_t i = 0; i < out.size() / 4; ++i) {
    const float v = value_at(static_cast<uint64_t>(tensor), i);
    std::memcpy(out.data() + 4 * i, &v, 4);
  }
}

void write_f32_model(const std::string& path) {
  gguf::Writer w;
  w.add_text("general.architecture", "llama");
  w.add_int("general.file_type", ValueType::Uint32, 0);
  w.add_int("llama.block_count", ValueType::Uint32, 8);
  w.add_texts("tokenizer.ggml.tokens", std::vector<std::string_view>{"a", "b"});
  w.add_tensor("token_embd.weight", TypeId::F32, std::vector<uint64_t>{512, 300});
  w.add_tensor("output_norm.weight", TypeId::F32, std::vector<uint64_t>{512});
  w.add_tensor("blk.0.attn_q.weight", TypeId::F32, std::vector<uint64_t>{512, 128});
  w.write(path, fill_f32);
}

QuantizeOptions options_of(const std::string& in, const std::string& out, const std::string& type,
                           const std::string& map = "") {
  QuantizeOptions options;
  options.input = in;
  options.output = out;
  options.type = type;
  options.map = map;
  options.n_threads = 2;
  options.progress = ProgressMode::Off;
  return options;
}

std::string refusal(const QuantizeOptions& options, ErrorCode code = ErrorCode::BadInput) {
  try {
    quantize_file(options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

bool mentions(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

TEST(QuantizeFile, ValuesMetadataAndReport) {
  const test::TemporaryFolder folder;
  write_f32_model(folder.file("in.gguf"));
  const auto report = quantize_file(options_of(folder.file("in.gguf"), folder.file("out.gguf"), "q4_k_m"));
  const gguf::File out = gguf::File::open(folder.file("out.gguf"));
  EXPECT_EQ(out.metadata().get_int("general.file_type"), 15);
  EXPECT_EQ(out.metadata().get_int("general.quantization_version"), 2);
  EXPECT_EQ(out.metadata().find_texts("tokenizer.ggml.tokens")->size(), 2u);
  ASSERT_EQ(report.size(), 3u);
  EXPECT_EQ(report[0].after, TypeId::Q6_K);
  EXPECT_EQ(report[1].after, TypeId::F32);
  EXPECT_EQ(report[2].after, TypeId::Q4_K);
  for (size_t t = 0; t < 3; ++t) {
    const gguf::TensorInfo& tensor = out.tensors()[t];
    EXPECT_EQ(tensor.type->id, report[t].after);
    EXPECT_EQ(tensor.bytes, report[t].bytes_after);
    std::vector<float> values(tensor.n_elements());
    tensor.type->dequantize(tensor.data, values.data(),
                            static_cast<int64_t>(values.size()) / tensor.type->block_elements);
    double squared = 0;
    for (size_t i = 0; i < values.size(); ++i) squared += std::pow(static_cast<double>(values[i]) - value_at(t, i), 2);
    EXPECT_NEAR(report[t].change.rmse, std::sqrt(squared / static_cast<double>(values.size())), 1e-12);
  }
  EXPECT_EQ(report[1].change.rmse, 0);
  EXPECT_GT(report[0].change.rmse, 1e-5);
  EXPECT_LT(report[0].change.rmse, 1e-3);
}

TEST(QuantizeFile, ThreadsDoNotMatter) {
  const test::TemporaryFolder folder;
  write_f32_model(folder.file("in.gguf"));
  auto options = options_of(folder.file("in.gguf"), folder.file("one.gguf"), "q5_k_m");
  options.n_threads = 1;
  quantize_file(options);
  options.output = folder.file("three.gguf");
  options.n_threads = 3;
  quantize_file(options);
  EXPECT_EQ(test::read_file(folder.file("one.gguf")), test::read_file(folder.file("three.gguf")));
}

TEST(QuantizeFile, ShardsAreMerged) {
  const test::TemporaryFolder folder;
  const std::string names[] = {folder.file("m-00001-of-00002.gguf"), folder.file("m-00002-of-00002.gguf")};
  for (int i = 0; i < 2; ++i) {
    gguf::Writer w;
    if (i == 0) w.add_text("general.architecture", "llama");
    w.add_int("split.no", ValueType::Uint16, i);
    w.add_int("split.count", ValueType::Uint16, 2);
    w.add_int("split.tensors.count", ValueType::Int32, 2);
    w.add_tensor("blk." + std::to_string(i) + ".attn_q.weight", TypeId::F32, std::vector<uint64_t>{64, 3});
    w.write(names[i], fill_f32);
  }
  quantize_file(options_of(names[0], folder.file("out.gguf"), "q8_0"));
  const gguf::File out = gguf::File::open(folder.file("out.gguf"));
  EXPECT_EQ(out.tensors().size(), 2u);
  for (const auto& [key, value] : out.metadata().entries()) EXPECT_FALSE(key.starts_with("split.")) << key;
  for (const auto& name : names) {
    EXPECT_TRUE(mentions(refusal(options_of(names[0], name, "q8_0"), ErrorCode::Usage), "choose another name"));
  }
}

// BF16 and other tensors side by side; `special` becomes a value of the BF16 tensor.
void write_bf16_model(const std::string& path, float special) {
  gguf::Writer w;
  w.add_text("general.architecture", "llama");
  w.add_int("general.file_type", ValueType::Uint32, 32);
  w.add_tensor("output_norm.weight", TypeId::F32, std::vector<uint64_t>{5});
  w.add_tensor("blk.0.attn_q.weight", TypeId::BF16, std::vector<uint64_t>{32, 4});
  w.add_tensor("blk.0.attn_k.weight", TypeId::Q8_0, std::vector<uint64_t>{32, 2});
  w.write(path, [special](int tensor, std::span<uint8_t> out) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(i);
    if (tensor != 1) return;
    for (size_t i = 0; i < out.size() / 2; ++i) {
      const float v = i == 7 ? special : static_cast<float>(i) / 64;
      quant::store_u16(out.data() + 2 * i, quant::float_to_bf16(v));
    }
  });
}

TEST(QuantizeFile, MapLeavesEveryOtherByte) {
  const test::TemporaryFolder folder;
  write_bf16_model(folder.file("in.gguf"), 1.5f);
  auto options = options_of(folder.file("in.gguf"), folder.file("out.gguf"), "", "bf16=f16");
  options.strict = true;  // nothing is lost here
  const auto report = quantize_file(options);
  EXPECT_EQ(report[1].after, TypeId::F16);
  EXPECT_EQ(report[1].change.n_changed, 0u);
  EXPECT_EQ(report[2].after, TypeId::Q8_0);
  auto in = test::read_file(folder.file("in.gguf")), out = test::read_file(folder.file("out.gguf"));
  ASSERT_EQ(in.size(), out.size());
  const gguf::File file = gguf::File::open(folder.file("out.gguf"));
  const gguf::TensorInfo& tensor = file.tensors()[1];
  for (uint64_t i = 0; i < 128; ++i)
    EXPECT_EQ(quant::load_half(tensor.data + 2 * i), i == 7 ? 1.5f : static_cast<float>(i) / 64);
  // Only the tensor's data and its type id in the directory differ.
  size_t n_other = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (i >= tensor.offset && i < tensor.offset + tensor.bytes) continue;
    n_other += in[i] != out[i];
  }
  EXPECT_EQ(n_other, 1u);
}

TEST(QuantizeFile, MapCountsWhatItLoses) {
  const test::TemporaryFolder folder;
  write_bf16_model(folder.file("in.gguf"), 0x1p-30f);
  const auto options = options_of(folder.file("in.gguf"), folder.file("out.gguf"), "", "bf16=f16");
  const auto report = quantize_file(options);
  EXPECT_EQ(report[1].change.n_changed, 1u);
  EXPECT_EQ(report[1].change.n_zeroed, 1u);
  EXPECT_EQ(report[1].change.error_max, 0x1p-30);
  write_bf16_model(folder.file("in.gguf"), 1.25f * 0x1p-22f);  // a subnormal half that needs one bit more
  const auto rounded = quantize_file(options);
  EXPECT_EQ(rounded[1].change.n_changed, 0u);  // 1.25 * 4 = 5 units of 2^-24
  write_bf16_model(folder.file("in.gguf"), 1.125f * 0x1p-22f);
  const auto halfway = quantize_file(options);
  EXPECT_EQ(halfway[1].change.n_changed, 1u);
  EXPECT_EQ(halfway[1].change.n_zeroed, 0u);
  EXPECT_EQ(halfway[1].change.error_max, 0x1p-25);
}

TEST(QuantizeFile, RefusalsNameTheTensorAndLeaveNoFile) {
  const test::TemporaryFolder folder;
  const std::string in = folder.file("in.gguf"), out = folder.file("out.gguf");
  const auto only_input = [&folder] {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++n;
    return n == 1;
  };
  write_bf16_model(in, 1e6f);
  std::string message = refusal(options_of(in, out, "", "bf16=f16"));
  EXPECT_TRUE(mentions(message, "tensor \"blk.0.attn_q.weight\": value 7 is 999424, which overflows type f16"))
      << message;
  EXPECT_TRUE(only_input());
  write_bf16_model(in, INFINITY);
  message = refusal(options_of(in, out, "q8_0"));
  EXPECT_TRUE(mentions(message, "value 7 is inf, expected a finite number")) << message;
  EXPECT_TRUE(only_input());
  write_bf16_model(in, 0x1p-30f);
  auto options = options_of(in, out, "", "bf16=f16");
  options.strict = true;
  message = refusal(options);
  EXPECT_TRUE(mentions(message, "\"blk.0.attn_q.weight\": 1 of 128 values change")) << message;
  EXPECT_TRUE(only_input());
  write_bf16_model(in, 3e38f);  // its scale is beyond the largest half
  message = refusal(options_of(in, out, "q4_0"));
  EXPECT_TRUE(mentions(message, "value 7 is 3.0040553e+38, which overflows type q4_0")) << message;
  EXPECT_TRUE(only_input());
}

TEST(QuantizeFile, WrongUse) {
  const test::TemporaryFolder folder;
  const std::string in = folder.file("in.gguf"), out = folder.file("out.gguf");
  write_f32_model(in);
  const auto before = test::read_file(in);
  EXPECT_TRUE(mentions(refusal(options_of(in, in, "q8_0"), ErrorCode::Usage), "choose another name"));
  EXPECT_TRUE(mentions(refusal(options_of(in, folder.file("./in.gguf"), "q8_0"), ErrorCode::Usage), "is the input"));
  EXPECT_TRUE(mentions(refusal(options_of(in, out, "q9"), ErrorCode::Usage), "known: f32, f16"));
  EXPECT_TRUE(mentions(refusal(options_of(in, out, ""), ErrorCode::Usage), "give --type"));
  for (const char* map : {"bf16", "bf16=", "=f16", "bf16=q4_0", "q4_0=f16", "bf16=f16=f32"}) {
    EXPECT_TRUE(mentions(refusal(options_of(in, out, "", map), ErrorCode::Usage), "FROM=TO")) << map;
  }
  EXPECT_EQ(test::read_file(in), before);
}

}  // namespace
}  // namespace tally::app
