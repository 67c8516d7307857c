// Number formats: one row per tensor element type, with its block layout and conversions.
// Layouts: GGUF type ids and blocks as in the format's documentation; each format has a file of its own in this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tally::quant {

// Ids as stored in GGUF tensor infos.
enum class TypeId : int32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q8_1 = 9,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  Q8_K = 15,
  IQ2_XXS = 16,
  IQ2_XS = 17,
  IQ3_XXS = 18,
  IQ1_S = 19,
  IQ4_NL = 20,
  IQ3_S = 21,
  IQ2_S = 22,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  IQ1_M = 29,
  BF16 = 30,
  TQ1_0 = 34,
  TQ2_0 = 35,
  MXFP4 = 39,
  NVFP4 = 40,
  Q1_0 = 41,
  Q2_0 = 42
};

struct QuantType {
  const char* name;  // lower case, for instance "q4_k"
  TypeId id;
  int block_elements;  // values per block
  int block_bytes;     // bytes per block
  // blocks[n_blocks * block_bytes] → out[n_blocks * block_elements]; blocks need no alignment. Null for types that are
  // not weights (integers, activation formats).
  void (*dequantize)(const uint8_t* blocks, float* out, int64_t n_blocks);
  // in[n_blocks * block_elements] → blocks; null where tally does not write the type.
  void (*quantize)(const float* in, uint8_t* blocks, int64_t n_blocks);
};

// All known types, in order of id.
std::span<const QuantType> all_types();

// Null when unknown.
const QuantType* find_type(int32_t id);
const QuantType* find_type(std::string_view name);  // case-insensitive

// The row of a known id.
const QuantType& type_of(TypeId id);

}  // namespace tally::quant
