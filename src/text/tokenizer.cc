#include "text/tokenizer.h"

#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "base/error.h"
#include "text/bpe.h"
#include "text/pretokenize.h"
#include "text/special_matcher.h"
#include "text/spm.h"
#include "text/unicode.h"
#include "text/utf8.h"
#include "text/vocabulary.h"
#include "text/word_breaks.h"

namespace tally::text {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  size_t done = 0;
  for (size_t at; (at = text.find(from, done)) != std::string_view::npos; done = at + from.size())
    out.append(text.substr(done, at - done)).append(to);
  return out.append(text.substr(done));
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return lower.find(part) != std::string::npos; });
}

// The pre-tokenizer entry of a byte-pair vocabulary.
PreInfo pre_info(const TokenizerSpec& spec) {
  const std::string_view id = spec.model == "gemma4" ? "gemma4" : spec.pre;
  const PreInfo* info = find_pre(id);
  if (!info)
    fail(ErrorCode::BadInput,
         "{}: \"tokenizer.ggml.pre\" is \"{}\", which is not known, so its text cannot be split as the model expects; "
         "token "
         "ids still work",
         spec.file, id);
  return *info;
}

void check_model(const TokenizerSpec& spec) {
  if (spec.model == "gpt2" || spec.model == "llama" || spec.model == "gemma4") return;
  if (spec.model.empty() || spec.model == "none" || spec.model == "no_vocab")
    fail(ErrorCode::BadInput,
         "{}: the file has no tokenizer (\"tokenizer.ggml.model\" is {}); give token ids in place of text", spec.file,
         spec.model.empty() ? "missing" : spec.model);
  fail(ErrorCode::BadInput,
       "{}: \"tokenizer.ggml.model\" is \"{}\", expected gpt2, llama or gemma4; other kinds are not supported, token "
       "ids "
       "still work",
       spec.file, spec.model);
}

// Which tokens swallow the whitespace beside them: the file does not say, some models do it by name.
std::vector<bool> strips_before(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  const bool jina = contains_any(spec.pre, {"jina-v2-de", "jina-v2-es", "jina-v2-code"});
  const bool modern_bert = !jina && contains_any(spec.general_name, {"modern-bert"});
  const int32_t id = jina ? vocabulary.find("<mask>") : modern_bert ? vocabulary.find("[MASK]") : -1;
  if (id < 0) return {};
  std::vector<bool> strips(static_cast<size_t>(vocabulary.size()), false);
  strips[static_cast<size_t>(id)] = true;
  return strips;
}

std::vector<bool> strips_after(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  if (!contains_any(spec.general_name, {"phi-3", "phi3"})) return {};
  std::vector<bool> strips(static_cast<size_t>(vocabulary.size()), true);  // asked for special tokens only
  for (const auto text : {"<unk>", "<s>", "<|endoftext|>"})
    if (const int32_t id = vocabulary.find(text); id >= 0) strips[static_cast<size_t>(id)] = false;
  return strips;
}

// True for vocabularies with tokens for runs of spaces whose texts hold real spaces: there a U+2581 in the input is the
// same character as a space, also for these tokens.
bool has_space_runs(const Vocabulary& vocabulary) {
  bool runs = false;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    const std::string_view text = vocabulary.text(id);
    if (type == TokenType::UserDefined && text.size() > 1 && text.find_first_not_of(' ') == std::string_view::npos)
      runs = true;
    const bool special = type == TokenType::UserDefined || type == TokenType::Control || type == TokenType::Unknown;
    if (special && text.find(kSpaceMark) != std::string_view::npos) return false;
  }
  return runs;
}

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

// The byte of "<0xXX>"; any other text stands for itself.
std::string bytes_of_byte_token(std::string_view text) {
  if (text.size() == 6 && text.substr(0, 3) == "<0x" && text[5] == '>' && hex_digit(text[3]) >= 0 &&
      hex_digit(text[4]) >= 0)
    return std::string(1, static_cast<char>(hex_digit(text[3]) * 16 + hex_digit(text[4])));
  return std::string(text);
}

}  // namespace

struct Tokenizer::Parts {
  // Working memory of one encode call; kept for the next.
  struct Scratch {
    RegexScratch regex;
    std::vector<uint32_t> ends;
    Bpe::Scratch bpe;
    Spm::Scratch spm;
  };

