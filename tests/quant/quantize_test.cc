// Quantizers: bytes equal to the published vectors where there are any, error bounds on generated matrices elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/rng.h"
#include "quant/types.h"
#include "support.h"

namespace tally::quant {
namespace {

std::vector<uint8_t> quantize(const QuantType& type, std::span<const float> values) {
  const int64_t n_blocks = static_cast<int64_t>(values.size()) / type.block_elements;
  std::vector<uint8_t> blocks(static_cast<size_t>(n_blocks * type.block_bytes), 0xA5);
  type.quantize(values.data(), blocks.data(), n_blocks);
  return blocks;
}

std::vector<float> dequantize(const QuantType& type, std::span<const uint8_t> blocks) {
  const int64_t n_blocks = static_cast<int64_t>(blocks.size()) / type.block_bytes;
  std::vector<float> values(static_cast<size_t>(n_blocks * type.block_elements));
  type.dequantize(blocks.data(), values.data(), n_blocks);
  return values;
}

double rmse(const QuantType& type, std::span<const float> values) {
  const auto back = dequantize(type, quantize(type, values));
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = static_cast<double>(back[i]) - static_cast<double>(values[i]);
    sum += error * error;
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(Quantize, EqualsThePublishedBytes) {
  const auto shared = test::shared_data();
  if (!shared) GTEST_SKIP() << test::kNoSharedData;
  const auto folder = *shared / "data" / "quants";
  const auto raw = test::read_file(folder / "quantize.input.f32.bin");
  std::vector<float> input(raw.size() / sizeof(float));
  std::memcpy(input.data(), raw.data(), raw.size());
  for (const char* name : {"F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "MXFP4", "TQ1_0", "TQ2_0"}) {
    const auto expected = test::read_file(folder / ("quantize." + std::string(name) + ".bin"));
    const QuantType& type = *find_type(name);
    const size_t n_values =
        expected.size() / static_cast<size_t>(type.block_bytes) * static_cast<size_t>(type.block_elements);
    ASSERT_EQ(n_values, input.size()) << name;
    const auto blocks = quantize(type, input);
    ASSERT_EQ(blocks.size(), expected.size()) << name;
    size_t n_wrong = 0, first = 0;
    for (size_t i = blocks.size(); i-- > 0;) {
      if (blocks[i] != expected[i]) ++n_wrong, first = i;
    }
    EXPECT_EQ(n_wrong, 0u) << name << ": first at byte " << first;
  }
}

// Matrices A and B of the published quality figures: normal values; B with every 64th column eight times as large.
std::vector<float> normal_matrix(uint64_t seed, bool outliers) {
  uint64_t state = seed;
  const auto next = [&state] {
    state += 0x9E3779B97F4A7C15ull;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  };
  std::vector<float> values;
  const auto emit = [&](double normal) {
    values.push_back(static_cast<float>(0.02 * normal * (outliers && values.size() % 64 == 0 ? 8 : 1)));
  };
  while (values.size() < 64 * 1024) {
    const double u1 = static_cast<double>((next() >> 11) + 1) * 0x1p-53,
                 u2 = static_cast<double>(next() >> 11) * 0x1p-53;
    const double r = std::sqrt(-2 * std::log(u1));
    emit(r * std::cos(2 * std::numbers::pi * u2));
    emit(r * std::sin(2 * std::numbers::pi * u2));
  }
  return values;
}

TEST(Quantize, ErrorIsWithinThePublishedQuality) {
  const auto shared = test::shared_data();
  if (!shared) GTEST_SKIP() << test::kNoSharedData;
  const auto bytes = test::read_file(*shared / "data" / "quants" / "quality.json");
  const auto quality = nlohmann::json::parse(bytes.begin(), bytes.end());
  for (const char* matrix : {"A", "B"}) {
    const auto& row = quality.at("matrices").at(matrix);
    const auto values = normal_matrix(row.at("seed").get<uint64_t>(), matrix[0] == 'B');
    for (size_t i = 0; i < 8; ++i) {  // the generator itself
      EXPECT_NEAR(static_cast<double>(values[i]), row.at("first8")[i].get<double>(), 1e-8);
    }
    for (const QuantType& type : all_types()) {
      std::string name = type.name;
      for (char& c : name) c = static_cast<char>(std::toupper(c));
      if (type.quantize == nullptr || !quality.at("rmse").contains(name)) continue;
      const double bound = quality.at("rmse").at(name).at(matrix).get<double>(), found = rmse(type, values);
      RecordProperty(name + "_" + matrix, std::to_string(found / bound));
      EXPECT_LE(found, 1.03 * bound) << name << " on matrix " << matrix;
    }
  }
}

// Without shared data: the error against what the number of bits allows, for normal values.
TEST(Quantize, ErrorShrinksWithBits) {
  const auto values = normal_matrix(1, false);
  const std::pair<const char*, double> bounds[] = {
      {"f32", 0},       {"f16", 1e-5},    {"bf16", 1e-4},    {"q8_0", 1.2e-4}, {"q6_k", 4e-4},
      {"q5_k", 8e-4},   {"q5_1", 8e-4},   {"q5_0", 9e-4},    {"q4_k", 1.5e-3}, {"iq4_nl", 1.6e-3},
      {"q4_1", 1.6e-3}, {"q4_0", 1.8e-3}, {"mxfp4", 2.4e-3}, {"tq2_0", 0.017}, {"tq1_0", 0.017}};
  for (const auto& [name, bound] : bounds) EXPECT_LE(rmse(*find_type(name), values), bound) << name;
}

// Values that a format holds exactly come back exactly.
TEST(Quantize, ExactValuesReturn) {
  std::vector<float> values(256);
  for (size_t i = 0; i < 256; ++i) values[i] = 0.25f * static_cast<float>(static_cast<int>(i % 16) - 8);
  for (const char* name : {"f32", "f16", "bf16", "q4_0", "q5_0", "q6_k"}) {
    EXPECT_EQ(dequantize(*find_type(name), quantize(*find_type(name), values)), values) << name;
  }
  const std::vector<float> zeros(256, 0.0f);
  for (const QuantType& type : all_types()) {
    if (type.quantize != nullptr) {
      EXPECT_EQ(dequantize(type, quantize(type, zeros)), zeros) << type.name;
    }
  }
}

// Extreme input must not make the code misbehave (sanitizers watch); what it gives is not defined.
TEST(Quantize, ExtremeInputIsSafe) {
  const float extremes[] = {INFINITY, -INFINITY, NAN, 3e38f, -3e38f, 1e-45f, -1e-45f, 1e-38f, 70000.0f, 0.0f};
  for (const QuantType& type : all_types()) {
    if (type.quantize == nullptr) continue;
    for (float first : extremes) {
      for (float second : extremes) {
        std::vector<float> values(256, first);
        for (size_t i = 0; i < 256; i += 3) values[i] = second;
        (void)dequantize(type, quantize(type, values));
      }
    }
  }
}

// Constant, one-sided and single-spike blocks stay within one step of the format.
TEST(Quantize, AwkwardBlocksStayClose) {
  for (const char* name : {"q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k", "iq4_nl"}) {
    const QuantType& type = *find_type(name);
    for (int kind = 0; kind < 5; ++kind) {
      std::vector<float> values(256);
      for (size_t i = 0; i < 256; ++i) {
        const auto u = static_cast<float>(random_unit(static_cast<uint64_t>(kind), i));
        const float kinds[] = {0.7f, -0.7f, 1.0f + u, -1.0f - u, i == 77 ? 4.0f : 0.0f};
        values[i] = kinds[kind];
      }
      const auto back = dequantize(type, quantize(type, values));
      const double half_step = std::string(name) == "iq4_nl" ? 0.2 : 0.13;  // its levels are widest at the ends
      for (size_t i = 0; i < 256; ++i)
        ASSERT_NEAR(back[i], values[i], half_step) << name << " kind " << kind << " value " << i;
    }
  }
}

}  // namespace
}  // namespace tally::quant
