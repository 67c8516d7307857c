// Text to token ids and back: byte-level BPE, BPE on raw UTF-8 (gemma4) and SentencePiece-style merging by score.
// Ids are indices into the vocabulary of the model file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::text {

enum class TokenType : uint8_t {
  Undefined = 0,
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6
};

// Ids of tokens with a role; -1 when the vocabulary has none.
struct SpecialIds {
  int32_t bos = -1, eos = -1, eot = -1, eom = -1, unknown = -1, separator = -1, padding = -1, mask = -1;
  int32_t fim_prefix = -1, fim_suffix = -1, fim_middle = -1, fim_pad = -1, fim_repo = -1, fim_separator = -1;
};

// What a model file says about its tokenizer, as it stands there. Strings must live until create() returns.
struct TokenizerSpec {
  std::string file;                      // for messages
  std::string_view model;                // "gpt2", "llama", "gemma4"
  std::string_view pre;                  // pre-tokenizer id; empty when the file has none
  std::string_view general_name;         // some models have rules by name only
  std::vector<std::string_view> tokens;  // index = id
  std::vector<float> scores;             // empty, or one for each token
  std::vector<int64_t> types;            // empty, or one for each token
  std::vector<std::string_view> merges;  // "left right", best first
  struct {
    std::optional<int64_t> bos, eos, eot, eom, unknown, separator, padding, mask;
    std::optional<int64_t> fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repo, fim_separator;
  } ids;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

class Tokenizer {
 public:
  // Throws Error (BadInput) for a vocabulary that makes no sense and for kinds that are not supported.
  static Tokenizer create(const TokenizerSpec& spec);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Any bytes (at most 2^30). add_special: bos and eos where the model asks for them. parse_special: the texts of
  // control tokens in `bytes` become these tokens (those of user-defined tokens always do). Safe from several threads.
  std::vector<int32_t> encode(std::string_view bytes, bool add_special, bool parse_special) const;

  // The bytes that a token stands for, perhaps part of a character. Control and unknown tokens give their text when
  // `special`, else nothing. The id must be in [0, vocab_size()).
  const std::string& piece(int32_t id, bool special) const;
  // The concatenation of the pieces; an id out of range is an Error.
  std::string decode(std::span<const int32_t> ids, bool special) const;
  // The same for a whole sequence: in vocabularies that put a space before the text, the first token loses it again.
  std::string decode_whole(std::span<const int32_t> ids, bool special) const;

  int32_t vocab_size() const;
  std::string_view token_text(int32_t id) const;    // as in the file
  TokenType token_type(int32_t id) const;           // after the corrections that the vocabulary's texts call for
  int32_t find_token(std::string_view text) const;  // -1 when absent
  bool is_eog(int32_t id) const;                    // ends a generation
  const std::vector<int32_t>& eog_ids() const;      // ascending
  const SpecialIds& special() const;
  int32_t bos() const { return special().bos; }
  int32_t eos() const { return special().eos; }
  bool add_bos() const;
  bool add_eos() const;
  // A remark for the user about a file whose tokenization is in doubt (no pre-tokenizer id), or empty.
  const std::string& warning() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Text from tokens one by one: never cuts a character, always valid UTF-8 (ill-formed sequences become U+FFFD).
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool special = false)
      : tokenizer_(&tokenizer), special_(special) {}

  // The text that becomes complete with this token; an id outside the vocabulary gives none.
  std::string push(int32_t id);
  // What is left at the end.
  std::string flush();

 private:
  const Tokenizer* tokenizer_;
  bool special_;
  std::string pending_;  // unfinished character, at most 3 bytes
};

}  // namespace tally::text
