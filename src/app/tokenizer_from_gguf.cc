#include "app/tokenizer_from_gguf.h"

namespace tally::app {
namespace {

std::string_view text_or_empty(const gguf::Metadata& metadata, std::string_view key) {
  return metadata.find_text(key).value_or(std::string_view());
}

// The first of two keys that is there.
std::optional<int64_t> find_id(const gguf::Metadata& metadata, std::string_view key, std::string_view old_key) {
  const auto id = metadata.find_int(key);
  return id ? id : metadata.find_int(old_key);
}

}  // namespace

text::TokenizerSpec tokenizer_spec(const gguf::Metadata& metadata) {
  text::TokenizerSpec spec;
  spec.file = metadata.file();
  spec.model = text_or_empty(metadata, "tokenizer.ggml.model");
  spec.pre = text_or_empty(metadata, "tokenizer.ggml.pre");
  spec.general_name = text_or_empty(metadata, "general.name");
  if (auto tokens = metadata.find_texts("tokenizer.ggml.tokens")) spec.tokens = std::move(*tokens);
  if (auto merges = metadata.find_texts("tokenizer.ggml.merges")) spec.merges = std::move(*merges);
  if (auto scores = metadata.find_reals("tokenizer.ggml.scores")) spec.scores = std::move(*scores);
  if (auto types = metadata.find_ints("tokenizer.ggml.token_type")) spec.types = std::move(*types);
  auto& ids = spec.ids;
  ids.bos = metadata.find_int("tokenizer.ggml.bos_token_id");
  ids.eos = metadata.find_int("tokenizer.ggml.eos_token_id");
  ids.eot = metadata.find_int("tokenizer.ggml.eot_token_id");
  ids.eom = metadata.find_int("tokenizer.ggml.eom_token_id");
  ids.unknown = metadata.find_int("tokenizer.ggml.unknown_token_id");
  ids.separator = metadata.find_int("tokenizer.ggml.seperator_token_id");  // spelled so in the format
  ids.padding = metadata.find_int("tokenizer.ggml.padding_token_id");
  ids.mask = metadata.find_int("tokenizer.ggml.mask_token_id");
  ids.fim_prefix = find_id(metadata, "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id");
  ids.fim_suffix = find_id(metadata, "tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id");
  ids.fim_middle = find_id(metadata, "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id");
  ids.fim_pad = metadata.find_int("tokenizer.ggml.fim_pad_token_id");
  ids.fim_repo = metadata.find_int("tokenizer.ggml.fim_rep_token_id");
  ids.fim_separator = metadata.find_int("tokenizer.ggml.fim_sep_token_id");
  spec.add_bos = metadata.find_bool("tokenizer.ggml.add_bos_token");
  spec.add_eos = metadata.find_bool("tokenizer.ggml.add_eos_token");
  spec.add_space_prefix = metadata.find_bool("tokenizer.ggml.add_space_prefix");
  return spec;
}

text::Tokenizer tokenizer_from_gguf(const gguf::Metadata& metadata) {
  return text::Tokenizer::create(tokenizer_spec(metadata));
}

bool has_tokenizer(const gguf::Metadata& metadata) {
  const std::string_view model = text_or_empty(metadata, "tokenizer.ggml.model");
  return !model.empty() && model != "none" && model != "no_vocab";
}

}  // namespace tally::app
