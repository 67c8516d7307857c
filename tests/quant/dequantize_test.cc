// Every format against the published vectors (bit for bit) and against blocks computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "quant/half.h"
#include "quant/types.h"
#include "support.h"

namespace tally::quant {
namespace {

std::vector<float> dequantize(const QuantType& type, std::span<const uint8_t> blocks) {
  const int64_t n_blocks = static_cast<int64_t>(blocks.size()) / type.block_bytes;
  std::vector<float> values(static_cast<size_t>(n_blocks) * type.block_elements, std::nanf(""));
  type.dequantize(blocks.data(), values.data(), n_blocks);
  return values;
}

TEST(Dequantize, EqualsThePublishedVectorsBitForBit) {
  const auto shared = test::shared_data();
  if (!shared) GTEST_SKIP() << test::kNoSharedData;
  const auto folder = *shared / "data" / "quants";
  const auto bytes = test::read_file(folder / "index.json");
  const auto index = nlohmann::json::parse(bytes.begin(), bytes.end());
  int n_types = 0;
  for (const auto& [name, row] : index.items()) {
    const QuantType* type = find_type(name);
    ASSERT_NE(type, nullptr) << name;
    EXPECT_EQ(static_cast<int>(type->id), row.at("id").get<int>()) << name;
    EXPECT_EQ(type->block_elements, row.at("block_elems").get<int>()) << name;
    EXPECT_EQ(type->block_bytes, row.at("block_bytes").get<int>()) << name;
    ASSERT_NE(type->dequantize, nullptr) << name;
    const auto blocks = test::read_file(folder / (name + ".blocks.bin"));
    const auto expected = test::read_file(folder / (name + ".f32.bin"));
    const auto values = dequantize(*type, blocks);
    ASSERT_EQ(values.size() * sizeof(float), expected.size()) << name;
    size_t n_wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      float want;
      std::memcpy(&want, expected.data() + i * sizeof(float), sizeof want);
      n_wrong += std::bit_cast<uint32_t>(want) != std::bit_cast<uint32_t>(values[i]);
    }
    EXPECT_EQ(n_wrong, 0u) << name;
    ++n_types;
  }
  EXPECT_EQ(n_types, 27);
}

TEST(Dequantize, BlocksNeedNoAlignment) {
  for (const QuantType& type : all_types()) {
    if (type.dequantize == nullptr) continue;
    std::vector<uint8_t> raw(static_cast<size_t>(type.block_bytes) * 3 + 8);
    for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<uint8_t>(i * 61 % 113 % 60);
    std::vector<float> first;
    for (size_t shift = 0; shift < 4; ++shift) {
      std::vector<uint8_t> moved(raw.size() + shift);
      std::copy(raw.begin(), raw.end(), moved.begin() + static_cast<ptrdiff_t>(shift));
      const auto values = dequantize(type, {moved.data() + shift, static_cast<size_t>(type.block_bytes) * 3});
      if (shift == 0) first = values;
      EXPECT_EQ(std::memcmp(first.data(), values.data(), first.size() * sizeof(float)), 0) << type.name;
    }
  }
}

// Hand-computed: a scale of 0.5 (half 0x3800) and simple codes.
TEST(Dequantize, SmallBlocksByHand) {
  std::vector<uint8_t> q8(34, 0);
  q8[1] = 0x38, q8[2] = 3, q8[33] = 0x80;
  const auto v8 = dequantize(type_of(TypeId::Q8_0), q8);
  EXPECT_EQ(v8[0], 1.5f);
  EXPECT_EQ(v8[1], 0.0f);
  EXPECT_EQ(v8[31], -64.0f);

  std::vector<uint8_t> q4(18, 0x88);
  q4[0] = 0, q4[1] = 0x38, q4[2] = 0xF0;
  const auto v4 = dequantize(type_of(TypeId::Q4_0), q4);
  EXPECT_EQ(v4[0], -4.0f);
  EXPECT_EQ(v4[16], 3.5f);
  EXPECT_EQ(v4[1], 0.0f);

  std::vector<uint8_t> k4(144, 0);  // d = 0.5, dmin = 1; sub-block 0: scale 2, min 3; sub-block 7: scale 33, min 17
  k4[1] = 0x38, k4[3] = 0x3C;
  k4[4] = 2, k4[4 + 4] = 3;
  k4[4 + 3] |= (33 >> 4) << 6, k4[4 + 7] |= (17 >> 4) << 6, k4[4 + 11] = (33 & 15) | (17 & 15) << 4;
  k4[16] = 0x05, k4[16 + 127] = 0xF0;
  const auto vk = dequantize(type_of(TypeId::Q4_K), k4);
  EXPECT_EQ(vk[0], 0.5f * 2 * 5 - 3);
  EXPECT_EQ(vk[1], -3.0f);
  EXPECT_EQ(vk[255], 0.5f * 33 * 15 - 17);
  EXPECT_EQ(vk[100], 0.0f);

  std::vector<uint8_t> k6(210, 0);  // d = 0.5; last sub-block: scale -2; last code 63
  k6[209] = 0x38, k6[207] = 0xFE, k6[127] = 0xF0, k6[191] = 0xC0;
  const auto v6 = dequantize(type_of(TypeId::Q6_K), k6);
  EXPECT_EQ(v6[255], 0.5f * -2 * (63 - 32));
  EXPECT_EQ(v6[254], 0.5f * -2 * (0 - 32));
}

TEST(Half, EveryHalfReturnsFromFloat) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float value = half_to_float(static_cast<uint16_t>(h));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      ASSERT_EQ(float_to_half(value), h);
    }
  }
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x03FF), 1023 * 0x1p-24f);
  EXPECT_EQ(half_to_float(0x3C00), 1.0f);
  EXPECT_EQ(half_to_float(0x7BFF), 65504.0f);
  EXPECT_EQ(half_to_float(0xFC00), -INFINITY);
}

