// Splitting text into the pieces within which byte-pair merging happens, by the id in "tokenizer.ggml.pre".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/regex.h"

namespace tally::text {

// Ids of one group split alike.
enum class PreGroup : uint8_t {
  Default,
  Gpt2,
  Smollm,
  Llama3,
  Qwen2,
  Qwen35,
  DeepseekLlm,
  DeepseekCoder,
  DeepseekV3,
  Falcon,
  Gpt4o,
  Tekken,
  SeedCoder,
  Laguna,
  Jais2,
  ExaoneMoe,
  Youtu,
  TinyAya,
  Bloom,
  Viking,
  Minicpm5,
  Chameleon,
  Superbpe,
  Afmoe,
  KimiK2,
  Newlines
};

struct PreInfo {
  std::string_view id;
  PreGroup group;
  bool add_bos = false;         // default when the file has no add_bos_token
  bool ignore_merges = false;   // a piece that is a token is taken whole
  bool nfc = false;             // the model's own tokenizer normalises the text between special tokens
  bool whole_newlines = false;  // a run of newlines that is a token is taken whole
  bool raw_utf8 = false;        // no byte alphabet: spaces become U+2581 and merging works on characters
  bool default_bos = true;      // false: no bos unless the file names it
};

// Every known id. find_pre("") is the entry of files without the key; unknown → null.
std::span<const PreInfo> pre_infos();
const PreInfo* find_pre(std::string_view id);

// A hand-written pass: appends to `ends` the end of each piece of `text` (valid UTF-8) plus `base`.
using ScanPass = void (*)(std::string_view text, uint32_t base, std::vector<uint32_t>& ends);

class PreTokenizer {
 public:
  // With `scanners` false every pass that has a published pattern runs as that pattern (for tests).
  explicit PreTokenizer(PreGroup group, bool scanners = true);

  // Fills `ends` with the ends of the pieces of `text` (valid UTF-8, at most 2^31 bytes): each pass splits every piece
  // of the one before it.
  void split(std::string_view text, RegexScratch& scratch, std::vector<uint32_t>& ends) const;

 private:
  using Pass = std::variant<ScanPass, Regex>;
  std::vector<Pass> passes_;
};

// The passes of a group in order; each has a pattern, a scanner, or both (then they are equivalent).
struct PassSource {
  const char* pattern = nullptr;
  ScanPass scan = nullptr;
};
std::vector<PassSource> pass_sources(PreGroup group);

}  // namespace tally::text