  explicit Parts(const TokenizerSpec& spec)
      : vocabulary(spec), matcher(vocabulary, strips_before(spec, vocabulary), strips_after(spec, vocabulary)) {
    if (spec.model == "llama")
      set_up_spm(spec);
    else
      set_up_bpe(spec);
    build_pieces();
  }

  void set_up_spm(const TokenizerSpec& spec) {
    spm.emplace(vocabulary);
    escape_spaces = true;
    fold_spaces = has_space_runs(vocabulary);
    add_bos = spec.add_bos.value_or(true);
    add_eos = spec.add_eos.value_or(false);
    add_space_prefix = spec.add_space_prefix.value_or(true);
  }

  void set_up_bpe(const TokenizerSpec& spec) {
    const PreInfo pre = pre_info(spec);
    pre_tokenizer.emplace(pre.group);
    bpe.emplace(
        vocabulary, spec.merges,
        BpeRules{.ignore_merges = pre.ignore_merges, .whole_newlines = pre.whole_newlines, .raw_utf8 = pre.raw_utf8},
        spec.file);
    escape_spaces = pre.raw_utf8;
    fold_spaces = escape_spaces && has_space_runs(vocabulary);
    nfc = pre.nfc;
    add_bos = spec.add_bos.value_or(pre.add_bos);
    if (pre.group == PreGroup::Newlines && pre.add_bos) add_bos = true;  // files of these models wrongly say false
    add_eos = spec.add_eos.value_or(false);
    // Without a key the default bos means something only where the model asks for it.
    if (!spec.ids.bos && (!pre.default_bos || !add_bos)) vocabulary.drop_bos();
    if (spec.model == "gpt2" && spec.pre.empty())
      warning =
          "the file names no pre-tokenizer (\"tokenizer.ggml.pre\"), so its text may be split unlike in training; use "
          "a "
          "newer conversion of the model";
  }

  void build_pieces() {
    pieces.resize(static_cast<size_t>(vocabulary.size()));
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      std::string& piece = pieces[static_cast<size_t>(id)];
      const std::string_view text = vocabulary.text(id);
      switch (vocabulary.type(id)) {
        case TokenType::Control:
        case TokenType::Unknown:
        case TokenType::UserDefined:
          piece = text;
          break;
        case TokenType::Byte:
          piece = bytes_of_byte_token(text);
          break;
        case TokenType::Normal:
          piece = escape_spaces ? replace_all(text, kSpaceMark, " ") : bytes_of_alphabet_text(text);
          break;
        case TokenType::Undefined:
        case TokenType::Unused:
          break;
      }
    }
  }

  std::unique_ptr<Scratch> take_scratch() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(idle.back());
    idle.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<Scratch> scratch) {
    // What one huge word needed is not kept.
    constexpr size_t kKeptSymbols = size_t{1} << 18;
    if (scratch->bpe.symbols.capacity() + scratch->spm.symbols.capacity() > kKeptSymbols) return;
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(scratch));
  }

  void encode_spm(std::string_view text, bool after_special, Scratch& scratch, std::vector<int32_t>& ids) const {
    std::string escaped = replace_all(text, " ", kSpaceMark);
    if (add_space_prefix && after_special) escaped.insert(0, kSpaceMark);
    spm->encode(escaped, scratch.spm, ids);
  }

  void encode_bpe(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
    std::string changed;
    if (!is_valid_utf8(text)) text = changed = replace_ill_formed(text, Replace::EachByte);
    if (nfc && may_change_in_nfc(text)) text = changed = to_nfc(text);
    if (escape_spaces) text = changed = replace_all(text, " ", kSpaceMark);
    pre_tokenizer->split(text, scratch.regex, scratch.ends);
    uint32_t begin = 0;
    for (const uint32_t end : scratch.ends) {
      bpe->encode(text.substr(begin, end - begin), scratch.bpe, ids);
      begin = end;
    }
  }

  Vocabulary vocabulary;
  SpecialMatcher matcher;
  std::optional<Bpe> bpe;
  std::optional<Spm> spm;
  std::optional<PreTokenizer> pre_tokenizer;
  bool escape_spaces = false;  // spaces are written as U+2581
  bool fold_spaces = false;    // and U+2581 in the input is a space
  bool nfc = false;
  bool add_bos = false, add_eos = false, add_space_prefix = false;
  std::string warning;
  std::vector<std::string> pieces;  // by id, special ones included

  std::mutex mutex;
  std::vector<std::unique_ptr<Scratch>> idle;
};

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::create(const TokenizerSpec& spec) {
  check_model(spec);
  return Tokenizer(std::make_unique<Parts>(spec));
}

