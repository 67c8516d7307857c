#include "text/vocabulary.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/error.h"

namespace tally::text {
namespace {

constexpr size_t kMaxTokens = size_t{1} << 24;
constexpr size_t kMaxTokenBytes = size_t{1} << 16;

using Texts = std::initializer_list<std::string_view>;

}  // namespace

Vocabulary::Vocabulary(const TokenizerSpec& spec) {
  read_tokens(spec);
  read_special_ids(spec);
  detect_roles_by_text();
  collect_eog();
}

void Vocabulary::read_tokens(const TokenizerSpec& spec) {
  const size_t n = spec.tokens.size();
  if (n == 0 || n > kMaxTokens)
    fail(ErrorCode::BadInput, "{}: \"tokenizer.ggml.tokens\" has {} entries, expected 1 to {}", spec.file, n,
         kMaxTokens);
  for (auto [key, found] : {std::pair{"scores", spec.scores.size()}, {"token_type", spec.types.size()}})
    if (found != 0 && found < n)
      fail(ErrorCode::BadInput, "{}: \"tokenizer.ggml.{}\" has {} entries, expected {} (one for each token)", spec.file,
           key, found, n);
  size_t bytes = 0;
  for (const auto token : spec.tokens) bytes += token.size();
  index_.reserve(n, bytes);
  types_.assign(n, TokenType::Normal);
  for (size_t i = 0; i < n; ++i) {
    // An empty text would match everywhere; the reference gives it this name.
    const std::string text = spec.tokens[i].empty() ? fmt::format("[EMPTY_{}]", i) : std::string(spec.tokens[i]);
    if (text.size() > kMaxTokenBytes)
      fail(ErrorCode::BadInput, "{}: token {} has {} bytes, expected at most {}", spec.file, i, text.size(),
           kMaxTokenBytes);
    bool added = false;
    const uint32_t other = index_.add(text, &added);
    if (!added)
      fail(ErrorCode::BadInput, "{}: tokens {} and {} have the same text; the file is damaged", spec.file, other, i);
    longest_ = std::max(longest_, text.size());
    if (!spec.types.empty())
      types_[i] =
          spec.types[i] >= 0 && spec.types[i] <= 6 ? static_cast<TokenType>(spec.types[i]) : TokenType::Undefined;
  }
  scores_.assign(spec.scores.begin(), spec.scores.begin() + static_cast<ptrdiff_t>(spec.scores.empty() ? 0 : n));
  for (size_t i = 0; i < scores_.size(); ++i)
    if (std::isnan(scores_[i]))
      fail(ErrorCode::BadInput, "{}: \"tokenizer.ggml.scores\": entry {} is not a number", spec.file, i);
}

void Vocabulary::read_special_ids(const TokenizerSpec& spec) {
  const auto in_range = [this](int64_t id) { return id >= 0 && id < size(); };
  const auto take = [&](int32_t& to, const std::optional<int64_t>& given, int32_t otherwise = -1) {
    if (given && in_range(*given))
      to = static_cast<int32_t>(*given);  // an id out of range is ignored
    else
      to = in_range(otherwise) ? otherwise : -1;
  };
  const bool scored = spec.model == "llama";
  take(special_.bos, spec.ids.bos, scored ? 1 : spec.model == "gpt2" ? 11 : -1);
  take(special_.eos, spec.ids.eos, scored ? 2 : -1);
  take(special_.unknown, spec.ids.unknown, scored ? 0 : -1);
  take(special_.eot, spec.ids.eot);
  take(special_.eom, spec.ids.eom);
  take(special_.separator, spec.ids.separator);
  take(special_.padding, spec.ids.padding);
  take(special_.mask, spec.ids.mask);
  take(special_.fim_prefix, spec.ids.fim_prefix);
  take(special_.fim_suffix, spec.ids.fim_suffix);
  take(special_.fim_middle, spec.ids.fim_middle);
  take(special_.fim_pad, spec.ids.fim_pad);
  take(special_.fim_repo, spec.ids.fim_repo);
  take(special_.fim_separator, spec.ids.fim_separator);
  // The old default eos of byte-level vocabularies, 11, is the end of text in the one that it was made for and a comma
  // in most others.
  if (special_.eos < 0 && spec.model == "gpt2" && in_range(11) && type(11) == TokenType::Control) special_.eos = 11;
}

void Vocabulary::detect_roles_by_text() {
  const auto detect = [this](int32_t& id, Texts texts) {
    for (const auto text : texts) {
      if (id >= 0) return;
      id = find(text);
      if (id >= 0) types_[static_cast<size_t>(id)] = TokenType::Control;
    }
  };
  detect(special_.eot, {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>",
                        "<EOT>", "_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>"});
  detect(special_.eom, {"<|eom_id|>"});
  detect(special_.fim_prefix, {"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
                               "<|code_prefix|>", "<|prefix|>"});
  detect(special_.fim_suffix, {"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
                               "<|code_suffix|>", "<|suffix|>"});
  detect(special_.fim_middle, {"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
                               "<|code_middle|>", "<|middle|>"});
  detect(special_.fim_pad, {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"});
  detect(special_.fim_repo, {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"});
  detect(special_.fim_separator, {"<|file_sep|>"});
}

void Vocabulary::collect_eog() {
  eog_.assign(types_.size(), false);
  const auto mark = [this](int32_t id) {
    if (id >= 0) eog_[static_cast<size_t>(id)] = true;
  };
  for (const int32_t id :
       {special_.fim_pad, special_.fim_repo, special_.fim_separator, special_.eos, special_.eot, special_.eom})
    mark(id);
  const Texts ending = {"<|eot_id|>",
                        "<|im_end|>",
                        "<|end|>",
                        "<|return|>",
                        "<|call|>",
                        "<|flush|>",
                        "<|calls|>",
                        "<end_of_turn>",
                        "<|endoftext|>",
                        "</s>",
                        "<|eom_id|>",
                        "<EOT>",
                        "_<EOT>",
                        "[EOT]",
                        "[EOS]",
                        "<|end_of_text|>",
                        "<end_of_utterance>",
                        "<eos>",
                        "<turn|>",
                        "<|tool_response>",
                        "<｜end▁of▁sentence｜>",
                        "[e~["};
  const auto retype = [this](std::string_view text, TokenType type) {
    const int32_t id = find(text);
    if (id >= 0) types_[static_cast<size_t>(id)] = type;
    return id;
  };
  for (const auto text : ending) mark(retype(text, TokenType::Control));
  for (const auto text : {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"})
    retype(text, TokenType::UserDefined);
  const auto ends = [this](std::string_view text) {
    const int32_t id = find(text);
    return id >= 0 && eog_[static_cast<size_t>(id)];
  };
  // In these dialects <|end|> closes a message, not the answer.
  const bool calls = ends("<|call|>") || ends("<|calls|>");
  if (calls && ends("<|end|>") && (ends("<|return|>") || ends("<|flush|>")))
    eog_[static_cast<size_t>(retype("<|end|>", TokenType::UserDefined))] = false;
  // Here </s> is the HTML tag.
  if (ends("<|tool_response>") && ends("</s>")) eog_[static_cast<size_t>(retype("</s>", TokenType::Normal))] = false;
  for (int32_t id = 0; id < size(); ++id)
    if (is_eog(id)) eog_ids_.push_back(id);
}

int32_t Vocabulary::find_byte(uint8_t byte) const { return find(fmt::format("<0x{:02X}>", byte)); }

}  // namespace tally::text