// Between neighbouring halves: below the middle down, above it up, on it to the even one.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t h = 0; h < 0x7C00; ++h) {
    const float low = half_to_float(static_cast<uint16_t>(h));
    const float high = h == 0x7BFF ? 65536.0f : half_to_float(static_cast<uint16_t>(h + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(float_to_half(middle), (h & 1) == 0 ? h : h + 1);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), h);
    ASSERT_EQ(float_to_half(std::nextafter(middle, INFINITY)), h + 1);
    ASSERT_EQ(float_to_half(-middle), 0x8000u | ((h & 1) == 0 ? h : h + 1));
  }
  EXPECT_EQ(float_to_half(1e30f), 0x7C00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(std::bit_cast<float>(0x7F800001u)))));
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3F808000u)), 0x3F80);  // tie, even below
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3F818000u)), 0x3F82);  // tie, even above
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3F808001u)), 0x3F81);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x7F7FFFFFu)), 0x7F80);  // rounds to infinity
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7F800001u)))));
}

TEST(Types, TableIsConsistent) {
  int32_t previous = -1;
  for (const QuantType& type : all_types()) {
    EXPECT_GT(static_cast<int32_t>(type.id), previous);
    previous = static_cast<int32_t>(type.id);
    EXPECT_EQ(find_type(previous), &type);
    EXPECT_EQ(find_type(type.name), &type);
    EXPECT_EQ(&type_of(type.id), &type);
  }
  EXPECT_EQ(find_type("Q4_K"), &type_of(TypeId::Q4_K));
  for (int32_t id : {-1, 4, 5, 31, 33, 36, 38, 43, 1000000}) EXPECT_EQ(find_type(id), nullptr) << id;
  EXPECT_EQ(find_type("q4"), nullptr);
  EXPECT_EQ(find_type(""), nullptr);
}

}  // namespace
}  // namespace tally::quant