std::vector<int32_t> Tokenizer::encode(std::string_view bytes, bool add_special, bool parse_special) const {
  Parts& p = *parts_;
  if (bytes.size() > kMaxTextBytes)
    fail(ErrorCode::BadInput, "text has {} bytes, expected at most {}", bytes.size(), kMaxTextBytes);
  std::string folded;
  if (p.fold_spaces && bytes.find(kSpaceMark) != std::string_view::npos)
    bytes = folded = replace_all(bytes, kSpaceMark, " ");
  std::vector<int32_t> ids;
  if (add_special && p.add_bos && bos() >= 0) ids.push_back(bos());
  auto scratch = p.take_scratch();
  bool after_special = true;
  for (const Fragment& f : p.matcher.split(bytes, parse_special)) {
    const std::string_view text = bytes.substr(f.begin, f.end - f.begin);
    if (f.token >= 0)
      ids.push_back(f.token);
    else if (p.spm)
      p.encode_spm(text, after_special, *scratch, ids);
    else
      p.encode_bpe(text, *scratch, ids);
    after_special = f.token >= 0;
  }
  p.give_back(std::move(scratch));
  if (add_special && p.add_eos && eos() >= 0) ids.push_back(eos());
  return ids;
}

const std::string& Tokenizer::piece(int32_t id, bool special) const {
  static const std::string none;
  CHECK(id >= 0 && id < vocab_size(), "token {} of {}", id, vocab_size());
  const TokenType type = parts_->vocabulary.type(id);
  if (!special && (type == TokenType::Control || type == TokenType::Unknown)) return none;
  return parts_->pieces[static_cast<size_t>(id)];
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool special) const {
  std::string out;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size())
      fail(ErrorCode::BadInput, "ids[{}] is {}, expected 0 to {} (the vocabulary's last)", i, ids[i], vocab_size() - 1);
    out += piece(ids[i], special);
  }
  return out;
}

std::string Tokenizer::decode_whole(std::span<const int32_t> ids, bool special) const {
  std::string out = decode(ids, special);
  const bool strip = parts_->add_space_prefix && !ids.empty() && piece(ids[0], special).starts_with(' ');
  return strip ? out.substr(1) : out;
}

int32_t Tokenizer::vocab_size() const { return parts_->vocabulary.size(); }
std::string_view Tokenizer::token_text(int32_t id) const { return parts_->vocabulary.text(id); }
TokenType Tokenizer::token_type(int32_t id) const { return parts_->vocabulary.type(id); }
int32_t Tokenizer::find_token(std::string_view text) const { return parts_->vocabulary.find(text); }
bool Tokenizer::is_eog(int32_t id) const { return id >= 0 && id < vocab_size() && parts_->vocabulary.is_eog(id); }
const std::vector<int32_t>& Tokenizer::eog_ids() const { return parts_->vocabulary.eog_ids(); }
const SpecialIds& Tokenizer::special() const { return parts_->vocabulary.special(); }
bool Tokenizer::add_bos() const { return parts_->add_bos; }
bool Tokenizer::add_eos() const { return parts_->add_eos; }
const std::string& Tokenizer::warning() const { return parts_->warning; }

std::string StreamDecoder::push(int32_t id) {
  if (id < 0 || id >= tokenizer_->vocab_size()) return {};
  pending_ += tokenizer_->piece(id, special_);
  const size_t complete = pending_.size() - unfinished_suffix(pending_);
  const std::string out = replace_ill_formed(std::string_view(pending_).substr(0, complete), Replace::EachSequence);
  pending_.erase(0, complete);
  return out;
}

std::string StreamDecoder::flush() {
  const std::string out = replace_ill_formed(pending_, Replace::EachSequence);
  pending_.clear();
  return out;
}

}  // namespace tally::text
