// Sizes of published models, and the metadata that a file of such a size has. Only hyper-parameters stand here: the
// tensors follow from them (models::build_program).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gguf/writer.h"

namespace tally::app {

struct SynthSize {
  const char* architecture;
  const char* size;  // what --size says
  const char* name;  // of the model whose shapes these are
  int n_layers = 0, hidden_size = 0, vocab_size = 0;
  int n_heads = 0, n_kv_heads = 0, head_dim = 0;
  int intermediate_size = 0;  // of the dense FFN; 0: none
  int context_length = 32768;
  double rope_theta = 10000, rms_norm_eps = 1e-6;
  bool tied = false;  // no output.weight
  int rope_dim = 0;   // 0: head_dim
  // Experts, where there are any.
  int n_experts = 0, n_used = 0, expert_size = 0, shared_size = 0, n_dense_layers = 0;
  // Delta net: key heads, value heads, head size.
  int n_k_heads = 0, n_v_heads = 0, delta_dim = 0;
  int window = 0;                // of local layers
  int rope_factor = 0;           // Llama 3's divisors of rope
  std::span<const int> attends;  // the layers with attention, where the others are convolutions
};

std::span<const SynthSize> synth_sizes();

// By architecture and size (or name); unknown → Error (Usage) that lists what there is.
const SynthSize& find_synth_size(std::string_view architecture, std::string_view size);

// Of the trunk, with an MTP block after it if `mtp` (Error (Usage) where the architecture has none).
struct SynthShape {
  const SynthSize* size = nullptr;
  int n_layers = 0;
  bool mtp = false;
  int n_blocks() const { return n_layers + (mtp ? 1 : 0); }
};

// The keys of the architecture: everything but the tokenizer.
void add_synth_metadata(const SynthShape& shape, int64_t file_type, gguf::Writer& writer);

// Whether the file has a tensor that not every file of the architecture has; asked by the model's builder.
bool has_optional_tensor(const SynthShape& shape, std::string_view name);

}  // namespace tally::app
