// Which tensor gets which type: the mixtures behind names such as q4_k_m. `quantize` and `synth` follow them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/types.h"

namespace tally::app {

// One tensor as a file stores it.
struct MixtureTensor {
  std::string name;
  std::vector<uint64_t> dims;                 // [0] contiguous
  quant::TypeId source = quant::TypeId::F32;  // kept where the rules never quantise
};

// What the rules ask about the model.
struct MixtureModel {
  std::string architecture;
  int n_blocks = 1;                 // key block_count, with MTP blocks
  int n_experts = 0;                // 0: dense
  int n_heads = 1, n_kv_heads = 1;  // of an attention layer
};

// "q8_0, q6_k, …": for messages and help.
std::string mixture_names();

// general.file_type of a mixture; unknown name → Error (Usage) that lists the known ones.
int64_t mixture_file_type(std::string_view mixture);

// The type of each tensor, in the order given. Rules look at all tensors together (a layer's place among the others,
// whether the head is tied). Unknown name → Error (Usage).
std::vector<quant::TypeId> choose_types(std::string_view mixture, const MixtureModel& model,
                                        std::span<const MixtureTensor> tensors);

}  // namespace tally::app
