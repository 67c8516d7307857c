// The passes of every group. Patterns are those of the models' own tokenizers; contractions are written out for ASCII
// letters, and quantifiers that nothing can follow are possessive, so that the matcher keeps no way back.
#include "text/pretokenize.h"
#include "text/pretokenize_scan.h"

namespace tally::text {
namespace {

#define CONTRACTIONS R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]))"
#define SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define LEAD R"([^\r\n\p{L}\p{N}]?)"
#define CJK_RUNS R"([一-龥ࠀ-一가-\x{D7FF}]+)"

constexpr PassSource kGpt2{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", scan_gpt2};
constexpr PassSource kLlama3{CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES,
                             scan_llama3};
constexpr PassSource kQwen2{CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES, scan_qwen2};
constexpr PassSource kQwen35{CONTRACTIONS "|" LEAD R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" SPACES,
                             scan_qwen35};
constexpr PassSource kSeedCoder{CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" SPACES,
                                scan_seed_coder};
constexpr PassSource kJais2{
    CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S))"
                 R"(|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})",
    scan_jais2};
constexpr PassSource kMinicpm5{CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES,
                               scan_minicpm5};
constexpr PassSource kGpt4o{LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS
                                       R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES,
                            scan_gpt4o};
constexpr PassSource kYoutu{LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS
                                       R"(?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES,
                            scan_youtu};
constexpr PassSource kTekken{
    LEAD UPPER "*" LOWER "+|" LEAD UPPER "+" LOWER R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES, scan_tekken};
// As gpt-4o with Chinese characters apart: U and L without them, written as what they exclude.
#define UPPER_NO_HAN R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
#define LOWER_NO_HAN R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{sc:Han}])"
constexpr PassSource kKimiK2{R"(\p{sc:Han}+|)" LEAD UPPER_NO_HAN "*" LOWER_NO_HAN "+" CONTRACTIONS
                             "?|" LEAD UPPER_NO_HAN "+" LOWER_NO_HAN "*" CONTRACTIONS
                             R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES};
constexpr PassSource kExaoneMoe{
    CONTRACTIONS "|" LEAD
                 R"((?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};

constexpr PassSource kNewlineRuns{R"([^\n]+|[\n]+)", scan_newline_runs};
constexpr PassSource kSingleNumbers{R"(\p{N})", scan_single_numbers};
constexpr PassSource kNumbers{R"(\p{N}+)"};
constexpr PassSource kNumbersOfThree{R"(\p{N}{1,3})"};
constexpr PassSource kDigitsOfThree{R"([0-9][0-9][0-9])"};
constexpr PassSource kSingleNewlines{R"([\r\n])"};
constexpr PassSource kCjkRuns{CJK_RUNS};
constexpr PassSource kBloom{R"( ?[^(\s|.,!?…。，、।۔،)]+)"};

// The cased scripts of deepseek-llm; escaped, since an editor that normalises text would change some.
#define CASED_LETTERS                                                                                         \
  R"(A-Za-z\x{00B5}\x{00C0}-\x{00D6}\x{00D8}-\x{00F6}\x{00F8}-\x{01BA}\x{01BC}-\x{01BF}\x{01C4}-\x{0293})"    \
  R"(\x{0295}-\x{02AF}\x{0370}-\x{0373}\x{0376}\x{0377}\x{037B}-\x{037D}\x{037F}\x{0386}\x{0388}-\x{038A})"   \
  R"(\x{038C}\x{038E}-\x{03A1}\x{03A3}-\x{03F5}\x{03F7}-\x{0481}\x{048A}-\x{052F}\x{0531}-\x{0556})"          \
  R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B})" \
  R"(\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})" \
  R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"   \
  R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})" \
  R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"    \
  R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184})"   \
  R"(\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B})"  \
  R"(\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})" \
  R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"            \
  R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"

constexpr const char* kAsciiPunctuationWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" SPACES;
constexpr const char* kAsianScripts =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{8C48}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})"
    R"(\x{2F00}-\x{2FDF}\x{0E00}-\x{0E7F}\x{0E80}-\x{0EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
    R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";

}  // namespace

std::vector<PassSource> pass_sources(PreGroup group) {
  switch (group) {
    case PreGroup::Default:
      return {{R"([\p{P}\$\+<=>\^~\|]+)"}, kGpt2, kNumbers, kDigitsOfThree};
    case PreGroup::Gpt2:
      return {kGpt2};
    case PreGroup::Smollm:
      return {kSingleNumbers, kGpt2};
    case PreGroup::Llama3:
      return {kLlama3};
    case PreGroup::Qwen2:
      return {kQwen2};
    case PreGroup::Qwen35:
      return {kQwen35};
    case PreGroup::DeepseekLlm:
      return {kSingleNewlines,
              {R"(\s?[)" CASED_LETTERS "]+"},
              {R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)"},
              {nullptr, scan_trailing_spaces},
              kCjkRuns,
              kNumbers};
    case PreGroup::DeepseekCoder:
      return {kSingleNewlines, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, kCjkRuns, kSingleNumbers};
    case PreGroup::DeepseekV3:
      return {kNumbersOfThree, {R"([一-龥぀-ゟ゠-ヿ]+)"}, {kAsciiPunctuationWords}};
    case PreGroup::Falcon:
      return {{R"([\p{P}\$\+<=>\^~\|`]+)"}, kGpt2, kDigitsOfThree};
    case PreGroup::Gpt4o:
      return {kGpt4o};
    case PreGroup::Tekken:
      return {kTekken};
    case PreGroup::SeedCoder:
      return {kSeedCoder};
    case PreGroup::Laguna:
      return {kNewlineRuns, kQwen2};
    case PreGroup::Jais2:
      return {kJais2};
    case PreGroup::ExaoneMoe:
      return {kExaoneMoe};
    case PreGroup::Youtu:
      return {
          {R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+)"},
          kYoutu};
    case PreGroup::TinyAya:
      return {{nullptr, scan_digit_groups_at_word_end}, kGpt4o};
    case PreGroup::Bloom:
      return {kBloom};
    case PreGroup::Viking:
      return {kBloom, kSingleNumbers};
    case PreGroup::Minicpm5:
      return {kNumbersOfThree, kMinicpm5};
    case PreGroup::Chameleon:
      return {{R"(<sentinel:[0-9]+>)"},    {R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)"},
              {R"(([\t\n]|    |  ))"},     kSingleNumbers,
              {R"([\p{P}!-/:-@\[-`{-~])"}, kGpt2};
    case PreGroup::Superbpe:
      return {kNumbers, {nullptr, scan_digit_groups_from_right}};
    case PreGroup::Afmoe:
      return {{nullptr, scan_number_groups_from_right}, {kAsianScripts}, {kAsciiPunctuationWords}};
    case PreGroup::KimiK2:
      return {kKimiK2};
    case PreGroup::Newlines:
      return {kNewlineRuns};
  }
  return {};
}

}  // namespace tally::text
