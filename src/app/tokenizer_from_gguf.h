// The tokenizer that a model file describes.
#pragma once

#include "gguf/gguf.h"
#include "text/tokenizer.h"

namespace tally::app {

// What the metadata says under "tokenizer.ggml.…"; its strings point into the metadata. Throws Error (BadInput) for
// keys of the wrong type.
text::TokenizerSpec tokenizer_spec(const gguf::Metadata& metadata);

// Throws Error (BadInput) when the file has no tokenizer, one of a kind that is not supported, or one that makes no
// sense.
text::Tokenizer tokenizer_from_gguf(const gguf::Metadata& metadata);

// False for models that work on ids alone (no tokenizer in the file).
bool has_tokenizer(const gguf::Metadata& metadata);

}  // namespace tally::app
