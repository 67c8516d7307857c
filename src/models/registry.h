// What models are: architecture names and the functions that turn a file's metadata into Programs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gguf/gguf.h"
#include "ops/op.h"

namespace tally::models {

// What a builder reads: the metadata, which optional tensors there are, and the size of the embedding.
struct ModelSource {
  const gguf::Metadata& meta;
  std::function<const gguf::TensorInfo*(std::string_view tensor)> find;  // null when absent
  bool has(std::string_view tensor) const { return find(tensor) != nullptr; }
};
ModelSource source_of(const gguf::File& file);  // file must outlive it

struct BuildOptions {
  bool hidden_rows = false;  // Program::hidden = post-norm rows of all tokens (for the MTP block)
};

struct Architecture {
  const char* name;
  ops::Program (*build)(const ModelSource&, const BuildOptions&);
  std::optional<ops::Program> (*build_mtp)(const ModelSource&);  // null where the architecture has none
};

std::span<const Architecture> architectures();

// By general.architecture; unknown → Error that lists the known ones. Hyper-parameters are range-checked.
ops::Program build_program(const ModelSource&, const BuildOptions& = {});
// The multi-token-prediction block as a Program over the same file: tokens and the op `input` (hidden rows, shifted by
// one) → logits and `hidden`. nullopt when the file has none.
std::optional<ops::Program> build_mtp_program(const ModelSource&);

}  // namespace tally::models
