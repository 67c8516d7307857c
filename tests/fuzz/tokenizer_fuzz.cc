// Hostile vocabularies and hostile texts. The first byte chooses: 0 a whole GGUF file with a text behind it, 1 a
// vocabulary spelled out in the input, else a text for one of the built-in vocabularies.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/tokenizer_from_gguf.h"
#include "base/check.h"
#include "base/error.h"
#include "text/bpe.h"
#include "text/pretokenize.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace {

using namespace tally;

void exercise(const text::Tokenizer& tokenizer, std::string_view bytes) {
  for (const bool parse : {false, true}) {
    const auto ids = tokenizer.encode(bytes, true, parse);
    text::StreamDecoder decoder(tokenizer, true);
    std::string streamed;
    for (const int32_t id : ids) {
      CHECK(id >= 0 && id < tokenizer.vocab_size());
      const std::string piece = decoder.push(id);
      CHECK(text::is_valid_utf8(piece));
      streamed += piece;
    }
    streamed += decoder.flush();
    CHECK(streamed == text::replace_ill_formed(tokenizer.decode(ids, true), text::Replace::EachSequence));
    CHECK(tokenizer.decode_whole(ids, false).size() <= tokenizer.decode(ids, true).size());
  }
}

// The bytes up to a separator; the rest stays in `data`.
std::string_view take(std::string_view& data, char separator) {
  const size_t end = data.find(separator);
  const std::string_view part = data.substr(0, end);
  data = end == std::string_view::npos ? std::string_view() : data.substr(end + 1);
  return part;
}

void spelled_out(std::string_view data) {
  text::TokenizerSpec spec;
  spec.file = "input";
  std::string_view head = take(data, '\0');
  const auto flags = head.empty() ? 0 : static_cast<unsigned char>(head[0]);
  spec.model = flags % 3 == 0 ? "gpt2" : flags % 3 == 1 ? "llama" : "gemma4";
  if (flags & 8) spec.add_bos = spec.add_eos = true;
  if (flags & 16) spec.add_space_prefix = false;
  if (flags & 32) spec.general_name = "phi-3";
  if (flags & 64) spec.ids.bos = static_cast<int64_t>(head.size()) - 3;
  spec.pre = text::pre_infos()[head.size() % text::pre_infos().size()].id;
  std::string_view tokens = take(data, '\0'), merges = take(data, '\0');
  while (!tokens.empty()) {
    std::string_view token = take(tokens, '\x01');
    if (token.empty()) continue;
    spec.types.push_back(static_cast<unsigned char>(token[0]) % 9);
    spec.scores.push_back(static_cast<float>(static_cast<signed char>(token[0])));
    spec.tokens.push_back(token.substr(1));
  }
  while (!merges.empty()) spec.merges.push_back(take(merges, '\x01'));
  exercise(text::Tokenizer::create(spec), data);
}

text::Tokenizer built_in(const text::PreInfo& info) {
  text::TokenizerSpec spec;
  std::vector<std::string> texts(text::byte_alphabet().begin(), text::byte_alphabet().end());
  for (int b = 0; b < 256; ++b) texts.push_back(fmt::format("<0x{:02X}>", b));
  for (const auto extra : {"▁", "th", "the", "Ġt", "Ġthe", "12", "  ", "    ", "<|x|>", "<|x", "▁a", "▁▁", "ĊĊ"})
    texts.push_back(extra);
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool control = texts[i].starts_with("<|"), spaces = texts[i].starts_with("  ");
    const bool byte = texts[i].starts_with("<0x");
    spec.types.push_back(control ? 3 : spaces ? 4 : byte ? 6 : 1);
    spec.scores.push_back(-static_cast<float>(i % 7));
  }
  spec.tokens.assign(texts.begin(), texts.end());
  spec.merges = {"t h", "th e", "Ġ t", "Ġt he", "h e", "Ġt h", "1 2", "Ċ Ċ", "▁ a", "▁ ▁", "Ġ Ġ"};
  spec.file = "built-in";
  spec.model = info.id.empty() ? "llama" : "gpt2";
  spec.pre = info.id;
  return text::Tokenizer::create(spec);
}

void check_splits(const text::PreInfo& info, std::string_view bytes) {
  const std::string valid = text::replace_ill_formed(bytes, text::Replace::EachByte);
  static text::RegexScratch scratch;
  static std::map<text::PreGroup, text::PreTokenizer> splitters;
  const auto& splitter = splitters.try_emplace(info.group, info.group).first->second;
  std::vector<uint32_t> ends;
  splitter.split(valid, scratch, ends);
  uint32_t done = 0;
  for (const uint32_t end : ends) {
    CHECK(end > done);
    done = end;
  }
  CHECK(done == valid.size());
  const std::string normal = text::to_nfc(valid);
  CHECK(text::to_nfc(normal) == normal);
  CHECK(normal == valid || text::may_change_in_nfc(valid));
}

void text_only(size_t choice, std::string_view bytes) {
  const auto infos = text::pre_infos();
  static std::map<size_t, text::Tokenizer> tokenizers;  // made when first asked for
  const size_t which = choice % infos.size();
  const text::PreInfo& info = infos[which];
  if (!tokenizers.contains(which)) tokenizers.emplace(which, built_in(info));
  const text::Tokenizer& tokenizer = tokenizers.at(which);
  check_splits(info, bytes);
  exercise(tokenizer, bytes);
  if (info.id.empty() || info.raw_utf8 || info.nfc) return;
  const auto ids = tokenizer.encode(bytes, false, false);
  // Between the user-defined tokens bytes are replaced one by one, so only well-formed text must come back whole.
  if (text::is_valid_utf8(bytes)) CHECK(tokenizer.decode(ids, true) == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 0) {
      const auto file = gguf::File::parse({data + 1, size - 1}, "input");
      exercise(app::tokenizer_from_gguf(file.metadata()), rest.substr(rest.size() - std::min<size_t>(rest.size(), 64)));
    } else if (data[0] == 1) {
      spelled_out(rest);
    } else {
      text_only(data[1], rest.substr(1));
    }
  } catch (const Error&) {
  }
  return 0;
}
