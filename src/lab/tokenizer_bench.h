// Tokenizers against each other on the same texts (M18): six workloads, rivals behind Python, identical ids required.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/output.h"
#include "text/tokenizer.h"

namespace tally::lab {

// Texts that are encoded one by one: chat turns, or a single long text.
struct TextWorkload {
  std::string name;
  std::vector<std::string> texts;
  size_t bytes() const;
};
// chat, prose, code, cjk, numbers, longword: written for this program or generated, a few kilobytes each.
std::vector<TextWorkload> builtin_workloads();
// The same six from a folder with chat.txt, prose.txt, code.txt, cjk.txt, numbers.txt and longword.txt; those that are
// missing are left out. chat.txt: a text begins at each line "user: " or "assistant: ". Error when none is there.
std::vector<TextWorkload> workloads_in(const std::string& folder);
std::vector<std::string> chat_turns(const std::string& text);

// One measurement of a workload.
struct Encoded {
  double ms = 0;  // of one pass over its texts
  int passes = 0;
  std::vector<std::vector<int32_t>> ids;  // [texts], when asked for
};
Encoded encode_ours(const text::Tokenizer& tokenizer, const TextWorkload& workload, double at_least_ms);

// The vocabulary as a Hugging Face tokenizer.json: byte-level BPE with the patterns of its pre-tokenizer; control
// tokens are no part of it, as texts do not ask for them. Error (BadInput) for other kinds (SentencePiece), which need
// the model's own tokenizer.json.
std::string hf_tokenizer_json(const text::TokenizerSpec& spec);

struct RivalArgs {
  std::string kind;     // "hf", "tiktoken", "llama.cpp"
  std::string library;  // llama.cpp: path of libllama.so
  std::string python = "python3";
  std::string model;           // GGUF path
  std::string tokenizer_json;  // path; "" where the kind does not need one
};
// "hf", "tiktoken", "llama.cpp:PATH" (libllama.so, or a program or folder beside which it lies). Error (Usage).
RivalArgs parse_rival(const std::string& spec);

// A process a call: it loads its tokenizer, warms up, times every workload. Errors (Failed) when Python, the package or
// the library is missing, or it cannot read the vocabulary.
struct RivalRun {
  std::string version;
  std::map<std::string, Encoded> of;  // by workload
};
RivalRun run_rival(const RivalArgs& rival, const std::vector<TextWorkload>& workloads,
                   const std::filesystem::path& folder, double at_least_ms, bool want_ids);
extern const char* const kRivalDriver;  // the Python program

// Empty when both are the same, else the first difference: which text, which position, both ids.
std::string first_difference(const std::vector<std::vector<int32_t>>& ours,
                             const std::vector<std::vector<int32_t>>& theirs);

}  // namespace tally::lab
